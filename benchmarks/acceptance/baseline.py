"""A baseline against itself, against a known slow-down, and against what is not alike.

CPU time, and the two sides in turns: other programs share the machine.
"""

from __future__ import annotations

import json
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
LARGEST = 0.10
"""The most that two runs of the same may leave open, on a machine that others load too."""
WORK = "sum(sum(i * i for i in range(20000)) for _ in range({rounds}))"
SMALL = ("--job", "sample", "--threads", "1", "--rounds", "4")


@check(
    name="baseline-same",
    topic=TOPIC,
    line="Two baselines of the same job are told how small a difference between them can be.",
    bar=f"no difference, or one below {LARGEST:.0%}; at most {LARGEST:.0%} left open",
)
def baseline_same(place: Place) -> Outcome:
    found = _in_turns(place, SMALL, SMALL, changed=None)
    figure = found["figures"][0]
    largest = max(abs(figure["low"]), abs(figure["high"]))
    return Outcome(
        figure=found["verdict"],
        holds=largest < LARGEST and not figure["is_different"] and found["same_result"] is True,
        details=tuple(found["warnings"]),
    )


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
    place: Place, usual: tuple[str, ...], other: tuple[str, ...], *, changed: str | None
) -> dict[str, Any]:
    """Both sides a few starts at a time, one after the other, then compared by CPU time."""
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
    return place.record("baseline", "compare", "a.json", "b.json", "--clock", "cpu", *named)


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
