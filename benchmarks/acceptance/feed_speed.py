"""The feed beside other readers, and how much of the time it lets a trainer compute."""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.acceptance.check import Outcome, check, not_measured
from benchmarks.acceptance.place import Place
from benchmarks.peers import PEERS_PYTHON, QUICK, judge, measure, say_line
from filmgate.work.cores import num_usable_cores

TOPIC = "Speed of the feed"
PEERS_VARIABLE = "FILMGATE_PEERS_PYTHON"
"""Names another Python that has the other readers."""
AU_SECONDS = 60
AU_LOAD = 0.85
AU_BAR = 0.97
BATCH = 4


def peers_python() -> Path:
    """The Python that has the other readers, whether it is there or not."""
    return Path(os.environ.get(PEERS_VARIABLE, PEERS_PYTHON))


@check(
    name="peers",
    topic=TOPIC,
    line="filmgate beside torchcodec, decord2, OpenCV, SPDL and PyAV on the same clips in the same "
    "minutes: every promised ratio.",
    bar="the bar of every row",
)
def peers(place: Place) -> Outcome:
    python = peers_python()
    if not python.exists():
        return Outcome(
            figure="not measured: make peers first",
            holds=False,
            details=(f"or name a Python that has the other readers in {PEERS_VARIABLE}",),
        )
    lines = judge(measure(size=QUICK, python=str(python)))
    num_held = sum(line.holds is True for line in lines)
    return Outcome(
        figure=f"{num_held} of {len(lines)} rows hold",
        holds=num_held == len(lines),
        details=tuple(say_line(line) for line in lines),
    )


@check(
    name="au",
    topic=TOPIC,
    line=f"A trainer that takes {AU_LOAD:.0%} of the measured supply computes nearly all of the "
    f"time, over {AU_SECONDS} s.",
    bar=f"AU >= {AU_BAR}",
)
def au_at_a_share_of_the_supply(place: Place) -> Outcome:
    if num_usable_cores() < 2:
        return not_measured("needs two cores")
    job = place.write_job(
        "job.toml",
        "[clip]\nframes = 16\nstride = 4\nheight = 128\nwidth = 128\n"
        f"[train]\nbatch_size = {BATCH}\n[limits]\nworkers = {num_usable_cores()}\n",
    )
    found = place.record(
        "feed", "bench", "--job", job, "--seconds", str(AU_SECONDS),
        "--demand-share", str(AU_LOAD),
        deadline_seconds=20 * AU_SECONDS,
    )  # fmt: skip
    return Outcome(
        figure=f"AU {found['au']:.3f} at {found['demand_clips_per_second']:.1f} clips/s",
        holds=found["au"] >= AU_BAR,
        details=(
            f"supply {found['supply_clips_per_second']:.1f} clips/s in the window of {AU_SECONDS} s"
            f" before; steps that sleep, demo clips, {num_usable_cores()} workers",
        ),
    )
