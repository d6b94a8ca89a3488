from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from filmgate.work import run_jobs
from tests.patience import PATIENT_SECONDS


def square(number: int) -> int:
    return number * number


def die_at_three(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGSEGV)
    return number


def leave_at_three(number: int) -> int:
    if number == 3:
        os._exit(9)
    return number


def sleep_at_three(number: int) -> int:
    if number == 3:
        time.sleep(600)
    return number


def fail_at_three(number: int) -> int:
    if number == 3:
        raise ZeroDivisionError("three")
    return number


class Unpicklable(Exception):
    def __init__(self, first: int, second: int) -> None:
        super().__init__(f"{first} {second}")


def fail_oddly(number: int) -> int:
    raise Unpicklable(number, number)


def touch(path: Path) -> int:
    path.touch()
    time.sleep(0.3)
    return os.getpid()


def workers() -> list[str]:
    """Command lines of the worker processes of this process."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    commands = [Path(f"/proc/{child}/cmdline").read_text() for child in children]
    return [command for command in commands if "filmgate.work.worker" in command]


@pytest.mark.parametrize("num_workers", [0, 1, 3])
def test_every_item_has_exactly_one_outcome(num_workers: int) -> None:
    outcomes = list(
        run_jobs(square, range(20), num_workers=num_workers, deadline_seconds=PATIENT_SECONDS)
    )
    assert sorted(outcome.index for outcome in outcomes) == list(range(20))
    assert all(outcome.value == outcome.index**2 for outcome in outcomes)
    assert all(outcome.fault is None and outcome.seconds >= 0 for outcome in outcomes)


def test_no_items_start_no_worker() -> None:
    assert list(run_jobs(square, [], num_workers=4, deadline_seconds=PATIENT_SECONDS)) == []


@pytest.mark.parametrize(("function", "cause"), [(die_at_three, "SIGSEGV"), (leave_at_three, "9")])
def test_a_crash_costs_only_its_item(function: object, cause: str) -> None:
    assert callable(function)
    outcomes = list(run_jobs(function, range(8), num_workers=2, deadline_seconds=PATIENT_SECONDS))
    lost = [outcome for outcome in outcomes if outcome.fault is not None]
    assert [outcome.index for outcome in lost] == [3]
    assert "its worker died" in (lost[0].fault or "")
    assert cause in (lost[0].fault or "")
    assert sorted(o.value for o in outcomes if o.value is not None) == [0, 1, 2, 4, 5, 6, 7]


def test_an_item_past_its_deadline_is_given_up_and_the_rest_goes_on() -> None:
    since = time.monotonic()
    outcomes = list(run_jobs(sleep_at_three, range(6), num_workers=2, deadline_seconds=5))
    assert time.monotonic() - since < PATIENT_SECONDS
    assert {o.index: o.fault for o in outcomes if o.fault} == {3: "took longer than 5 s"}
    assert len(outcomes) == 6


@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_fault_of_the_program_is_raised(num_workers: int) -> None:
    with pytest.raises(ZeroDivisionError, match="three"):
        list(
            run_jobs(
                fail_at_three, range(6), num_workers=num_workers, deadline_seconds=PATIENT_SECONDS
            )
        )
    assert workers() == []


def test_a_fault_that_cannot_travel_is_told_in_words() -> None:
    with pytest.raises(RuntimeError, match="Unpicklable"):
        list(run_jobs(fail_oddly, [1], num_workers=1, deadline_seconds=PATIENT_SECONDS))


def test_leaving_early_ends_the_workers_and_starts_no_more_items(tmp_path: Path) -> None:
    paths = [tmp_path / str(number) for number in range(40)]
    outcomes = run_jobs(touch, paths, num_workers=2, deadline_seconds=PATIENT_SECONDS)
    next(outcomes)
    outcomes.close()  # type: ignore[attr-defined]
    assert workers() == []
    assert len(list(tmp_path.iterdir())) <= 4


def test_progress_counts_to_the_end() -> None:
    seen: list[tuple[int, int]] = []
    jobs = run_jobs(
        square,
        range(5),
        num_workers=2,
        deadline_seconds=PATIENT_SECONDS,
        on_progress=lambda done, total: seen.append((done, total)),
    )
    list(jobs)
    assert seen == [(done, 5) for done in range(1, 6)]
