"""Whether a run makes a training copy: measured when it can pay, decided once, kept over kills."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from filmgate.app.run_copies import PAYS_TIMES, num_clips, training_catalog, visits
from filmgate.app.run_summary import RunCopies
from filmgate.app.terminal import Talk
from filmgate.catalog import Catalog, index_videos
from filmgate.records import read_record
from filmgate.spec import Clip, Data, Job, Train
from filmgate.spec.job import Prepare
from tests.footage import write_video
from tests.patience import PATIENT_SECONDS

QUIET = Talk(quiet=True)
CLIP = Clip(frames=4, stride=4, height=32, width=48)
EASY = Prepare(lowest_psnr_db=20.0, largest_size_share=50.0)


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    (tmp_path / "videos").mkdir()
    for number in range(2):
        path = tmp_path / "videos" / f"{number}.mp4"
        write_video(path, num_frames=250, width=192, height=128, gop=250, hue=90 * number)
    return index_videos(tmp_path / "videos", tmp_path / "catalog", workers=0)


def job_of(steps: int, prepare: Prepare = EASY) -> Job:
    return Job(clip=CLIP, train=Train(steps=steps, batch_size=8), prepare=prepare)


def decide(job: Job, catalog: Catalog, folder: Path) -> tuple[Catalog, RunCopies]:
    folder.mkdir(exist_ok=True)
    return training_catalog(job, catalog, folder, QUIET)


def test_a_long_run_measures_and_trains_from_a_copy_and_keeps_that_when_it_goes_on(
    catalog: Catalog, tmp_path: Path
) -> None:
    job, folder = job_of(200_000), tmp_path / "run"
    read, copies = decide(job, catalog, folder)
    assert copies.recipe is not None and read.header.copy is not None
    assert read.header.copy.catalog_digest == catalog.digest
    assert "clips per CPU-second against" in copies.why
    assert copies.layouts is not None and (folder / copies.layouts).exists()
    layouts = json.loads((folder / copies.layouts).read_text())
    chosen = next(
        one for one in layouts["choice"]["outlooks"]
        if one["trial"]["label"] == layouts["choice"]["label"]
    )  # fmt: skip
    assert chosen["pays_from_clips"] * PAYS_TIMES <= num_clips(job, catalog)
    again, same = decide(job, catalog, folder)
    assert same == copies == read_record(folder / "prepare.json", RunCopies)
    assert again.digest == read.digest


@pytest.mark.parametrize(
    ("job", "why"),
    [
        (
            msgspec.structs.replace(job_of(1), data=Data(lookahead=8, holdout=0.0)),
            "a copy decodes all 500 once",
        ),
        (job_of(40), "too little to measure a copy for"),
        (job_of(200_000, msgspec.structs.replace(EASY, mode="never")), "the job says never"),
        (job_of(200_000, Prepare(lowest_psnr_db=99.0)), "no copy keeps the limits"),
    ],
    ids=["hardly a clip", "a short run", "never", "limits"],
)
def test_a_run_without_a_copy_reads_the_videos_as_they_are_and_says_why(
    job: Job, why: str, catalog: Catalog, tmp_path: Path
) -> None:
    read, copies = decide(job, catalog, tmp_path / "run")
    assert read is catalog and copies.recipe is None
    assert why in copies.why


def test_copies_are_not_copied_again(catalog: Catalog, tmp_path: Path) -> None:
    always = job_of(1, msgspec.structs.replace(EASY, mode="always", codec="mpeg4"))
    read, _ = decide(always, catalog, tmp_path / "first")
    other, copies = decide(job_of(200_000), read, tmp_path / "second")
    assert other is read and copies.why == "the videos are training copies already"


def test_clips_that_one_visit_makes_count_once(catalog: Catalog) -> None:
    job = msgspec.structs.replace(job_of(100), data=Data(lookahead=4, holdout=0.0))
    assert (num_clips(job, catalog), visits(job, catalog)) == (800, 200)


RUN_JOB = """
[clip]
frames = 4
stride = 4
height = 32
width = 48
[train]
steps = 12
batch_size = 4
commit_every_steps = 3
[limits]
workers = 1
[prepare]
mode = "always"
layout = "temporal"
quality = 20
"""


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_run_killed_anywhere_comes_to_the_same_samples(catalog: Catalog, tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(RUN_JOB)
    began = time.monotonic()
    whole, _ = run_for(600, tmp_path, "whole")
    longest = time.monotonic() - began
    chance, kills = random.Random(3), 0
    for _ in range(40):
        _, killed = run_for(chance.uniform(0.1, 0.9) * longest, tmp_path, "cut")
        kills += killed
        if kills >= 8 or not killed:
            break
    cut, killed = run_for(600, tmp_path, "cut")
    assert not killed and kills >= 1
    assert cut is not None and whole is not None
    assert cut["samples_digest"] == whole["samples_digest"]
    assert cut["digests"]["copies"] == whole["digests"]["copies"]
    assert cut["copies"]["recipe"] == whole["copies"]["recipe"] is not None


def run_for(seconds: float, folder: Path, out: str) -> tuple[dict[str, dict] | None, bool]:
    """The record, or None and True for a run that was killed after ``seconds``."""
    command = [sys.executable, "-m", "filmgate", "run", "videos", "--job", "job.toml"]
    process = subprocess.Popen(
        [*command, "--labels", "none", "--out", out, "--json"], cwd=folder,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    try:
        record, words = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=PATIENT_SECONDS)
        return None, True
    assert process.returncode == 0, words.decode()
    return json.loads(record), False
