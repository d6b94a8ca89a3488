"""Killed at any moment, `filmgate prepare` goes on: same files, nothing made twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from filmgate.catalog import index_videos, open_catalog
from tests.footage import write_video
from tests.patience import PATIENT_SECONDS

NUM_VIDEOS = 5


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    (tmp_path / "videos").mkdir()
    for number in range(NUM_VIDEOS):
        path = tmp_path / "videos" / f"{number}.mp4"
        write_video(path, num_frames=150, width=192, height=128, hue=40 * number)
    return index_videos(tmp_path / "videos", tmp_path / "catalog", workers=0).path


def command(catalog: Path, out: Path) -> list[str]:
    options = ["--layout", "short-gop", "--size", "source", "--workers", "2", "--quiet"]
    return [sys.executable, "-m", "filmgate", "prepare", str(catalog), "--out", str(out), *options]


def killed_after(seconds: float, catalog: Path, out: Path) -> bool:
    """Start, and kill the whole process group; whether it was still at work."""
    process = subprocess.Popen(
        command(catalog, out), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=PATIENT_SECONDS)
        return True
    _, words = process.communicate(timeout=PATIENT_SECONDS)
    assert process.returncode == 0, words.decode()
    return False


def files(out: Path) -> dict[str, bytes]:
    folder = out / "copies"
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def finished_tasks(out: Path) -> Counter[str]:
    """Key -> how often the journal says that it was finished."""
    lines = (out / ".work" / "journal.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    return Counter(one["key"] for one in records if one.get("state") == "finished")


def kill_and_finish(num_kills: int, catalog: Path, folder: Path, seed: int) -> None:
    whole = folder / "whole"
    began = time.monotonic()
    assert not killed_after(600, catalog, whole)
    longest = time.monotonic() - began
    chance, kills, number = random.Random(seed), 0, 0
    out = folder / "out-0"
    while kills < num_kills:
        if killed_after(chance.uniform(0.1, 1.0) * longest, catalog, out):
            kills += 1
            continue
        check(out, whole)
        number += 1
        out = folder / f"out-{number}"
    assert not killed_after(600, catalog, out)
    check(out, whole)


def check(out: Path, whole: Path) -> None:
    assert files(out) == files(whole)
    assert finished_tasks(out) == Counter(dict.fromkeys(finished_tasks(whole), 1))
    assert open_catalog(out).digest == open_catalog(whole).digest
    assert list((out / ".work" / "places").iterdir()) == []


def test_two_kills_at_random_moments_change_nothing(catalog: Path, tmp_path: Path) -> None:
    kill_and_finish(2, catalog, tmp_path, seed=1)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_twenty_kills_at_random_moments_change_nothing(catalog: Path, tmp_path: Path) -> None:
    kill_and_finish(20, catalog, tmp_path, seed=2)
