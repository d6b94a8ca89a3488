"""Starts the sender beside a run, and sends what is left after one."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from filmgate.errors import UserError
from filmgate.spec import Job

LOG_FILE = "outputs.log"
_ENVIRONMENT = {
    # H-closed: MLflow's client would tell its makers how it is used.
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    # The sender tries again by itself, and knows what it has sent.
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
}


def is_wanted(job: Job) -> bool:
    """Whether the job has any output."""
    outputs = job.outputs
    return outputs.tensorboard or bool(outputs.mlflow) or outputs.prometheus_port is not None


def check_outputs(job: Job) -> None:
    """Raise UserError where a library is missing that an output needs, before anything starts."""
    needs = {"tensorboard": job.outputs.tensorboard, "mlflow": job.outputs.mlflow is not None}
    for library, is_needed in needs.items():
        if is_needed and find_spec(library) is None:
            raise UserError(
                f"{library} of [outputs] needs the library {library}, which is not installed",
                hint=f"pip install 'filmgate[{library}]', or take it out of the job",
            )


def start_sender(run_folder: Path, *, follows: bool = True) -> subprocess.Popen[bytes]:
    """The process; in a session of its own, so that a stop of the run is none of its own.

    ``follows``: as long as this process lives; otherwise it sends what there is. Raises OSError.
    """
    parent = os.getpid() if follows else 0
    with (run_folder / LOG_FILE).open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "filmgate.outputs.process", str(run_folder), str(parent)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**os.environ, **_ENVIRONMENT},
        )
