"""TensorBoard reads its files back; the endpoint is on loopback while the run goes on."""

from __future__ import annotations

import socket
import threading
import time
import urllib.request
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filmgate.outputs.points import Point, points_of
from filmgate.outputs.record import OutputState, read_states
from filmgate.outputs.send import Course, Sender
from filmgate.outputs.start import start_sender
from filmgate.outputs.to_prometheus import PrometheusSink, page
from filmgate.records.telemetry import Evaluation
from tests.outputs.telemetry import Run
from tests.patience import PATIENT_SECONDS


def test_tensorboard_reads_every_step_once_across_two_attempts(tmp_path: Path) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    run = Run(tmp_path / "run", tensorboard=True)
    run.start()
    run.steps(1, 2)
    assert start_sender(run.folder, follows=False).wait(PATIENT_SECONDS) == 0
    run.start(step=1)
    run.steps(2, 3)
    run.finish(3)
    assert start_sender(run.folder, follows=False).wait(PATIENT_SECONDS) == 0
    found = []
    for file in (run.folder / "tensorboard").iterdir():
        events = accumulator.EventAccumulator(str(file))
        events.Reload()
        if "step/loss" in events.Tags()["scalars"]:
            found += [(one.step, one.value) for one in events.Scalars("step/loss")]
    assert sorted(found) == [(1, 1.0), (2, 0.5), (3, pytest.approx(1 / 3))]
    (state,) = read_states(run.folder)
    assert state.is_done and state.faults == 0


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def test_prometheus_fetches_the_newest_numbers_from_loopback(tmp_path: Path) -> None:
    run, port = Run(tmp_path / "run"), free_port()
    run.start()
    run.steps(1, 2)
    goes_on = threading.Event()
    state = OutputState(kind="prometheus", target="loopback")
    sender = Sender(
        run_folder=run.folder, linger_seconds=0, is_running=lambda: not goes_on.is_set(),
        courses=[Course(state=state, sink=PrometheusSink(port))],
    )  # fmt: skip
    thread = threading.Thread(target=sender.run)
    thread.start()
    try:
        text = fetched(port)
    finally:
        run.finish(2)
        goes_on.set()
        thread.join(PATIENT_SECONDS)
    assert "filmgate_step_loss 0.5\n" in text
    assert "filmgate_step 2\n" in text
    with pytest.raises(OSError):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5)


def fetched(port: int) -> str:
    deadline = time.monotonic() + PATIENT_SECONDS
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
                text = str(answer.read().decode())
            if "filmgate_step 2" in text:
                return text
        except OSError:
            assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_port_that_is_taken_costs_faults_and_nothing_else(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start()
    run.steps(1)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        state = OutputState(kind="prometheus", target="loopback")
        course = Course(state=state, sink=PrometheusSink(int(taken.getsockname()[1])))
        Sender(
            run_folder=run.folder, linger_seconds=0, is_running=lambda: False, courses=[course]
        ).run()
    assert course.state.faults == 1
    assert "in use" in (course.state.last_fault or "")


@given(st.floats(), st.floats())
def test_only_finite_numbers_become_points(loss: float, accuracy: float) -> None:
    line = Evaluation(
        unix_seconds=1.0, attempt=0, step=3, seconds=1.0, loss=loss, accuracy=accuracy, num_clips=2
    )
    keys = {point.key: point.value for point in points_of(line)}
    assert ("evaluation/loss" in keys) == (abs(loss) < float("inf"))
    assert keys["evaluation/num_clips"] == 2.0


def test_a_page_has_one_gauge_for_each_number() -> None:
    point = Point(key="step/loss", value=0.5, step=7, unix_seconds=1.0)
    assert page({"step/loss": point}).count("# TYPE") == 2
