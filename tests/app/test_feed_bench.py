from __future__ import annotations

import json
from pathlib import Path

import pytest

from filmgate.app.cli import run_command_line
from filmgate.catalog import index_videos

JOB = """
[clip]
frames = 4
stride = 2
height = 32
width = 48
[train]
batch_size = 2
device = "cpu"
[limits]
prefetch_batches = 2
"""
PROMISED = {
    "supply_clips_per_second", "demand_clips_per_second", "au", "clips_per_cpu_second",
    "frames_decoded_per_frame_delivered", "peak_rss_bytes", "stages",
}  # fmt: skip


@pytest.fixture
def job(tmp_path: Path) -> str:
    path = tmp_path / "job.toml"
    path.write_text(JOB)
    return str(path)


def test_the_models_demand_is_measured_on_a_catalog(
    footage: Path, job: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    index_videos([footage], tmp_path / "catalog", workers=0)
    arguments = ["feed", "bench", str(tmp_path / "catalog"), "--job", job, "--seconds", "0.3"]
    assert run_command_line([*arguments, "--workers", "1", "--json"]) == 0
    record = json.loads(capfd.readouterr().out)
    assert set(record) >= PROMISED
    assert record["workers"] == 1
    assert "small_video_classifier" in record["demand_from"]
    assert record["demand_clips_per_second"] > 0
    assert 0 < record["au"] <= 1
    assert record["unknown"] == {}


def test_videos_are_indexed_for_it_and_a_table_is_printed(
    footage: Path, job: str, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments = ["feed", "bench", str(footage), "--job", job, "--seconds", "0.2"]
    assert run_command_line([*arguments, "--workers", "0", "--step-ms", "20"]) == 0
    talk = capfd.readouterr()
    assert "a given step of 20 ms" in talk.out
    for name in ("supply", "demand", "headroom", "AU", "peak memory", "decode"):
        assert name in talk.out


def test_au_is_measured_at_a_share_of_the_supply(
    footage: Path, job: str, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments = ["feed", "bench", str(footage), "--job", job, "--seconds", "0.4", "--json"]
    assert run_command_line([*arguments, "--workers", "1", "--demand-share", "0.85"]) == 0
    record = json.loads(capfd.readouterr().out)
    assert record["headroom"] == pytest.approx(1 / 0.85)
    assert 0 < record["au"] <= 1
    assert record["au_spread"]["lowest"] <= record["au"] <= record["au_spread"]["highest"]


STEP = """
import time

def step(batch):
    assert tuple(batch.frames_BTCHW.shape) == (2, 4, 3, 32, 48)
    time.sleep(0.03)

def broken(batch):
    raise ValueError("no such weather")
"""


def test_a_users_own_step_is_measured(
    footage: Path,
    job: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "own_step_of_the_bench_test.py").write_text(STEP)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    arguments = ["feed", "bench", str(footage), "--job", job, "--seconds", "0.3", "--json"]
    name = "own_step_of_the_bench_test"
    assert run_command_line([*arguments, "--workers", "0", "--step", f"{name}:step"]) == 0
    record = json.loads(capfd.readouterr().out)
    assert record["demand_from"] == f"the step function {name}:step"
    assert record["step_seconds"] >= 0.03
    assert run_command_line([*arguments, "--workers", "0", "--step", f"{name}:broken"]) == 2
    assert "ValueError: no such weather" in capfd.readouterr().err


BAD_INPUT = {
    "a demand told twice": ["videos", "--step-ms", "5", "--demand-share", "0.5"],
    "a demand of nothing": ["videos", "--demand-share", "0"],
    "a step that is no function": ["videos", "--step", "json:nothing"],
    "a step without a module": ["videos", "--step", "nowhere_at_all:step"],
    "a step that is no name": ["videos", "--step", "step"],
    "a missing path": ["nowhere"],
    "a step of nothing": ["videos", "--step-ms", "0"],
    "a negative window": ["videos", "--seconds", "-1"],
    "fewer than no workers": ["videos", "--workers", "-1"],
    "a missing job file": ["videos", "--job", "none.toml"],
}


@pytest.mark.parametrize("arguments", BAD_INPUT.values(), ids=BAD_INPUT.keys())
def test_bad_input_gives_error_and_hint_and_code_2(
    arguments: list[str],
    footage: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("videos").symlink_to(footage)
    assert run_command_line(["feed", "bench", *arguments]) == 2
    talk = capfd.readouterr()
    assert talk.out == ""
    assert "error: " in talk.err
    assert "hint: " in talk.err
    assert "Traceback" not in talk.err
