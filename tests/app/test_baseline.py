from __future__ import annotations

import json
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from filmgate.app.baseline import Plan, run_baseline, write_baseline
from filmgate.app.cli import run_command_line
from filmgate.app.terminal import Talk
from filmgate.errors import UserError
from filmgate.machine.baseline.compare import compare_baselines

TINY = {"width": 32, "height": 32, "frames": 2, "steps": 1, "batch_size": 1, "threads": 1}


def burning(milliseconds: int) -> str:
    code = f"import time\nwhile time.process_time() < {milliseconds / 1000}: pass"
    return shlex.join([sys.executable, "-c", code])


def filmgate(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "filmgate", "baseline", *map(str, arguments)],
        capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_tuning_step_is_two_commands(tmp_path: Path) -> None:
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    few = ("--starts", "3", "--warm-up", "0", "--clock", "cpu", "--no-probe")
    done = filmgate("run", "--out", before, "--command", burning(400), *few)
    assert done.returncode == 0, done.stderr
    assert "CPU time" in done.stdout
    tuned = ("--against", before, "--changed", "command", "--json")
    done = filmgate("run", "--out", after, "--command", burning(800), *few, *tuned)
    assert done.returncode == 0, done.stderr
    (figure, *_) = json.loads(done.stdout)["figures"]
    assert (figure["name"], figure["is_different"]) == ("CPU time", True)
    refused = filmgate("compare", before, after)
    assert refused.returncode == 2
    assert "error: the two are not alike: command" in refused.stderr
    assert "--changed command" in refused.stderr


def test_more_starts_can_be_added_and_only_to_the_same(tmp_path: Path) -> None:
    nothing = (sys.executable, "-S", "-c", "pass")
    plan = Plan(command=nothing, starts=2, warm_up=0, probe=False)
    first = run_baseline(plan, Talk(quiet=True))
    write_baseline(tmp_path / "a.json", first)
    both = run_baseline(plan, Talk(quiet=True), more=tmp_path / "a.json")
    assert both.starts[:2] == first.starts
    assert both.summary.num_starts == 4
    other = replace(plan, command=(*nothing, "more"))
    with pytest.raises(UserError, match="the two are not alike: command: "):
        run_baseline(other, Talk(quiet=True), more=tmp_path / "a.json")
    with pytest.raises(UserError, match="more than threads differs: command: "):
        run_baseline(other, Talk(quiet=True), against=first, changed="threads")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_jobs_run_in_fresh_processes_and_compute_the_same() -> None:
    sampling = Plan(settings=TINY, starts=2, rounds=1, probe=False)
    training = Plan(
        job="train", settings={"steps": 1, "threads": 1}, starts=2, rounds=1, probe=False
    )
    for plan in (sampling, training):
        measured = run_baseline(plan, Talk(quiet=True))
        assert len({start.answer.result for start in measured.starts}) == 1
        assert measured.summary.num_warm_up == 2
        found = compare_baselines(measured, measured)
        assert found.same_result
        assert "no difference larger than" in found.verdict
    assert str(measured.workload.clips).startswith("blake3:")


def test_a_size_that_the_transformer_cannot_make_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "a.json")
    run = ["baseline", "run", "--no-probe", "--out", out]
    assert run_command_line([*run, "--width", "50"]) == 2
    assert "multiples of 16" in capsys.readouterr().err
    assert run_command_line([*run, "--command", "'open"]) == 2
    assert "--command: No closing quotation" in capsys.readouterr().err
