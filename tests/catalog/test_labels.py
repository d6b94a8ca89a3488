from __future__ import annotations

from pathlib import Path

import pytest

from filmgate.catalog.find import Found, find_videos
from filmgate.catalog.labels import labels_of
from filmgate.errors import UserError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("a/1.mp4", "a/2.mp4", "b/deep/3.mp4", "4.mp4"):
        (tmp_path / "root" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "root" / name).touch()
    return tmp_path / "root"


@pytest.fixture
def videos(root: Path) -> list[Found]:
    return find_videos([root]).videos


def labels_from(text: str, root: Path, videos: list[Found]) -> list[str | None]:
    file = root.parent / "labels.csv"
    file.write_text(text)
    return labels_of(videos, file, [root])


def test_a_label_is_the_name_of_the_folder(root: Path, videos: list[Found]) -> None:
    assert labels_of(videos, "folder", [root]) == [None, "a", "a", "deep"]
    assert labels_of(videos, None, [root]) == [None] * 4


def test_a_csv_names_paths_below_the_root_or_absolute(root: Path, videos: list[Found]) -> None:
    text = f"path,label\na/1.mp4,cat\n{root}/b/deep/3.mp4, dog \nroot/a/2.mp4,cow\n"
    assert labels_from(text, root, videos) == [None, "cat", "cow", "dog"]


def test_more_columns_in_any_order_do_no_harm(root: Path, videos: list[Found]) -> None:
    text = '\ufefflabel,who,path\n"a, b",me,a/1.mp4\n'
    assert labels_from(text, root, videos)[1] == "a, b"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("file,label\n", "line 1: columns are file, label"),
        ("", "line 1: columns are missing"),
        ("path,label\na/1.mp4,x\na/9.mp4,y\n", "line 3: 'a/9.mp4' is none of the 4 videos"),
        ("path,label\na/1.mp4,\n", "line 2: a path and a label are needed"),
        ("path,label\na/1.mp4\n", "line 2: a path and a label are needed"),
        ("path,label\na/1.mp4,one, two\n", "line 2: more columns than the first line names"),
        ('path,label\na/1.mp4,"' + 200_000 * "x", "is no CSV: field larger than field limit"),
        ("path,label\na/1.mp4,x\na/1.mp4,y\n", "line 3: 'a/1.mp4' is labelled 'y' after 'x'"),
    ],
)
def test_a_wrong_line_is_named(root: Path, videos: list[Found], text: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        labels_from(text, root, videos)
    assert "labels.csv" in caught.value.message
    assert caught.value.hint


def test_a_missing_or_binary_file_is_a_user_error(root: Path, videos: list[Found]) -> None:
    with pytest.raises(UserError, match="No such file"):
        labels_of(videos, root / "none.csv", [root])
    (root / "bad.csv").write_bytes(b"path,label\n\xff\xfe,x\n")
    with pytest.raises(UserError, match="not UTF-8"):
        labels_of(videos, root / "bad.csv", [root])
