from __future__ import annotations

import sys

import psutil
import pytest

from filmgate.errors import DeadlineError, UserError
from filmgate.machine.baseline.clock import answer_of_command, time_process

BURN = "import time\nwhile time.process_time() < 0.5: pass"


def test_a_command_is_timed_with_its_children() -> None:
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BURN!r}], check=True)"
    timed = time_process([sys.executable, "-c", code], deadline_seconds=100)
    assert timed.round.cpu_seconds > 0.45
    assert timed.round.wall_seconds > 0.45
    assert timed.peak_bytes > 1_000_000
    answer = answer_of_command(timed)
    assert set(answer.unknown) == {"peak_device_bytes", "device_utilisation", "result"}


def test_a_command_that_fails_or_is_not_there_is_the_users_fault() -> None:
    with pytest.raises(UserError, match="exit code 3"):
        time_process([sys.executable, "-c", "raise SystemExit(3)"], deadline_seconds=100)
    with pytest.raises(UserError, match="cannot be started"):
        time_process(["no-such-command-here"], deadline_seconds=100)


def test_a_command_past_its_deadline_is_ended_with_its_children() -> None:
    code = (
        "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', "
        "'import time; time.sleep(987)']); time.sleep(987)"
    )
    with pytest.raises(DeadlineError, match="took longer than 3 s"):
        time_process([sys.executable, "-c", code], deadline_seconds=3)
    _, alive = psutil.wait_procs(
        [one for one in psutil.process_iter(["cmdline"])
         if "sleep(987)" in " ".join(one.info["cmdline"] or [])],
        timeout=20,
    )  # fmt: skip
    assert alive == []
