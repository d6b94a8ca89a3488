from __future__ import annotations

import os
from pathlib import Path

import pytest

from filmgate.catalog.find import find_videos
from filmgate.errors import UserError


def touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def test_videos_are_sorted_by_their_path_below_the_root(tmp_path: Path) -> None:
    for name in ("b/2.mp4", "a/9.MKV", "b/1.mov", "top.webm"):
        touch(tmp_path / name)
    found = find_videos([tmp_path]).videos
    assert [one.video_id for one in found] == ["a/9.MKV", "b/1.mov", "b/2.mp4", "top.webm"]
    assert [one.folder_label for one in found] == ["a", "b", "b", None]


def test_other_files_and_hidden_ones_are_ignored_and_counted(tmp_path: Path) -> None:
    for name in ("v.mp4", "notes.txt", "cover.jpg", "._v.mp4", ".cache/old.mp4"):
        touch(tmp_path / name)
    findings = find_videos([tmp_path])
    assert [one.video_id for one in findings.videos] == ["v.mp4"]
    assert findings.num_ignored == 3


def test_a_file_that_is_named_is_taken_whatever_it_is_called(tmp_path: Path) -> None:
    assert find_videos([touch(tmp_path / "video.bin")]).videos[0].video_id == "video.bin"


def test_several_roots_keep_their_names(tmp_path: Path) -> None:
    touch(tmp_path / "one/v.mp4")
    touch(tmp_path / "two/v.mp4")
    found = find_videos([tmp_path / "one", tmp_path / "two"]).videos
    assert [one.video_id for one in found] == ["one/v.mp4", "two/v.mp4"]
    assert [one.folder_label for one in found] == [None, None]


def test_roots_that_give_one_name_to_two_files_are_refused(tmp_path: Path) -> None:
    touch(tmp_path / "x/one/v.mp4")
    touch(tmp_path / "y/one/v.mp4")
    with pytest.raises(UserError, match=r"both be called one/v\.mp4"):
        find_videos([tmp_path / "x/one", tmp_path / "y/one"])


def test_a_root_that_is_named_twice_is_refused(tmp_path: Path) -> None:
    video = touch(tmp_path / "a/v.mp4")
    for root in (tmp_path / "a", video):
        with pytest.raises(UserError, match=rf"^{root} is named twice$") as twice:
            find_videos([root, root])
        assert twice.value.hint == "name it once"


def test_two_names_of_one_root_are_refused(tmp_path: Path) -> None:
    touch(tmp_path / "a/v.mp4")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(UserError, match=f"^{tmp_path}/a is {tmp_path}/b$"):
        find_videos([tmp_path / "b", tmp_path / "a"])


@pytest.mark.parametrize("inside", ["all/one/two", "all/one/v.mp4"])
def test_a_root_that_lies_in_another_is_refused(inside: str, tmp_path: Path) -> None:
    touch(tmp_path / "all/one/v.mp4")
    touch(tmp_path / "all/one/two/w.mp4")
    touch(tmp_path / "all-other/v.mp4")
    roots = [tmp_path / inside, tmp_path / "all-other", tmp_path / "all"]
    with pytest.raises(UserError, match=f"^{roots[0]} lies in {roots[2]}$") as within:
        find_videos(roots)
    assert within.value.hint == f"name {roots[2]} alone"


def test_a_missing_root_and_a_folder_without_videos_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not exist") as missing:
        find_videos([tmp_path / "none"])
    assert missing.value.hint
    touch(tmp_path / "notes.txt")
    with pytest.raises(UserError, match=r"no video in .* \(1 other files\)"):
        find_videos([tmp_path])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_read_is_an_error(tmp_path: Path) -> None:
    touch(tmp_path / "v.mp4")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    with pytest.raises(UserError, match=r"closed cannot be read"):
        find_videos([tmp_path])


def test_a_link_that_leads_back_up_does_not_loop(tmp_path: Path) -> None:
    touch(tmp_path / "a/v.mp4")
    (tmp_path / "a/up").symlink_to(tmp_path)
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert len(find_videos([tmp_path]).videos) == 1


def test_the_folder_of_the_catalog_itself_is_passed_over(tmp_path: Path) -> None:
    touch(tmp_path / "v.mp4")
    touch(tmp_path / "catalog/frames.parquet")
    assert find_videos([tmp_path], skip=tmp_path / "catalog").num_ignored == 0


def test_a_name_that_is_not_utf8_is_told(tmp_path: Path) -> None:
    touch(Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.mp4")))
    with pytest.raises(UserError, match="no UTF-8 name"):
        find_videos([tmp_path])


@pytest.mark.parametrize("sign", [".work/journal.jsonl", "stage.json", ".stage/coordinator.json"])
def test_folders_of_copies_are_passed_over_and_listed_unless_they_are_named(
    sign: str, tmp_path: Path
) -> None:
    touch(tmp_path / "a/v.mp4")
    touch(tmp_path / "a/hot" / sign)
    copy = touch(tmp_path / "a/hot/copies/17/v.mov")
    findings = find_videos([tmp_path])
    assert [one.video_id for one in findings.videos] == ["a/v.mp4"]
    assert [one.video_id for one in findings.made_folders] == ["a/hot"]
    assert [one.path for one in find_videos([tmp_path / "a/hot"]).videos] == [copy]
