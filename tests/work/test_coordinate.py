from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Any

import pytest

from filmgate.errors import UserError, WorkError
from filmgate.work import Limits, LocalExecutor, Outcome, Progress, Task, do_work
from tests.patience import PATIENT_SECONDS
from tests.work import chores
from tests.work.chores import Row, files_below, rows_only, tasks_of

QUICK = Limits(retry_seconds=0.0, deadline_seconds=PATIENT_SECONDS)


def run(
    function: Any, tasks: list[Task[int]], folder: Path, **more: Any
) -> list[Outcome[int, Row]]:
    more.setdefault("executor", LocalExecutor(2))
    more.setdefault("limits", QUICK)
    return list(do_work(function, tasks, folder, row=Row, **more))


def places(folder: Path) -> list[Path]:
    return list((folder / ".work/places").iterdir())


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_every_task_has_exactly_one_outcome_and_its_files(tmp_path: Path, workers: int) -> None:
    outcomes = run(chores.write_two, tasks_of(12), tmp_path, executor=LocalExecutor(workers))
    assert sorted(outcome.task.payload for outcome in outcomes) == list(range(12))
    assert all(o.row is not None and o.row.number == o.task.payload for o in outcomes)
    assert {o.attempts for o in outcomes} == {1}
    assert len(files_below(tmp_path)) == 24
    assert files_below(tmp_path)["part1/4.done"] == b"part1/4.done of 4\n" * 5
    assert places(tmp_path) == []


def test_a_second_call_does_nothing_and_tells_the_same(tmp_path: Path) -> None:
    first = run(chores.write_two, tasks_of(8), tmp_path)
    seen: list[Progress] = []
    again = run(chores.write_two, tasks_of(8), tmp_path, on_progress=seen.append)
    assert all(outcome.reused for outcome in again)
    assert {o.task.key: o.row for o in again} == {o.task.key: o.row for o in first}
    assert seen == []


def test_files_are_in_place_when_their_outcome_comes(tmp_path: Path) -> None:
    for outcome in do_work(
        chores.write_two, tasks_of(6), tmp_path, row=Row, executor=LocalExecutor(2)
    ):
        assert all((tmp_path / name).is_file() for name in outcome.task.outputs)


def test_leaving_early_keeps_what_is_done_and_goes_on_from_there(tmp_path: Path) -> None:
    work = do_work(chores.write_slowly, tasks_of(40), tmp_path, row=Row, executor=LocalExecutor(2))
    first = next(work)
    work.close()  # type: ignore[attr-defined]
    assert places(tmp_path) == []
    rest = run(chores.write_slowly, tasks_of(40), tmp_path)
    assert first.task.key in {outcome.task.key for outcome in rest if outcome.reused}
    assert not all(outcome.reused for outcome in rest)
    assert len(files_below(tmp_path)) == 80


def test_changed_content_is_done_again_and_replaces_its_files(tmp_path: Path) -> None:
    run(chores.write_two, tasks_of(4), tmp_path)
    changed = [*tasks_of(3), *tasks_of(4, recipe="2")[3:]]
    assert [o.task.key for o in run(chores.write_two, changed, tmp_path) if not o.reused] == ["2-3"]
    # The old content again: what lies there is not its own any more.
    back = run(chores.write_two, tasks_of(4), tmp_path)
    assert [o.task.key for o in back if not o.reused] == ["1-3"]


@pytest.mark.parametrize("damage", ["remove", "cut"])
def test_a_file_that_is_gone_or_cut_is_made_again(tmp_path: Path, damage: str) -> None:
    run(chores.write_two, tasks_of(4), tmp_path)
    whole = files_below(tmp_path)
    path = tmp_path / "part2/2.data"
    path.unlink() if damage == "remove" else os.truncate(path, 3)
    again = run(chores.write_two, tasks_of(4), tmp_path)
    assert [o.task.payload for o in again if not o.reused] == [2]
    assert files_below(tmp_path) == whole


def test_a_task_that_kills_its_worker_is_quarantined_after_its_tries(tmp_path: Path) -> None:
    outcomes = run(chores.crash_at_three, tasks_of(8), tmp_path)
    (lost,) = [outcome for outcome in outcomes if outcome.fault is not None]
    assert (lost.task.payload, lost.attempts, lost.row) == (3, 3, None)
    assert lost.fault == "its worker died (SIGSEGV)"
    assert lost.is_lost
    assert len(files_below(tmp_path)) == 14
    assert places(tmp_path) == []


def test_a_quarantined_task_is_told_again_and_tried_only_when_asked(tmp_path: Path) -> None:
    run(chores.crash_at_three, tasks_of(5), tmp_path)
    told = run(chores.write_two, tasks_of(5), tmp_path)
    assert [o.task.payload for o in told if o.fault] == [3]
    assert all(o.reused for o in told)
    tried = run(chores.write_two, tasks_of(5), tmp_path, retry_quarantined=True)
    assert [o.task.payload for o in tried if not o.reused] == [3]
    assert not any(o.fault for o in tried)
    assert all(o.reused and not o.fault for o in run(chores.write_two, tasks_of(5), tmp_path))


def test_a_crash_that_does_not_come_back_costs_a_try(tmp_path: Path) -> None:
    outcomes = run(chores.crash_once_at_three, tasks_of(6), tmp_path)
    assert {o.task.payload: o.attempts for o in outcomes if o.attempts > 1} == {3: 2}
    assert not any(o.fault for o in outcomes)


def test_a_task_past_its_deadline_is_given_up_and_the_rest_goes_on(tmp_path: Path) -> None:
    limits = Limits(deadline_seconds=5.0, attempts=1)
    outcomes = run(chores.hang_at_three, tasks_of(6), tmp_path, limits=limits)
    assert {o.task.payload: o.fault for o in outcomes if o.fault} == {3: "took longer than 5 s"}
    assert len(outcomes) == 6


