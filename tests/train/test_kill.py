"""Runs in processes of their own, killed, stopped and starved of disk; one uninterrupted run is
the measure for all of them."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from filmgate.catalog import Catalog
from filmgate.errors import Interrupted
from filmgate.records import read_record
from filmgate.records.telemetry import newest_steps, read_telemetry
from filmgate.spec import write_job
from filmgate.train import TrainResult
from tests.patience import PATIENT_SECONDS
from tests.train.conftest import a_job

ROOT = Path(__file__).resolve().parents[2]
USER_MODEL = """
from torch import nn

def dropout_model(job, num_classes):
    return nn.Sequential(
        nn.Flatten(1),
        nn.Linear(3 * job.clip.frames * job.clip.height * job.clip.width, 8),
        nn.Dropout(0.5),
        nn.Linear(8, num_classes),
    )
"""


class Place:
    """A current directory with a user's model, a job on it with feed workers, and its runs."""

    def __init__(self, path: Path, catalog: Path) -> None:
        self.path = path
        self.catalog = catalog
        (path / "my_models.py").write_text(USER_MODEL)
        job = a_job(
            model={"factory": "my_models:dropout_model"},
            train={"steps": 24, "commit_every_steps": 5},
            # A short queue: the limit that starves the commits holds for its memory too.
            limits={"workers": 1, "prefetch_batches": 2},
        )
        write_job(path / "job.toml", job)

    def start(self, run: str, *limit: str) -> subprocess.Popen[str]:
        (self.path / run).mkdir(exist_ok=True)
        arguments = [str(self.catalog), "job.toml", run, *limit]
        return subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "tests.train.trainer_process", *arguments],
            cwd=self.path,
            env={"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), "PATH": ""},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def finish(self, run: str) -> TrainResult:
        with self.start(run) as process:
            told, _ = process.communicate(timeout=PATIENT_SECONDS)
        assert process.returncode == 0, told
        return read_record(self.path / run / "train.json", TrainResult)

    def losses(self, run: str) -> list[float]:
        lines = list(read_telemetry(self.path / run / "telemetry.jsonl"))
        return [step.loss for step in newest_steps(lines)]


def read_until(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdout is not None
    told = []
    for told_line in process.stdout:
        told.append(told_line)
        if told_line.strip() == line:
            return
    pytest.fail(f"no {line!r} in {told}")


@pytest.fixture(scope="module")
def place(hues: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("place"), hues.path)


@pytest.fixture(scope="module")
def whole(place: Place) -> TrainResult:
    return place.finish("whole")


def is_same_outcome(a: TrainResult, b: TrainResult) -> bool:
    return (a.final_loss, a.samples_digest, a.holdout_loss, a.accuracy) == (
        b.final_loss,
        b.samples_digest,
        b.holdout_loss,
        b.accuracy,
    )


def test_a_run_that_is_killed_and_starved_of_disk_ends_bit_for_bit_like_one_that_was_not(
    place: Place, whole: TrainResult
) -> None:
    with place.start("killed") as process:
        read_until(process, "step 7")
        process.send_signal(signal.SIGKILL)
    with place.start("killed", "300000") as process:
        told, _ = process.communicate(timeout=PATIENT_SECONDS)
    assert process.returncode == 2, told
    assert "commits cannot be written" in told and "hint: free some space" in told
    with place.start("killed") as process:
        read_until(process, "step 17")
        process.send_signal(signal.SIGKILL)
    result = place.finish("killed")
    assert result.attempts == 4
    assert is_same_outcome(result, whole)
    assert place.losses("killed") == place.losses("whole")
    commit = Path("commits/step-00000024")
    killed, uninterrupted = place.path / "killed" / commit, place.path / "whole" / commit
    names = sorted(path.name for path in killed.iterdir())
    assert "__0_0.distcp" in names and names == sorted(p.name for p in uninterrupted.iterdir())
    for name in ("__0_0.distcp", "random-0.pt"):
        assert (killed / name).read_bytes() == (uninterrupted / name).read_bytes()


def test_a_run_that_is_told_to_stop_at_any_moment_commits_and_exits_with_its_own_code(
    place: Place, whole: TrainResult
) -> None:
    waits = random.Random(5)
    with place.start("stopped-anywhere") as process:
        time.sleep(waits.uniform(1, 5))
        process.send_signal(signal.SIGTERM)
        told, _ = process.communicate(timeout=PATIENT_SECONDS)
    # Before the run has begun a signal ends the process as it ends any other.
    assert process.returncode in (Interrupted.exit_code, -signal.SIGTERM, 0), told
    assert is_same_outcome(place.finish("stopped-anywhere"), whole)
    with place.start("stopped") as process:
        read_until(process, "step 21")
        time.sleep(waits.uniform(0, 0.1))
        process.send_signal(signal.SIGTERM)
        told, _ = process.communicate(timeout=PATIENT_SECONDS)
    assert process.returncode == Interrupted.exit_code, told
    assert "stopped by SIGTERM, committed after step 2" in told
    result = place.finish("stopped")
    assert is_same_outcome(result, whole)
