"""A short soak, slowed down half way by a known share, and ended by Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from benchmarks.acceptance.check import Outcome, all_hold, check
from benchmarks.acceptance.place import CommandFailed, Place

TOPIC = "Soak"
HOLD_SECONDS, SLOW_SECONDS = 36.0, 36.0
PERIOD_SECONDS, STOPPED_SHARE = 0.5, 0.8
LEAST_FALL = 0.4
"""Of the 80 % that are taken away, what has to be told, on a machine that others load too."""
DEADLINE_SECONDS = 300.0


@check(
    name="soak-short",
    topic=TOPIC,
    line="A soak whose load is held back for 80 % of the time from its middle on says that "
    "throughput fell and by how much; it can be read while it grows; Ctrl-C ends it with a whole "
    "result, and no process stays.",
    bar=f"a fall of {LEAST_FALL:.0%} or more, its interval without 0; every other part holds",
)
def soak_short(place: Place) -> Outcome:
    out = place.folder / "soak.jsonl"
    process = subprocess.Popen(
        [str(place.filmgate), "soak", "--out", out.name, "--minutes", "30", "--every", "0.5",
         "--load", "products", "--device", "cpu", "--threads", "1", "--json"],
        cwd=place.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        _await_start(process, out)
        time.sleep(HOLD_SECONDS)
        growing = place.record("soak", "--read", out.name)
        (load,) = _load_of(process)
        _hold_back(load, SLOW_SECONDS)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=DEADLINE_SECONDS)
    finally:
        process.kill()
    if process.returncode != 130:
        raise CommandFailed(f"exit code {process.returncode}: {stderr}")
    return _judged(json.loads(stdout), growing, load)


def _judged(soak: dict[str, Any], growing: dict[str, Any], load: int) -> Outcome:
    throughput = soak["curves"][0]
    misses = []
    if soak["is_sustained"] is not False or not throughput["change"] <= -LEAST_FALL:
        misses.append(f"the fall: {soak['verdict']}")
    if growing["ended"] is not None or not growing["num_samples"] > 4:
        misses.append(f"read while it grew: {growing['ended']}, {growing['num_samples']} samples")
    if soak["ended"] != "stopped by a signal" or soak["seconds"] < HOLD_SECONDS:
        misses.append(f"Ctrl-C: {soak['ended']} after {soak['seconds']:.0f} s")
    if Path(f"/proc/{load}").exists():
        misses.append("the load goes on")
    if any(count["added"] for count in soak["counts"]):
        misses.append(f"errors: {soak['counts']}")
    outcome = all_hold(misses, of=5, what="parts")
    return Outcome(
        figure=f"{outcome.figure}; {throughput['says']}",
        holds=outcome.holds,
        details=(*outcome.details, *soak["warnings"], f"unknown here: {len(soak['unknown'])}"),
    )


def _await_start(process: subprocess.Popen[str], out: Path) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not out.exists() or b'"kind":"sample"' not in out.read_bytes():
        if process.poll() is not None or time.monotonic() > deadline:
            raise CommandFailed(f"no sample: {process.poll()}")
        time.sleep(0.1)


def _load_of(process: subprocess.Popen[str]) -> list[int]:
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [
        int(pid) for pid in children if b"soak_process" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]


def _hold_back(load: int, seconds: float) -> None:
    """Stop and continue it, over and over."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        os.kill(load, signal.SIGSTOP)
        time.sleep(PERIOD_SECONDS * STOPPED_SHARE)
        os.kill(load, signal.SIGCONT)
        time.sleep(PERIOD_SECONDS * (1 - STOPPED_SHARE))
