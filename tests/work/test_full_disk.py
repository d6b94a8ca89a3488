"""A disk that fills up stops the work in one sentence; with more space it goes on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from filmgate.errors import UserError
from filmgate.work import Limits, LocalExecutor, do_work
from filmgate.work.journal import Journal
from tests.small_disk import mount, mounted_disk
from tests.work.chores import Row, files_below, fill_disk, tasks_of
from tests.work.test_journal import failed


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 1 MB of its own."""
    with mounted_disk(tmp_path / "disk", "1m") as disk:
        yield disk


@pytest.mark.parametrize("workers", [0, 2])
def test_a_full_disk_stops_the_work_which_goes_on_when_there_is_space(
    small_disk: Path, workers: int
) -> None:
    def run() -> list[bool]:
        work = do_work(
            fill_disk, tasks_of(10), small_disk, row=Row, executor=LocalExecutor(workers)
        )
        return [outcome.reused for outcome in work]

    with pytest.raises(UserError, match=f"no space left for {small_disk}") as caught:
        run()
    assert "free some space" in caught.value.hint
    assert list((small_disk / ".work/places").iterdir()) == []
    sizes = {name.split(".")[1]: len(content) for name, content in files_below(small_disk).items()}
    assert sizes in ({}, {"data": 200_000, "done": 4})
    num_before = len(files_below(small_disk)) // 2
    assert mount("-o", "remount,size=16m", str(small_disk))
    assert sum(run()) >= num_before
    assert len(files_below(small_disk)) == 20


def test_a_journal_on_a_full_disk_keeps_its_lines_whole(small_disk: Path) -> None:
    journal = Journal(small_disk / "journal.jsonl")
    journal.open()
    journal.append([failed("k")])
    with (
        (small_disk / "ballast").open("wb", buffering=0) as ballast,
        pytest.raises(OSError, match="space"),
    ):
        while True:
            ballast.write(bytes(4096))
    size_bytes = journal.path.stat().st_size
    with pytest.raises(UserError, match="cannot be written: No space left") as caught:
        journal.append([failed("k", attempts=2)] * 500)
    assert caught.value.hint
    assert journal.path.stat().st_size == size_bytes
    os.remove(small_disk / "ballast")  # noqa: PTH107
    journal.append([failed("k", attempts=3)])
    line = journal.failed("k")
    assert line is not None and line.attempts == 3
    journal.close()


def test_an_unwritable_folder_is_an_error_of_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot be written: Not a directory"):
        list(do_work(fill_disk, tasks_of(1), tmp_path / "file", row=Row, limits=Limits()))
