"""T-tracker: down at the start, midway or at the end, every number arrives once, later."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from filmgate.outputs.record import read_states
from filmgate.outputs.start import start_sender
from tests.outputs.mlflow_server import MlflowServer
from tests.outputs.telemetry import Run
from tests.patience import PATIENT_SECONDS

pytest.importorskip("mlflow")


@pytest.fixture
def server() -> Iterator[MlflowServer]:
    server = MlflowServer()
    server.start()
    yield server
    server.stop()


def sent(process: subprocess.Popen[bytes]) -> None:
    try:
        assert process.wait(PATIENT_SECONDS) == 0
    finally:
        process.kill()
        process.wait()


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENT_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def faults(run: Run) -> int:
    return sum(state.faults for state in read_states(run.folder))


def test_a_server_that_is_down_at_the_start_gets_everything_once(
    tmp_path: Path, server: MlflowServer
) -> None:
    server.stop()
    run = Run(tmp_path / "run", mlflow=server.uri)
    run.start()
    run.steps(1, 2, 3)
    sender = start_sender(run.folder)
    until(lambda: faults(run) > 0)
    server.start()
    run.steps(4)
    run.finish(4)
    sent(sender)
    assert server.steps_of() == [1, 2, 3, 4]
    assert server.is_finished


def test_a_server_that_goes_midway_and_returns_gets_everything_once(
    tmp_path: Path, server: MlflowServer
) -> None:
    run = Run(tmp_path / "run", mlflow=server.uri)
    run.start()
    run.steps(1, 2)
    sender = start_sender(run.folder)
    until(lambda: server.steps_of() == [1, 2])
    server.stop()
    run.steps(3, 4)
    until(lambda: faults(run) > 0)
    server.start()
    run.steps(5)
    run.finish(5)
    sent(sender)
    assert server.steps_of() == [1, 2, 3, 4, 5]


def test_what_a_server_misses_at_the_end_is_sent_once_by_a_later_command(
    tmp_path: Path, server: MlflowServer
) -> None:
    run = Run(tmp_path / "run", mlflow=server.uri, linger_minutes=0.0)
    run.start()
    run.steps(1, 2)
    sender = start_sender(run.folder)
    until(lambda: server.steps_of() == [1, 2])
    sender.kill()
    sender.wait()
    server.stop()
    run.steps(3)
    run.finish(3)
    sent(start_sender(run.folder, follows=False))
    (state,) = read_states(run.folder)
    assert state.faults > 0 and not state.is_done and state.last_fault is not None
    server.start()
    sent(start_sender(run.folder, follows=False))
    assert server.steps_of() == [1, 2, 3]
    assert read_states(run.folder)[0].is_done


def test_a_batch_whose_answer_is_lost_is_not_sent_twice(
    tmp_path: Path, server: MlflowServer
) -> None:
    server.fail_after = 1
    run = Run(tmp_path / "run", mlflow=server.uri)
    run.start()
    run.steps(1, 2, 3)
    run.finish(3)
    sent(start_sender(run.folder, follows=False))
    assert faults(run) >= 1
    assert server.steps_of() == [1, 2, 3]


def test_steps_that_are_done_again_after_a_kill_are_sent_once(
    tmp_path: Path, server: MlflowServer
) -> None:
    run = Run(tmp_path / "run", mlflow=server.uri)
    run.start()
    run.steps(1, 2, 3)
    run.start(step=1)
    run.steps(2, 3, 4)
    run.finish(4)
    sent(start_sender(run.folder, follows=False))
    assert server.steps_of() == [1, 2, 3, 4]
    assert len(server.runs) == 1


def test_a_server_that_answers_with_errors_costs_faults_and_no_numbers(
    tmp_path: Path, server: MlflowServer
) -> None:
    server.fail_before = 2
    run = Run(tmp_path / "run", mlflow=server.uri)
    run.start()
    run.steps(1)
    run.finish(1)
    sent(start_sender(run.folder, follows=False))
    assert faults(run) == 2
    assert server.steps_of() == [1]
