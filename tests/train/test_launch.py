"""Several ranks on this machine, processes of their own that meet on 127.0.0.1."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from filmgate.catalog import Catalog
from filmgate.errors import Interrupted, UserError
from filmgate.records import read_record
from filmgate.records.telemetry import newest_steps, read_telemetry
from filmgate.spec import write_job
from filmgate.train import TrainResult
from filmgate.train.launch import Request, train_on_ranks
from filmgate.train.run import train_run
from tests.patience import PATIENT_SECONDS
from tests.train.conftest import a_job

TOLERANCE = 2e-3
"""Of a loss, relative: sums over ranks and micro-batches round differently, and steps add up."""


class Runs:
    """Run folders over one catalog."""

    def __init__(self, root: Path, catalog: Catalog) -> None:
        self.root = root
        self.catalog = catalog
        self.events: list[str] = []

    def alone(self, name: str, **train: Any) -> TrainResult:
        (self.root / name).mkdir(exist_ok=True)
        return train_run(a_job(train=train), self.catalog, self.root / name)

    def on_ranks(
        self, name: str, num_ranks: int, on_step: Any = lambda step: None, **train: Any
    ) -> TrainResult:
        folder = self.root / name
        folder.mkdir(exist_ok=True)
        write_job(self.root / f"{name}.toml", a_job(train=train))
        request = Request(
            job_file=self.root / f"{name}.toml",
            catalog=self.catalog.path,
            run_folder=folder,
            num_ranks=num_ranks,
        )
        train_on_ranks(request, lambda step, steps, said: on_step(step), self.events.append)
        return read_record(folder / "train.json", TrainResult)

    def losses(self, name: str) -> list[float]:
        lines = list(read_telemetry(self.root / name / "telemetry.jsonl"))
        return [step.loss for step in newest_steps(lines)]


@pytest.fixture
def runs(hues: Catalog, tmp_path: Path) -> Runs:
    return Runs(tmp_path, hues)


def children_of(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def ranks_here() -> list[int]:
    found = []
    for pid in children_of(os.getpid()):
        if b"filmgate.train.rank_process" in Path(f"/proc/{pid}/cmdline").read_bytes():
            found.append(pid)
    return found


@pytest.mark.parametrize("engine", ["ddp", "fsdp2"])
def test_two_ranks_train_on_the_samples_of_one_and_to_its_losses(runs: Runs, engine: str) -> None:
    one = runs.alone("one")
    two = runs.on_ranks("two", 2, parallel=engine)
    assert two.samples_digest == one.samples_digest
    assert runs.losses("two") == pytest.approx(runs.losses("one"), rel=TOLERANCE)
    assert (two.world_size, two.parallel) == (2, engine)
    assert two.num_holdout_clips == one.num_holdout_clips
    assert two.num_parameters == one.num_parameters
    assert two.holdout_loss == pytest.approx(one.holdout_loss, rel=TOLERANCE)


@pytest.mark.slow
def test_a_run_goes_on_with_other_numbers_of_ranks(runs: Runs) -> None:
    one = runs.alone("one", commit_every_steps=2)
    for num_ranks, stop_at in ((2, 3), (1, 7)):
        with pytest.raises(Interrupted):
            runs.on_ranks(
                "parts", num_ranks, lambda step, at=stop_at: stop_me(step, at),
                commit_every_steps=2, parallel="fsdp2",
            )  # fmt: skip
        time.sleep(0.1)
    parts = runs.on_ranks("parts", 2, commit_every_steps=2, parallel="fsdp2")
    assert parts.samples_digest == one.samples_digest
    assert runs.losses("parts") == pytest.approx(runs.losses("one"), rel=TOLERANCE)
    assert any("world size 2 there, 1 here" in event for event in parts.events)


def stop_me(step: int, at: int) -> None:
    if step == at:
        os.kill(os.getpid(), signal.SIGTERM)


def test_a_rank_that_dies_takes_the_others_along_and_all_start_again(runs: Runs) -> None:
    whole = runs.alone("whole")
    killed: list[float] = []

    def kill_one(step: int) -> None:
        if step == 6 and not killed:
            os.kill(ranks_here()[-1], signal.SIGKILL)
            killed.append(time.monotonic())

    parts = runs.on_ranks("parts", 2, kill_one)
    assert killed and parts.attempts == 2
    assert any("ended with SIGKILL" in event and "start again" in event for event in runs.events)
    assert parts.samples_digest == whole.samples_digest
    assert runs.losses("parts") == pytest.approx(runs.losses("whole"), rel=TOLERANCE)
    assert ranks_here() == []


def test_a_signal_to_one_rank_stops_all_at_the_same_step_with_a_commit(runs: Runs) -> None:
    def stop_one(step: int) -> None:
        if step == 5:
            os.kill(ranks_here()[-1], signal.SIGTERM)

    with pytest.raises(Interrupted, match=r"stopped by SIGTERM, committed after step \d+ of 200"):
        runs.on_ranks("stopped", 2, stop_one, steps=200, commit_every_steps=100)
    (commit,) = (runs.root / "stopped" / "commits").iterdir()
    assert int(commit.name.removeprefix("step-")) == len(runs.losses("stopped"))
    assert (commit / "random-0.pt").exists() and (commit / "random-1.pt").exists()


def test_what_the_user_can_mend_is_told_once_and_not_tried_again(runs: Runs) -> None:
    with pytest.raises(UserError, match="batch_size 4 does not divide") as raised:
        runs.on_ranks("odd", 2, batch_size=4, accumulation=4)
    assert "multiple of 8" in raised.value.hint
    assert runs.events == []


@pytest.mark.slow
def test_torchrun_starts_the_same_ranks(runs: Runs) -> None:
    one = runs.alone("one")
    (runs.root / "two").mkdir()
    write_job(runs.root / "two.toml", a_job())
    with subprocess.Popen(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
         "-m", "filmgate.train.rank_process", str(runs.root / "two.toml"),
         str(runs.catalog.path), str(runs.root / "two")],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "GLOO_SOCKET_IFNAME": "lo"},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    ) as process:  # fmt: skip
        timer = threading.Timer(PATIENT_SECONDS, process.kill)
        timer.start()
        told, _ = process.communicate()
        timer.cancel()
    assert process.returncode == 0, told
    two = read_record(runs.root / "two" / "train.json", TrainResult)
    assert two.samples_digest == one.samples_digest and two.world_size == 2
