from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from filmgate.app.cli import run_command_line
from filmgate.app.soak import Plan, choose_load, run_soak
from filmgate.app.terminal import Talk
from filmgate.errors import FilmgateError, UserError
from filmgate.machine.soak.lines import read_lines
from tests.machine.soak.made import made_lines, nothing, write_lines
from tests.patience import PATIENT_SECONDS

SHORT = ("--load", "products", "--threads", "1", "--device", "cpu")


def start_soak(out: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "filmgate", "soak", "--out", str(out), *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def await_samples(out: Path, process: subprocess.Popen[str], count: int) -> None:
    """Until the soak has written so many."""
    deadline = time.monotonic() + PATIENT_SECONDS
    while True:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        if out.exists() and out.read_bytes().count(b'"kind":"sample"') >= count:
            return
        time.sleep(0.05)


def recorded(folder: Path, name: str = "soak.jsonl", **lines: Any) -> Path:
    start, samples, end = made_lines(**lines)
    assert end is not None
    return write_lines(folder / name, [start, *samples, end])


@pytest.mark.slow
def test_ctrl_c_leaves_a_whole_shorter_result_and_no_load_behind(tmp_path: Path) -> None:
    out = tmp_path / "soak.jsonl"
    process = start_soak(out, *SHORT, "--minutes", "30", "--every", "0.2", "--json")
    await_samples(out, process, 6)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=PATIENT_SECONDS)
    assert process.returncode == 130, stderr
    soak = json.loads(stdout)
    assert soak["ended"] == "stopped by a signal"
    assert soak["seconds"] < soak["planned_seconds"] == 1800
    assert any("ended before its time" in one for one in soak["warnings"])
    assert children
    assert not [pid for pid in children if Path(f"/proc/{pid}").exists()]
    _, samples, end = read_lines(out)
    assert end is not None
    assert len(samples) == soak["num_samples"] >= 6


@pytest.mark.slow
def test_a_soak_can_be_read_while_it_grows_and_ends_by_itself(
    tmp_path: Path, capsysbinary: Any
) -> None:
    out = tmp_path / "soak.jsonl"
    process = start_soak(out, *SHORT, "--minutes", "0.1", "--every", "0.2")
    await_samples(out, process, 5)
    assert run_command_line(["soak", "--read", str(out), "--json"]) == 0
    growing = json.loads(capsysbinary.readouterr().out)
    assert growing["ended"] is None
    stdout, stderr = process.communicate(timeout=PATIENT_SECONDS)
    assert process.returncode == 0, stderr
    assert "wrong products" in stdout
    _, samples, end = read_lines(out)
    assert end is not None
    assert end.why == "done"
    assert samples[-1].load[0].steps > samples[0].load[0].steps
    assert samples[-1].load[0].wrong == 0
    assert run_command_line(["soak", "--read", str(out), "--page", str(tmp_path / "p.html")]) == 0
    assert "products/s" in (tmp_path / "p.html").read_text()


@pytest.mark.slow
def test_training_is_the_load_of_processors_and_a_load_that_dies_ends_the_soak(
    tmp_path: Path,
) -> None:
    out = tmp_path / "soak.jsonl"
    process = start_soak(out, "--device", "cpu", "--threads", "1", "--every", "0.2", "--json")
    await_samples(out, process, 5)
    for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
        if b"soak_process" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(int(pid), signal.SIGKILL)
    stdout, stderr = process.communicate(timeout=PATIENT_SECONDS)
    assert process.returncode == 1, stderr
    soak = json.loads(stdout)
    assert soak["load"]["kind"] == "train"
    assert soak["load"]["unit"] == "clips"
    assert soak["ended"] == "the load on cpu ended with exit code -9"


def test_a_load_that_cannot_begin_leaves_no_file(tmp_path: Path) -> None:
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(b"no video")
    plan = Plan(seconds=5, interval_seconds=1, load="train", device="cpu", clips=[broken])
    with pytest.raises(FilmgateError):
        run_soak(plan, tmp_path / "soak.jsonl", Talk(quiet=True))
    assert [path.name for path in tmp_path.iterdir()] == ["broken.mp4"]


def test_only_looking_needs_no_load(tmp_path: Path, capsysbinary: Any) -> None:
    out = tmp_path / "soak.jsonl"
    options = ["--load", "none", "--minutes", "0.05", "--every", "0.5", "--json"]
    assert run_command_line(["soak", "--out", str(out), *options]) == 0
    soak = json.loads(capsysbinary.readouterr().out)
    assert soak["verdict"] == "what ran meanwhile is not counted here"
    assert soak["is_sustained"] is None
    assert soak["unknown"]


def test_a_recorded_soak_is_shown_with_findings_advice_and_curves(
    tmp_path: Path, capsysbinary: Any
) -> None:
    hot = recorded(tmp_path, gpu=lambda s: {"throttle_reasons": ["thermal, by hardware"]})
    assert run_command_line(["soak", "--read", str(hot), "--page", str(tmp_path / "p.html")]) == 0
    text = " ".join(capsysbinary.readouterr().out.decode().split())
    assert "GPU 0 was slowed down by heat in 100 % of the time" in text
    assert "improve the airflow" in text
    assert "|" in text
    page = (tmp_path / "p.html").read_text()
    assert "Stands on: GPU 0: thermal, by hardware, GPU 0 temperature" in page
    assert page.count("<figure>") >= 5
    assert "filmgate changes no setting" in page


def test_before_and_after_tuning(tmp_path: Path, capsysbinary: Any) -> None:
    before = recorded(tmp_path, "a.jsonl", step_rate=lambda s: 25.0)
    after = recorded(tmp_path, "b.jsonl", step_rate=lambda s: 30.0, gpu=nothing)
    told = ["soak", "--read", str(after), "--compare", str(before), "--changed", "undervolt"]
    assert run_command_line([*told, "--json"]) == 0
    found = json.loads(capsysbinary.readouterr().out)
    assert found["verdict"].startswith("sustained throughput: 20 % more")
    assert run_command_line(told) == 0
    assert "start to start" in capsysbinary.readouterr().out.decode()


def test_what_goes_together_is_chosen_and_what_does_not_is_refused(tmp_path: Path) -> None:
    plan = {"seconds": 60.0, "interval_seconds": 1.0}
    gpus = ["cuda:0", "cuda:1"]
    assert choose_load(Plan(**plan), ["cpu"]).kind == "train"  # type: ignore[arg-type]
    load = choose_load(Plan(**plan), gpus)  # type: ignore[arg-type]
    assert (load.kind, load.number_type, load.devices) == ("products", "bfloat16", gpus)
    trained = choose_load(Plan(batch_size=32, **plan), gpus)  # type: ignore[arg-type]
    assert (trained.kind, trained.work_per_step) == ("train", 32)
    with pytest.raises(UserError, match="no batch"):
        choose_load(Plan(load="products", batch_size=2, **plan), ["cpu"])  # type: ignore[arg-type]
    taken = recorded(tmp_path)
    with pytest.raises(UserError, match="not written over"):
        run_soak(Plan(load="none", **plan), taken, Talk(quiet=True))  # type: ignore[arg-type]


def test_changed_without_compare_is_refused(capsys: Any) -> None:
    assert run_command_line(["soak", "--changed", "fan curve"]) == 2
    assert "name the earlier soak with --compare" in capsys.readouterr().err
