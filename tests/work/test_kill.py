"""Kill -9 anywhere: the files are those of an uninterrupted work, and none is published twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from filmgate.work import LocalExecutor, do_work
from filmgate.work.lines import Finished, read_lines
from tests.patience import PATIENT_SECONDS
from tests.work.chores import Row, files_below, outputs_of, tasks_of, write_two
from tests.work.kill_driver import POINTS

ROOT = Path(__file__).resolve().parents[2]


def start(folder: Path, num_tasks: int, workers: int, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tests.work.kill_driver",
            folder,
            str(num_tasks),
            str(workers),
            *more,
        ],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


def finish(folder: Path, num_tasks: int, workers: int) -> list[str]:
    """Keys that the last start did itself."""
    with start(folder, num_tasks, workers) as work:
        said, _ = work.communicate(timeout=PATIENT_SECONDS)
    lines = [line.split() for line in said.splitlines()]
    assert len(lines) == num_tasks
    return [key for key, reused in lines if reused == "0"]


def uninterrupted(folder: Path, num_tasks: int) -> dict[str, bytes]:
    list(do_work(write_two, tasks_of(num_tasks), folder, row=Row, executor=LocalExecutor(0)))
    return files_below(folder)


def assert_nothing_half(folder: Path, num_tasks: int, whole: dict[str, bytes]) -> None:
    """Whoever sees a last file may read both, and every visible file is whole."""
    there = files_below(folder)
    assert there.items() <= whole.items()
    for number in range(num_tasks):
        first, last = outputs_of(number)
        assert last not in there or first in there


def identities(folder: Path) -> dict[str, tuple[int, int]]:
    """Name of each visible file -> inode and time: a second publication would change them."""
    statuses = {name: (folder / name).stat() for name in files_below(folder)}
    return {name: (status.st_ino, status.st_mtime_ns) for name, status in statuses.items()}


def assert_each_finished_once(folder: Path) -> None:
    lines = [line for _, _, line in read_lines(folder / ".work/journal.jsonl")]
    counts = Counter(line.key for line in lines if isinstance(line, Finished))
    assert set(counts.values()) == {1}
    assert list((folder / ".work/places").iterdir()) == []


@pytest.mark.parametrize(
    ("point", "visits"),
    [
        ("before the journal", 1),
        ("after the journal", 1),
        ("before a move", 1),
        ("after a move", 1),
        ("after a move", 5),
        ("before a move", 8),
        ("after a move", 12),
        ("before the journal", 2),
        ("after the journal", 2),
    ],
)
def test_a_kill_at_any_point_of_a_commit_loses_and_doubles_nothing(
    tmp_path: Path, point: str, visits: int
) -> None:
    assert point in POINTS
    whole = uninterrupted(tmp_path / "whole", 6)
    folder = tmp_path / "killed"
    with start(folder, 6, 0, point, str(visits)) as work:
        assert work.wait(timeout=PATIENT_SECONDS) == 137
    assert_nothing_half(folder, 6, whole)
    before = identities(folder)
    finish(folder, 6, 0)
    assert files_below(folder) == whole
    assert identities(folder).items() >= before.items()
    assert_each_finished_once(folder)


@pytest.mark.parametrize(
    "num_kills", [3, pytest.param(20, marks=[pytest.mark.slow, pytest.mark.timeout(900)])]
)
def test_kills_at_random_points_change_nothing(tmp_path: Path, num_kills: int) -> None:
    num_tasks = 40 * num_kills
    dice = random.Random(num_kills)
    whole = uninterrupted(tmp_path / "whole", num_tasks)
    folder = tmp_path / "killed"
    seen: dict[str, tuple[int, int]] = {}
    for _ in range(num_kills):
        work = start(folder, num_tasks, 2)
        with work:
            assert work.stdout is not None
            work.stdout.readline()  # it has begun, and a kill does not only meet the start-up
            time.sleep(dice.uniform(0.0, 0.8))
            os.kill(work.pid, signal.SIGKILL)
        assert_nothing_half(folder, num_tasks, whole)
        assert identities(folder).items() >= seen.items()
        seen = identities(folder)
    assert seen, "no kill came after a publication"
    finish(folder, num_tasks, 2)
    assert files_below(folder) == whole
    assert identities(folder).items() >= seen.items()
    assert_each_finished_once(folder)


def test_the_workers_of_a_killed_coordinator_end_at_once(tmp_path: Path) -> None:
    with start(tmp_path, 200, 2) as work:
        assert work.stdout is not None
        work.stdout.readline()
        workers = children_of(work.pid)
        assert len(workers) == 2
        os.kill(work.pid, signal.SIGKILL)
    until = time.monotonic() + PATIENT_SECONDS
    while any(is_alive(worker) for worker in workers):
        assert time.monotonic() < until
        time.sleep(0.02)


def children_of(process: int) -> list[int]:
    return [
        int(child)
        for task in Path(f"/proc/{process}/task").iterdir()
        for child in (task / "children").read_text().split()
    ]


def is_alive(process: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_work_and_its_workers_and_keeps_what_is_done(
    tmp_path: Path, number: signal.Signals
) -> None:
    with start(tmp_path, 200, 2) as work:
        assert work.stdout is not None
        work.stdout.readline()
        workers = children_of(work.pid)
        os.kill(work.pid, number)
        assert work.wait(timeout=PATIENT_SECONDS) == 75
    assert not any(is_alive(worker) for worker in workers)
    assert list((tmp_path / ".work/places").iterdir()) == []
    assert 0 < len(files_below(tmp_path)) < 400
