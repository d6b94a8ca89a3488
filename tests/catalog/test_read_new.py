"""An index that was cut off goes on where it was, and files that kill or hold up workers end."""

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

from filmgate.catalog import Catalog, index_videos
from filmgate.catalog.read_new import READING, held_reading
from filmgate.errors import UserError
from filmgate.work import Limits, LocalExecutor, Progress, coordinate
from tests.catalog.test_damage import everything_in

NUM_FILES = 40

INDEX = """
import sys
from pathlib import Path
from filmgate.catalog import index_videos
from filmgate.work import coordinate
coordinate.COMMIT_SECONDS = 0.0
def tell(at):
    print("read", at.done, "of", at.total, flush=True)
index_videos(Path(sys.argv[1]), Path(sys.argv[2]), workers=2, on_progress=tell)
"""


class CutOffError(Exception):
    """Ends an index."""


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read is kept before the next file is read."""
    monkeypatch.setattr(coordinate, "COMMIT_SECONDS", 0.0)


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


@pytest.mark.usefixtures("at_once")
def test_what_was_read_before_is_not_read_again(
    videos: Path, whole: Catalog, tmp_path: Path
) -> None:
    out = tmp_path / "catalog"
    for num_files in (12, 20):
        with pytest.raises(CutOffError):
            index_videos(videos, out, workers=0, on_progress=cut_off_after(num_files))
    catalog, num_read = index_again(videos, out)
    assert num_read == NUM_FILES + 1 - 20
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
    assert num_read <= NUM_FILES + 1 - 23
    assert everything_in(catalog) == everything_in(whole)


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("seed", range(8))
def test_a_damaged_journal_costs_time_and_nothing_else(
    seed: int, videos: Path, whole: Catalog, tmp_path: Path
) -> None:
    out, chance = tmp_path / "catalog", random.Random(seed)
    with pytest.raises(CutOffError):
        index_videos(videos, out, workers=0, on_progress=cut_off_after(21))
    journal = out / READING / ".work" / "journal.jsonl"
    content = journal.read_bytes()
    place = chance.randrange(len(content))
    if seed % 2:
        os.truncate(journal, place)
    else:
        flipped = bytes([content[place] ^ 1 << chance.randrange(8)])
        journal.write_bytes(content[:place] + flipped + content[place + 1 :])
    num_whole = max(content[:place].count(b"\n") - 1, 0)
    catalog, num_read = index_again(videos, out)
    assert num_read <= NUM_FILES + 1 - num_whole
    assert everything_in(catalog) == everything_in(whole)


@pytest.mark.usefixtures("at_once")
def test_a_file_that_changed_since_is_read_again(videos: Path, tmp_path: Path) -> None:
    root, out = tmp_path / "videos", tmp_path / "catalog"
    shutil.copytree(videos, root)
    with pytest.raises(CutOffError):
        index_videos(root, out, workers=0, on_progress=cut_off_after(31))
    for path in root.rglob("*.mp4"):
        os.utime(path)
    assert index_again(root, out)[1] == NUM_FILES + 1


def test_an_index_that_cannot_begin_leaves_nothing(videos: Path, tmp_path: Path) -> None:
    with pytest.raises(CutOffError), held_reading(tmp_path):
        raise CutOffError
    assert not list(tmp_path.iterdir())


def test_what_a_kill_left_at_the_very_end_is_removed(videos: Path, tmp_path: Path) -> None:
    out = tmp_path / "catalog"
    (out / f"{READING}-ended" / ".work").mkdir(parents=True)
    index_again(videos, out)


def test_two_at_once_in_one_folder_are_refused(videos: Path, tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    with held_reading(tmp_path / "c"), pytest.raises(UserError, match="is working on") as busy:
        index_videos(videos, tmp_path / "c", workers=0)
    assert busy.value.hint
    assert index_videos(videos, tmp_path / "c", workers=0).num_videos == NUM_FILES


def test_a_file_that_holds_up_its_worker_is_quarantined_until_it_changes_or_is_asked_for(
    footage: Path, tmp_path: Path
) -> None:
    root, out = tmp_path / "videos", tmp_path / "catalog"
    shutil.copytree(footage, root)
    os.mkfifo(root / "stuck.mp4")  # to open it waits for ever
    limits = Limits(deadline_seconds=3.0, attempts=2, retry_seconds=0.0)
    catalog = index_videos(root, out, workers=2, limits=limits)
    assert [one.video_id for one in catalog.left_out] == ["stuck.mp4"]
    assert catalog.left_out[0].reason == "reading it failed: took longer than 3 s"
    assert catalog.num_videos == 4

    progress: list[Progress] = []
    again = index_videos(root, out, workers=2, limits=limits, on_progress=progress.append)
    assert not progress
    assert everything_in(again) == everything_in(catalog)

    (root / "stuck.mp4").unlink()
    shutil.copy(footage / "cold/cold0.mp4", root / "stuck.mp4")
    assert index_videos(root, out, workers=2).num_videos == 5


def test_left_out_files_are_tried_again_when_asked(footage: Path, tmp_path: Path) -> None:
    root, out = tmp_path / "videos", tmp_path / "catalog"
    shutil.copytree(footage, root)
    (root / "broken.mp4").write_text("<html>")
    index_videos(root, out, workers=0)
    progress: list[Progress] = []
    index_videos(root, out, workers=0, on_progress=progress.append, retry_left_out=True)
    assert [at.total for at in progress] == [1]


def test_a_machine_without_the_videos_stops_the_index(footage: Path, tmp_path: Path) -> None:
    root = tmp_path / "videos"
    shutil.copytree(footage, root)

    def unmount(at: Progress) -> None:
        if root.exists():
            root.rename(tmp_path / "elsewhere")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coordinate, "COMMIT_SECONDS", 0.0)
        with pytest.raises(UserError, match="does not see") as caught:
            index_videos(root, tmp_path / "catalog", workers=0, on_progress=unmount)
    assert "mounts" in caught.value.hint


def test_workers_and_an_executor_are_one_too_many(footage: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="its own workers"):
        index_videos(footage, tmp_path, workers=1, executor=LocalExecutor(1))