def test_a_fault_that_may_pass_is_tried_again(tmp_path: Path) -> None:
    outcomes = run(chores.flaky_storage, tasks_of(3), tmp_path)
    assert {o.attempts for o in outcomes} == {3}
    assert not any(o.fault for o in outcomes)


def test_a_fault_of_the_input_is_not_tried_again(tmp_path: Path) -> None:
    outcomes = run(chores.refuse_odd, tasks_of(4), tmp_path)
    faults = {o.task.payload: (o.attempts, o.fault) for o in outcomes if o.fault}
    assert faults == {1: (1, "1.mp4: it is odd"), 3: (1, "3.mp4: it is odd")}


def test_the_error_budget_stops_the_work_and_names_the_first(tmp_path: Path) -> None:
    limits = Limits(error_budget=0.1)
    with pytest.raises(WorkError, match=r"4 of 20 tasks failed.*1\.mp4: it is odd") as caught:
        run(chores.refuse_odd, tasks_of(20), tmp_path, limits=limits, executor=LocalExecutor(1))
    assert caught.value.hint
    assert places(tmp_path) == []


def test_no_failure_is_allowed_with_a_budget_of_zero(tmp_path: Path) -> None:
    with pytest.raises(WorkError, match="1 of 20"):
        run(chores.refuse_odd, tasks_of(20), tmp_path, limits=Limits(error_budget=0.0))


@pytest.mark.parametrize("workers", [0, 2])
def test_a_fault_of_the_program_is_raised_and_what_is_done_is_kept(
    tmp_path: Path, workers: int
) -> None:
    with pytest.raises(ZeroDivisionError, match="three"):
        run(chores.broken_program, tasks_of(8), tmp_path, executor=LocalExecutor(workers))
    assert places(tmp_path) == []
    assert any(o.reused for o in run(chores.write_two, tasks_of(8), tmp_path))


def test_an_output_that_was_not_written_is_a_fault_of_the_program(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"did not write its output 'part0/0\.done'"):
        run(chores.forget_output, tasks_of(1), tmp_path)
    assert files_below(tmp_path) == {}


def test_a_resumable_task_finds_what_it_left(tmp_path: Path) -> None:
    task = Task(key="k", name="long copy", payload=1, outputs=("1.data",), resumable=True)
    (outcome,) = run(chores.count_on, [task], tmp_path)
    assert outcome.attempts == 3
    assert files_below(tmp_path) == {"1.data": b"xxx"}
    assert places(tmp_path) == []


def test_a_second_coordinator_is_refused(tmp_path: Path) -> None:
    work = do_work(chores.write_two, tasks_of(4), tmp_path, row=Row, executor=LocalExecutor(1))
    next(work)
    with pytest.raises(UserError, match=f"process {os.getpid()} on .* is working on"):
        run(chores.write_two, tasks_of(4), tmp_path)
    work.close()  # type: ignore[attr-defined]
    assert len(run(chores.write_two, tasks_of(4), tmp_path)) == 4


def test_places_of_the_dead_are_swept_and_those_of_the_living_are_not(tmp_path: Path) -> None:
    dead, living = tmp_path / ".work/places/dead", tmp_path / ".work/places/living"
    for place in (dead, living):
        (place / "files").mkdir(parents=True)
        (place / "owner").touch()
    with (living / "owner").open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        run(chores.write_two, tasks_of(2), tmp_path)
        assert places(tmp_path) == [living]
    run(chores.write_two, tasks_of(2), tmp_path)
    assert places(tmp_path) == []


def test_tasks_without_outputs_leave_rows_only(tmp_path: Path) -> None:
    outcomes = run(chores.only_number, rows_only(50), tmp_path)
    assert sorted(o.row.number for o in outcomes if o.row) == list(range(50))
    assert files_below(tmp_path) == {}
    assert all(o.reused for o in run(chores.only_number, rows_only(50), tmp_path))


def test_progress_counts_tasks_and_bytes_to_the_end(tmp_path: Path) -> None:
    seen: list[Progress] = []
    run(chores.write_two, tasks_of(3), tmp_path)
    run(chores.write_two, tasks_of(9), tmp_path, on_progress=seen.append)
    assert [one.done for one in seen] == [4, 5, 6, 7, 8, 9]
    assert {(one.total, one.bytes_total, one.num_reused) for one in seen} == {(9, 36, 3)}
    assert seen[-1].bytes_done == 36
    assert seen[-1].left_seconds == 0
    assert all(one.left_seconds is not None and one.seconds > 0 for one in seen)


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        (("../x",), "no path below"),
        (("/x",), "no path below"),
        ((".work/x",), "no path below"),
        (("",), "no path below"),
        (("a//b",), "no path below"),
        (("x", "x"), "two tasks publish"),
    ],
)
def test_impossible_outputs_are_refused(
    tmp_path: Path, outputs: tuple[str, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        run(chores.write_two, [Task(key="1", name="one", payload=1, outputs=outputs)], tmp_path)


def test_two_tasks_with_one_key_are_refused(tmp_path: Path) -> None:
    twice = [Task(key="1", name=name, payload=1) for name in ("one", "two")]
    with pytest.raises(ValueError, match="two tasks have the key 1"):
        run(chores.only_number, twice, tmp_path)


def test_the_workers_are_gone_when_the_work_is(tmp_path: Path) -> None:
    outcomes = run(chores.write_two, tasks_of(4), tmp_path)
    processes = {outcome.row.process for outcome in outcomes if outcome.row}
    assert os.getpid() not in processes
    assert not any(Path(f"/proc/{process}").exists() for process in processes)
