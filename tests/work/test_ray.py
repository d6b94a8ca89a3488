"""The same work on a Ray cluster: same results, same resume, also when a node is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from filmgate.errors import UserError
from filmgate.work import Limits, LocalExecutor, do_work
from filmgate.work.lines import Finished, read_lines
from filmgate.work.on_ray import RayExecutor
from tests.ray_nodes import lose_a_node
from tests.work import chores
from tests.work.chores import Row, files_below, tasks_of, write_slowly, write_two

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def counts(folder: Path) -> list[str]:
    """Keys of every line that tells of a finished task."""
    lines = [line for _, _, line in read_lines(folder / ".work/journal.jsonl")]
    return sorted(line.key for line in lines if isinstance(line, Finished))


def test_a_lost_node_costs_nothing_and_doubles_nothing(cluster: Any, tmp_path: Path) -> None:
    cluster.add_node(num_cpus=1)
    tasks = tasks_of(60)
    list(do_work(write_two, tasks, tmp_path / "here", row=Row, executor=LocalExecutor(0)))
    outcomes = []
    for outcome in do_work(
        write_slowly, tasks, tmp_path / "ray", row=Row, executor=RayExecutor(cluster.address)
    ):
        outcomes.append(outcome)
        if len(outcomes) == 8:
            lose_a_node(cluster)
    assert sorted(outcome.task.payload for outcome in outcomes) == list(range(60))
    assert not any(outcome.fault for outcome in outcomes)
    assert files_below(tmp_path / "ray") == files_below(tmp_path / "here")
    assert counts(tmp_path / "ray") == sorted(task.key for task in tasks)
    assert list((tmp_path / "ray/.work/places").iterdir()) == []


def test_faults_are_the_same_and_one_executor_goes_on_where_another_was(
    cluster: Any, tmp_path: Path
) -> None:
    limits = Limits(deadline_seconds=5.0, attempts=2, retry_seconds=0.0)
    done = {}
    for name, executor in (("ray", RayExecutor(cluster.address)), ("here", LocalExecutor(1))):
        work = do_work(
            chores.hang_or_crash, tasks_of(6), tmp_path / name, row=Row, executor=executor,
            limits=limits,
        )  # fmt: skip
        done[name] = {o.task.payload: (o.attempts, o.fault) for o in work}
    assert done["ray"][2] == done["here"][2] == (2, "took longer than 5 s")
    assert done["ray"][3][0] == done["here"][3][0] == 2
    assert all("its worker died" in (done[name][3][1] or "") for name in done)
    assert files_below(tmp_path / "ray") == files_below(tmp_path / "here")

    more = tasks_of(9)
    for name, executor in (("here", RayExecutor(cluster.address)), ("ray", LocalExecutor(1))):
        rest = list(do_work(write_two, more, tmp_path / name, row=Row, executor=executor))
        assert [o.task.payload for o in rest if not o.reused] == [6, 7, 8]
    assert files_below(tmp_path / "ray") == files_below(tmp_path / "here")


def test_leaving_early_ends_the_attempts(cluster: Any, tmp_path: Path) -> None:
    work = do_work(
        write_slowly, tasks_of(40), tmp_path, row=Row, executor=RayExecutor(cluster.address)
    )
    next(work)
    work.close()  # type: ignore[attr-defined]
    assert list((tmp_path / ".work/places").iterdir()) == []


def test_no_cluster_is_an_error_of_one_sentence(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    executor = RayExecutor("127.0.0.1:9")
    work = do_work(write_two, tasks_of(1), tmp_path, row=Row, executor=executor)
    with pytest.raises(UserError, match=r"no Ray cluster at '127.0.0.1:9': .*refused") as caught:
        next(work)
    assert "ray start" in caught.value.hint
