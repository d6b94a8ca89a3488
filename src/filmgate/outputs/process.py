"""``python -m filmgate.outputs.process RUN_FOLDER PARENT``: the sender, beside a run or after it.

It is started with an environment in which MLflow's client reports to nobody and tries once.
"""

from __future__ import annotations

import fcntl
import os
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from filmgate.outputs.record import OutputState, read_states
from filmgate.outputs.send import Course, Sender
from filmgate.outputs.to_prometheus import HOST, PrometheusSink
from filmgate.records import digest_bytes
from filmgate.spec import Job, load_job

LOCK_FILE = ".outputs.lock"


def main(arguments: list[str]) -> None:
    """Send what there is to send; the exit code is 0, whatever the outputs say."""
    folder, parent = Path(arguments[0]), int(arguments[1])
    job = load_job(folder / "job.toml")
    with (folder / LOCK_FILE).open("w") as lock:
        if not _take(lock.fileno(), lambda: _is_child_of(parent)):
            return
        Sender(
            run_folder=folder,
            courses=_courses(job, folder, with_endpoint=_is_child_of(parent)),
            is_running=lambda: _is_child_of(parent),
            linger_seconds=job.outputs.linger_minutes * 60,
        ).run()


def _is_child_of(parent: int) -> bool:
    """Whether the process that started this one is there; 0: none is waited for."""
    return parent != 0 and os.getppid() == parent


def _take(descriptor: int, goes_on: Any) -> bool:
    """Wait for the sender of an earlier attempt, as long as the run goes on."""
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not goes_on():
                return False
            time.sleep(0.2)
        else:
            return True


def _courses(job: Job, folder: Path, *, with_endpoint: bool) -> list[Course]:
    left = {state.kind: state for state in read_states(folder)}
    courses = []
    outputs = job.outputs
    if outputs.tensorboard:
        target = folder / "tensorboard"
        state = left.get("tensorboard", OutputState(kind="tensorboard", target=str(target)))
        # Libraries that are extras are loaded where they are asked for.
        module = import_module("filmgate.outputs.to_tensorboard")
        courses.append(Course(state=state, sink=module.TensorBoardSink(target)))
    if outputs.mlflow is not None:
        state = left.get("mlflow", OutputState(kind="mlflow", target=outputs.mlflow))
        module = import_module("filmgate.outputs.to_mlflow")
        sink = module.MlflowSink(
            outputs.mlflow,
            outputs.mlflow_experiment or job.job.name,
            folder.name,
            _tag(folder),
            state.run_id,
        )
        courses.append(Course(state=state, sink=sink))
    if outputs.prometheus_port is not None and with_endpoint:
        port = outputs.prometheus_port
        endpoint = OutputState(kind="prometheus", target=f"http://{HOST}:{port}/metrics")
        courses.append(Course(state=endpoint, sink=PrometheusSink(port)))
    return courses


def _tag(folder: Path) -> str:
    """Names the run for ever: its place, and what was asked for and when."""
    request = folder / "request.json"
    asked = msgspec.json.encode(str(folder)) + (request.read_bytes() if request.exists() else b"")
    return digest_bytes(asked).replace(":", "-")


if __name__ == "__main__":
    main(sys.argv[1:])
