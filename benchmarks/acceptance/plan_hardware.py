"""Plans as a whole: the command, its page, its laws, its rules of thumb and its errors."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.acceptance.check import Outcome, all_hold, check
from benchmarks.acceptance.place import ROOT, Place

TOPIC = "Plan"
COMMAND_SECONDS = 0.3
FIVE_LINES = '[plan]\nmodel = "wan2.1-14b"\n[deliverable]\nmode = "lora"\nseconds = 5\n'
RULES = (
    "margin", "fine-tuning-three-times", "clip-against-image", "tiers", "utilisation",
    "cores-per-gpu", "ram-per-vram", "frame-buffer", "image-sequences", "nvme-drives",
    "link-rates", "pcie-only", "nvlink-from-four", "network",
)  # fmt: skip
"""Of the mission's P1 to P5 and of the head of the facts about sizing."""
LAWS = ("tests/plan/memory/test_laws.py", "tests/plan/test_step_time.py", "tests/plan/test_cost.py",
        "tests/plan/test_hardware.py")  # fmt: skip
WRONG: dict[str, tuple[str, tuple[str, ...], str]] = {
    "a frame count that the VAE cannot take":
        (FIVE_LINES.replace("seconds = 5", "frames = 80"), (), r"4 k \+ 1"),
    "a size that no patch divides":
        (FIVE_LINES + "height = 481\nwidth = 832\n", (), "multiples of 16"),
    "a model that there is not":
        (FIVE_LINES.replace("wan2.1-14b", "wan9"), (), "wan2.1-14b"),
    "a card that there is not": (FIVE_LINES, ("--card", "RTX 9999"), "RTX"),
    "negative hours": (FIVE_LINES, ("--hours-per-month", "-1"), "hours"),
    "a negative price": (FIVE_LINES, ("--prices", "prices.csv"), "-5"),
}  # fmt: skip
PRICES = "thing,figure,low,high,unit,source,date\nelectricity,tariff,-5,-5,USD/kWh,me,2026-11-30\n"


@check(
    name="plan-time",
    topic=TOPIC,
    line="A whole plan by formulas, from the command line.",
    bar="0.3 s of CPU more than `filmgate --version`, without torch",
)
def plan_time(place: Place) -> Outcome:
    job = _job(place, FIVE_LINES)
    empty, plan = [], []
    for _ in range(3):
        empty.append(_cpu_seconds(place, "--version"))
        plan.append(_cpu_seconds(place, "plan", str(job), "--json"))
    more = min(plan) - min(empty)
    loaded = _python("-X", "importtime", "-m", "filmgate", "plan", str(job), "--json")
    torch = re.search(r"\|\s+torch$", loaded.stderr, re.MULTILINE) is not None
    return Outcome(
        figure=f"{more:.2f} s more than {min(empty):.2f} s{', with torch' if torch else ''}",
        holds=more < COMMAND_SECONDS and not torch,
    )


@check(
    name="plan-laws",
    topic=TOPIC,
    line="More frames, pixels or clips never need less; checkpoints never more; adding cards never "
    "lengthens a step; twice the price is twice the capital; less is fed by what feeds more.",
    bar="all property tests",
)
def plan_laws(place: Place) -> Outcome:
    done = _python("-m", "pytest", "-q", "-p", "no:cacheprovider", *LAWS)
    words = (done.stdout.strip().splitlines() or ["no output"])[-1]
    return Outcome(figure=words, holds=done.returncode == 0)


@check(
    name="plan-page",
    topic=TOPIC,
    line="A job of five lines gives a record with a verdict a card, and a page with its plots.",
    bar="every card, four plots, nothing loaded from outside",
)
def plan_page(place: Place) -> Outcome:
    told, page = _plan(place, FIVE_LINES), place.folder / "plan.html"
    place.run("plan", _job(place, FIVE_LINES), "--page", page)
    text = page.read_text()
    misses = [
        f"{card['card']}: no verdict" for card in told["cards"] if card.get("verdict") is None
    ]
    misses += [key for key in ("allocated_bytes", "reserved_low_bytes", "reserved_high_bytes")
               if not told["estimate"].get(key)]  # fmt: skip
    plots = text.count("<svg")
    outside = re.findall(r"(?:src|href)=[\"']?https?:", text)
    return Outcome(
        figure=f"{len(told['cards'])} cards, {plots} plots, {len(outside)} loaded from outside",
        holds=not misses and plots >= 4 and not outside,
        details=tuple(misses),
    )


@check(
    name="plan-rules",
    topic=TOPIC,
    line="Each rule of thumb stands in the report beside what it comes to for this job.",
    bar="every rule with its figure",
)
def plan_rules(place: Place) -> Outcome:
    told = {rule["name"]: rule for rule in _plan(place, FIVE_LINES)["rules"]}
    misses = [name for name in RULES if not told.get(name, {}).get("here")]
    found = all_hold(misses, of=len(RULES), what="rules")
    lines = tuple(f"{rule['rule']}: {rule['here']}" for rule in told.values())
    return Outcome(figure=found.figure, holds=found.holds, details=lines)


@check(
    name="plan-errors",
    topic=TOPIC,
    line="What cannot be is an error that names what is allowed.",
    bar="every case, without a traceback",
)
def plan_errors(place: Place) -> Outcome:
    misses = []
    for name, (text, options, words) in WRONG.items():
        job = _job(place, text)
        (place.folder / "prices.csv").write_text(PRICES)
        done = place.run("plan", job, *options)
        said = " ".join(done.stderr.split())
        if done.returncode == 0 or "Traceback" in said or not re.search(words, said):
            misses.append(f"{name}: {said[:200]}")
    return all_hold(misses, of=len(WRONG), what="cases")


def _plan(place: Place, text: str) -> dict[str, Any]:
    return place.record("plan", _job(place, text))


def _job(place: Place, text: str) -> Path:
    return place.write_job("plan.toml", text)


def _cpu_seconds(place: Place, *words: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = place.run(*words)
    assert done.returncode == 0, done.stderr
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _python(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=False, timeout=900, cwd=ROOT
    )
