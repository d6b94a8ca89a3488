"""Measure every acceptance line, or those named.

    python -m benchmarks.acceptance [--list] [NAME ...]

Prints figure, bar and whether it holds for each line; the last line of stdout is JSON. Exit code
0: everything measured holds; 1: something does not; 2: no such check.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.acceptance import (
    bad_input,
    baseline,
    bench_compute,
    bug_reports,
    command_line,
    environment,
    feed_frames,
    feed_scale,
    feed_speed,
    frames,
    pack,
    plan,
    plan_hardware,
    road,
    soak,
)
from benchmarks.acceptance.bench import BENCH_CHECKS
from benchmarks.acceptance.check import Check, Outcome, checks_of
from benchmarks.acceptance.feed_requirements import REQUIREMENT_CHECKS
from benchmarks.acceptance.machine import MACHINE_CHECKS
from benchmarks.acceptance.pack import PACK_CHECKS
from benchmarks.acceptance.place import ROOT, Place
from benchmarks.acceptance.prepare import PREPARE_CHECKS
from benchmarks.acceptance.report import Result, result_of, write_report
from benchmarks.acceptance.stage import STAGE_CHECKS
from benchmarks.acceptance.train import TRAIN_CHECKS
from benchmarks.acceptance.train_models import TRAIN_MODEL_CHECKS
from benchmarks.acceptance.work import WORK_CHECKS

CHECKS = [
    *checks_of([command_line, bad_input, frames, road]),
    *checks_of([feed_speed, feed_scale, feed_frames]),
    *REQUIREMENT_CHECKS,
    *PREPARE_CHECKS,
    *STAGE_CHECKS,
    *PACK_CHECKS,
    *WORK_CHECKS,
    *TRAIN_MODEL_CHECKS,
    *TRAIN_CHECKS,
    *checks_of([pack]),
    *MACHINE_CHECKS,
    *checks_of([environment, baseline, soak, bench_compute]),
    *checks_of([plan, plan_hardware]),
    *BENCH_CHECKS,
    *checks_of([bug_reports]),
]
WORDS = {True: "holds", False: "MISSES", None: "not measured"}


def main(arguments: Sequence[str]) -> int:
    """Exit code as above."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.acceptance")
    parser.add_argument("names", nargs="*", metavar="NAME", help="checks; none: all")
    parser.add_argument("--list", action="store_true", help="list the checks and stop")
    options = parser.parse_args(arguments)
    if options.list:
        for check in CHECKS:
            print(f"{check.name:24} {check.line}")
        return 0
    unknown = sorted(set(options.names) - {check.name for check in CHECKS})
    if unknown:
        names = ", ".join(check.name for check in CHECKS)
        print(f"error: no check {', '.join(unknown)}\nhint: one of {names}", file=sys.stderr)
        return 2
    chosen = [check for check in CHECKS if not options.names or check.name in options.names]
    results = [measure(check) for check in chosen]
    report = write_report(results)
    counts = {word: sum(WORDS[r.holds] == word for r in results) for word in WORDS.values()}
    print(json.dumps({"report": str(report.relative_to(ROOT)), **counts}))
    return 1 if counts[WORDS[False]] else 0


def measure(check: Check) -> Result:
    """Run one check in a folder of its own, and show what it found."""
    corpus = ROOT.parent / "shared" / "videos"
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="filmgate-acceptance-") as folder:
        place = Place(folder=Path(folder), corpus=corpus if corpus.is_dir() else None)
        result = result_of(check, _outcome(check, place), time.monotonic() - began)
    print(f"{WORDS[result.holds]:12} {check.name}: {result.figure} (bar: {check.bar})", flush=True)
    print(f"{'':12} {check.line}", flush=True)
    for detail in result.details:
        print(f"{'':14} {detail}", flush=True)
    return result


def _outcome(check: Check, place: Place) -> Outcome:
    """What the check found; one that breaks off does not hold, and says where."""
    try:
        return check.measure(place)
    except Exception as error:  # noqa: BLE001 - reported as a miss, never passed over
        return Outcome(figure=f"broke off: {type(error).__name__}: {error}", holds=False)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
