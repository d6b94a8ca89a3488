"""A baseline against itself, against a known slow-down, and against what is not alike.

CPU time where the job computes, and the two sides in turns: other programs share the machine.
"""

from __future__ import annotations

import json
import math
import shlex
import sys
from pathlib import Path
from typing import Any

from benchmarks.acceptance.check import Outcome, all_hold, check
from benchmarks.acceptance.place import CommandFailed, Place

TOPIC = "Baseline"
TURNS, STARTS = 5, 2
KNOWN = 0.2
"""How much slower the second side is made."""
STEPS = 20
"""Denoising steps of a round, as the job has them by itself."""
PAUSE = (
    "import time; told = open('/proc/self/stat').read().rsplit(')', 1)[1].split(); "
    "age = time.clock_gettime(time.CLOCK_BOOTTIME) - int(told[19]) / 100; "
    "time.sleep({seconds} - age)"
)
"""Ends so many seconds after its process began, however long the interpreter took to start."""
WORK = "sum(sum(i * i for i in range(20000)) for _ in range({rounds}))"
SMALL = ("--job", "sample", "--threads", "1", "--rounds", "4")


@check(
    name="baseline-same",
    topic=TOPIC,
    line="Two baselines of the same job are told how small a difference between them can be, and "
    "a job that differs by more than that is told to differ.",
    bar="no difference larger than X, from their own spread; more work than X is found",
)
def baseline_same(place: Place) -> Outcome:
    found = _in_turns(place, SMALL, SMALL, changed=None)
    figure = found["figures"][0]
    largest = max(abs(figure["low"]), abs(figure["high"]))
    steps = math.ceil(STEPS * (1 + 2 * max(largest, figure["smallest_seen"])))
    place.run("baseline", "run", "--out", "c.json", "--starts", str(TURNS * STARTS), "--no-probe",
              *SMALL, "--steps", str(steps), deadline_seconds=900)  # fmt: skip
    other = place.record(
        "baseline", "compare", "b.json", "c.json", "--clock", "cpu", "--changed", "steps"
    )
    told = other["figures"][0]
    return Outcome(
        figure=f"{found['verdict']}; {steps} steps in place of {STEPS}: {told['says']}",
        holds=found["same_result"] is True
        and "no difference larger than" in found["verdict"]
        and told["is_different"] and told["low"] > 0,
        details=tuple(found["warnings"]),
    )  # fmt: skip


@check(
    name="baseline-slower-job",
    topic=TOPIC,
    line="A sampling job that is given 20 % more work is told so.",
    bar="the interval leaves 0 out and holds 20 %",
)
def baseline_slower_job(place: Place) -> Outcome:
    more = (*SMALL, "--steps", "24")
    return _holds_known(_in_turns(place, (*SMALL, "--steps", "20"), more, changed="steps"))


@check(
    name="baseline-slower-command",
    topic=TOPIC,
    line="A command of the user's own that computes 20 % more is told so.",
    bar="the interval leaves 0 out and holds 20 %",
)
def baseline_slower_command(place: Place) -> Outcome:
    usual, more = (
        ("--command", shlex.join([sys.executable, "-S", "-c", WORK.format(rounds=rounds)]),
         "--warm-up", "0")
        for rounds in (1000, 1200)
    )  # fmt: skip
    return _holds_known(_in_turns(place, usual, more, changed="command"))


@check(
    name="baseline-slower-wall",
    topic=TOPIC,
    line="A command that is held up for 20 % longer is told so by the clock on the wall.",
    bar="the interval leaves 0 out and holds 20 %",
)
def baseline_slower_wall(place: Place) -> Outcome:
    usual, more = (
        ("--command", shlex.join([sys.executable, "-S", "-c", PAUSE.format(seconds=seconds)]),
         "--warm-up", "0")
        for seconds in (4.0, 4.0 * (1 + KNOWN))
    )  # fmt: skip
    return _holds_known(_in_turns(place, usual, more, changed="command", clock="wall"))


@check(
    name="baseline-refuses",
    topic=TOPIC,
    line="A comparison in which another thing differs than the named one is refused by name, or "
    "marked when forced.",
    bar="every refusal names what differs",
)
def baseline_refuses(place: Place) -> Outcome:
    few = ("--threads", "1", "--rounds", "1", "--warm-up", "0", "--steps", "1", "--starts", "2",
           "--no-probe")  # fmt: skip
    cases = {
        "seed": ("--seed", "1"), "width": ("--width", "64"), "frames": ("--frames", "4"),
        "prompt": ("--prompt", "snow"),
    }  # fmt: skip
    place.record("baseline", "run", "--out", "a.json", *few)
    misses = []
    for name, options in cases.items():
        place.record("baseline", "run", "--out", f"{name}.json", *few, *options)
        done = place.run("baseline", "compare", "a.json", f"{name}.json")
        if done.returncode != 2 or f"{name}: " not in done.stderr:
            misses.append(f"{name}: exit code {done.returncode}: {done.stderr}")
    (place.folder / "package.json").write_text(_other_numpy(place.folder / "a.json"))
    done = place.run("baseline", "compare", "a.json", "package.json")
    if done.returncode != 2 or "package.numpy: " not in done.stderr:
        misses.append(f"package: exit code {done.returncode}: {done.stderr}")
    forced = place.record("baseline", "compare", "a.json", "seed.json", "--force")
    if forced["forced"] != ["seed"] or "NOT LIKE FOR LIKE" not in forced["verdict"]:
        misses.append(f"forced: {forced['forced']} {forced['verdict']}")
    return all_hold(misses, of=len(cases) + 2, what="cases")


def _in_turns(
    place: Place,
    usual: tuple[str, ...],
    other: tuple[str, ...],
    *,
    changed: str | None,
    clock: str = "cpu",
) -> dict[str, Any]:
    """Both sides a few starts at a time, one after the other, then compared."""
    for turn in range(TURNS):
        more = ("--more",) if turn else ()
        for out, options in (("a.json", usual), ("b.json", other)):
            done = place.run(
                "baseline", "run", "--out", out, "--starts", str(STARTS), "--no-probe", *more,
                *options,
                deadline_seconds=900,
            )  # fmt: skip
            if done.returncode:
                raise CommandFailed(done.stderr)
    named = ("--changed", changed) if changed else ()
    return place.record("baseline", "compare", "a.json", "b.json", "--clock", clock, *named)


def _holds_known(found: dict[str, Any]) -> Outcome:
    figure = found["figures"][0]
    return Outcome(
        figure=found["verdict"],
        holds=figure["is_different"] and figure["low"] <= KNOWN <= figure["high"],
        details=(f"smallest change that would have been seen: {figure['smallest_seen']:.1%}",
                 *found["warnings"]),
    )  # fmt: skip


def _other_numpy(path: Path) -> str:
    """The baseline as if numpy had another version."""
    record = json.loads(path.read_text())
    for package in record["environment"]["packages"]:
        if package["name"] == "numpy":
            package["version"] = "0.1"
    return json.dumps(record)
