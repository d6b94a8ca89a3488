"""The batch script at work; scontrol and srun are stand-ins, filmgate and signals are real."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from filmgate.launch import Launch
from filmgate.launch.slurm import SlurmPlace, sbatch
from tests.patience import PATIENT_SECONDS

SRUN = '#!/bin/bash\nshift\nexec "$@"\n'
SCONTROL = '#!/bin/bash\nif [ "$1" = show ]; then echo localhost; else echo "$@" >> requeued; fi\n'
PYTHON = f'#!/bin/bash\nexec {sys.executable} step.py "$@"\n'
STEP = """
import signal, sys, time
from pathlib import Path
def stop(number, frame):
    Path("committed").touch()
    sys.exit(75)
signal.signal(signal.SIGTERM, stop)
Path("started").touch()
deadline = time.monotonic() + 600
while not Path("go").exists() and time.monotonic() < deadline:
    time.sleep(0.02)
code = int(Path("go").read_text() or 0)
if code == 0:
    Path("run").mkdir(exist_ok=True)
    Path("run/run.json").touch()
sys.exit(code)
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name, text in (("srun", SRUN), ("scontrol", SCONTROL), ("python", PYTHON)):
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    (tmp_path / "step.py").write_text(STEP)
    launch = Launch(name="run", arguments=["run"], run_folder="run")
    (tmp_path / "run.sbatch").write_text(sbatch(launch, SlurmPlace()))
    return tmp_path


def start(place: Path) -> subprocess.Popen[bytes]:
    environment = {
        "PATH": f"{place / 'bin'}:{os.environ['PATH']}",
        "SLURM_JOB_ID": "7",
        "SLURM_NODEID": "0",
        "SLURM_JOB_NODELIST": "localhost",
    }
    return subprocess.Popen(["bash", "run.sbatch"], cwd=place, env=environment)


def await_file(path: Path) -> None:
    deadline = time.monotonic() + PATIENT_SECONDS
    while not path.exists():
        assert time.monotonic() < deadline, f"{path.name} never came"
        time.sleep(0.02)


def test_a_notice_reaches_the_run_which_commits_and_is_queued_again(place: Path) -> None:
    process = start(place)
    await_file(place / "started")
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENT_SECONDS) == 75
    assert (place / "committed").exists()
    assert (place / "requeued").read_text() == "requeue 7\n"


def test_a_finished_run_is_not_queued_again_and_the_script_ends_well(place: Path) -> None:
    (place / "go").write_text("0")
    assert start(place).wait(PATIENT_SECONDS) == 0
    assert not (place / "requeued").exists()


def test_a_run_that_has_to_be_mended_keeps_its_code_and_is_not_queued_again(place: Path) -> None:
    (place / "go").write_text("2")
    assert start(place).wait(PATIENT_SECONDS) == 2
    assert not (place / "requeued").exists()
