"""An index that was cut off goes on where it was."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from filmgate.catalog import Catalog, index_videos, read_new
from filmgate.catalog.journal import NAME, hold_journal
from filmgate.errors import UserError
from filmgate.work import Progress
from tests.catalog.test_damage import everything_in

NUM_FILES = 40

INDEX = """
import sys
from pathlib import Path
from filmgate.catalog import index_videos, read_new
read_new.KEEP_EVERY_FILES = 5
def tell(at):
    print("read", at.done, "of", at.total, flush=True)
index_videos(Path(sys.argv[1]), Path(sys.argv[2]), workers=2, on_progress=tell)
"""


class CutOffError(Exception):
    """Ends an index."""


@pytest.fixture
def every_five(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_new, "KEEP_EVERY_FILES", 5)


@pytest.fixture(scope="module")
def videos(footage: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("journal") / "videos"
    sources = sorted(footage.rglob("*.mp4"))
    for number in range(NUM_FILES):
        source = sources[number % len(sources)]
        (folder / source.parent.name).mkdir(parents=True, exist_ok=True)
        shutil.copy(source, folder / source.parent.name / f"{number}.mp4")
    (folder / "broken.mp4").write_text("<html>")
    return folder


@pytest.fixture(scope="module")
def whole(videos: Path) -> Catalog:
    return index_videos(videos, videos.parent / "catalog", workers=0)


def cut_off_after(num_files: int) -> Callable[[Progress], None]:
    def cut(at: Progress) -> None:
        if at.done == num_files:
            raise CutOffError

    return cut


def index_again(videos: Path, out: Path) -> tuple[Catalog, int]:
    """The catalog, and how many files had to be read."""
    progress: list[Progress] = []
    catalog = index_videos(videos, out, workers=0, on_progress=progress.append)
    assert sorted(path.name for path in out.iterdir()) == [
        "catalog.json", "frames.parquet", "left_out.parquet", "videos.parquet",
    ]  # fmt: skip
    return catalog, len(progress)


@pytest.mark.usefixtures("every_five")
def test_what_was_read_before_is_not_read_again(
    videos: Path, whole: Catalog, tmp_path: Path
) -> None:
    out = tmp_path / "catalog"
    for num_files in (12, 8):
        with pytest.raises(CutOffError):
            index_videos(videos, out, workers=0, on_progress=cut_off_after(num_files))
    catalog, num_read = index_again(videos, out)
    assert num_read == NUM_FILES + 1 - 10 - 5
    assert everything_in(catalog) == everything_in(whole)


def test_a_killed_index_goes_on(videos: Path, whole: Catalog, tmp_path: Path) -> None:
    out = tmp_path / "catalog"
    command = [sys.executable, "-c", INDEX, str(videos), str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as index:
        assert index.stdout is not None
        while index.stdout.readline() != f"read 23 of {NUM_FILES + 1}\n":
            assert index.poll() is None
        (out / ".frames.parquet.x.part").touch()
        index.send_signal(signal.SIGKILL)
    catalog, num_read = index_again(videos, out)
    assert num_read <= NUM_FILES + 1 - 20
    assert everything_in(catalog) == everything_in(whole)


@pytest.mark.usefixtures("every_five")
@pytest.mark.parametrize("seed", range(8))
def test_a_damaged_journal_costs_time_and_nothing_else(
    seed: int, videos: Path, whole: Catalog, tmp_path: Path
) -> None:
    out, chance = tmp_path / "catalog", random.Random(seed)
    with pytest.raises(CutOffError):
        index_videos(videos, out, workers=0, on_progress=cut_off_after(21))
    content = (out / NAME).read_bytes()
    place = chance.randrange(len(content))
    if seed % 2:
        os.truncate(out / NAME, place)
    else:
        flipped = bytes([content[place] ^ 1 << chance.randrange(8)])
        (out / NAME).write_bytes(content[:place] + flipped + content[place + 1 :])
    with pytest.raises(CutOffError):
        index_videos(videos, out, workers=0, on_progress=cut_off_after(6))
    catalog, num_read = index_again(videos, out)
    assert NUM_FILES + 1 - 20 - 5 < num_read <= NUM_FILES + 1 - 5
    assert everything_in(catalog) == everything_in(whole)


@pytest.mark.usefixtures("every_five")
def test_a_file_that_changed_since_is_read_again(videos: Path, tmp_path: Path) -> None:
    root, out = tmp_path / "videos", tmp_path / "catalog"
    shutil.copytree(videos, root)
    with pytest.raises(CutOffError):
        index_videos(root, out, workers=0, on_progress=cut_off_after(31))
    for path in root.rglob("*.mp4"):
        os.utime(path)
    assert index_again(root, out)[1] == NUM_FILES + 1


@pytest.mark.usefixtures("every_five")
def test_after_a_while_even_a_few_files_are_kept(
    videos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_new, "KEEP_EVERY_SECONDS", 0.0)
    with pytest.raises(CutOffError):
        index_videos(videos, tmp_path / "c", workers=0, on_progress=cut_off_after(3))
    assert index_again(videos, tmp_path / "c")[1] == NUM_FILES + 1 - 3


def test_an_index_that_fails_before_anything_was_kept_leaves_nothing(
    videos: Path, tmp_path: Path
) -> None:
    with pytest.raises(CutOffError):
        index_videos(videos, tmp_path / "c", workers=0, on_progress=cut_off_after(3))
    assert not list((tmp_path / "c").iterdir())


def test_two_at_once_in_one_folder_are_refused(videos: Path, tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    with hold_journal(tmp_path / "c"), pytest.raises(UserError, match="being written") as busy:
        index_videos(videos, tmp_path / "c", workers=0)
    assert busy.value.hint
    assert index_videos(videos, tmp_path / "c", workers=0).num_videos == NUM_FILES
