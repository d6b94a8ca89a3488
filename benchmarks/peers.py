"""filmgate beside torchcodec, decord2, PyAV, OpenCV and SPDL: same clips, same machine, in turns.

    python -m benchmarks.peers [--quick] [--rounds N] [--only ROW ...] [--python PYTHON]

Every reader has a process of its own, warmed up, that stands still while others are measured.
Readers take turns, at least three rounds; the report has medians, the spread, every sample, the
frames that came out wrong and what else the machine did. One thread is measured in processor time,
workers by the clock. ``make peers`` makes .venv-peers with the other readers; without it they are
"not installed". All of it takes about an hour on two cores, with ``--quick`` ten minutes.

For other measurements: ``judge(rows)`` gives the promised lines, ``measure(names, size)`` the rows.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec

from benchmarks.machine import ROOT, this_machine, this_software
from benchmarks.peer_readers.compare import Check
from benchmarks.peer_readers.lines import LINES, Line, judge
from benchmarks.peer_readers.progress import Progress
from benchmarks.peer_readers.report import say_line, write_reports
from benchmarks.peer_readers.result import Judged, PeersReport, RowResult, row_result
from benchmarks.peer_readers.rounds import Place, check_frames, prepare, processes, run_round
from benchmarks.peer_readers.rows import FULL, QUICK, ROWS, Row, Size
from filmgate.errors import UserError
from filmgate.records import Header

__all__ = ["FULL", "LINES", "QUICK", "Judged", "Line", "RowResult", "judge", "measure", "say_line"]

PEERS_PYTHON = ROOT / ".venv-peers" / "bin" / "python"


def main(arguments: Sequence[str]) -> int:
    """Exit code 0: measured, whoever is faster; 1: a line has no figure; 2: bad arguments."""
    options = _options(arguments)
    size = QUICK if options.quick else FULL
    if options.rounds:
        size = replace(size, rounds=options.rounds)
    try:
        report, paths = _run(options.only, size, options.python or peers_python())
    except UserError as error:
        print(f"error: {error}\nhint: {error.hint}", file=sys.stderr)
        return 2
    measured = {row.name for row in report.rows}
    lines = [line for line in report.lines if line.row in measured]
    for line in lines:
        print(say_line(line), file=sys.stderr)
    figures = {line.name: line.figure for line in lines}
    holds = {line.name: line.holds for line in lines}
    print(msgspec.json.encode({"reports": paths, "figures": figures, "holds": holds}).decode())
    return 1 if None in figures.values() else 0


def measure(
    names: Sequence[str] = (), size: Size = QUICK, python: str | None = None
) -> list[RowResult]:
    """Measure the rows of these names, or all that are judged, and leave the reports.

    ``judge`` says what they come to. ``python`` is a Python that has the other readers; None: that
    of ``make peers``, where it is. A row that breaks off is there with the reason and no figures.
    """
    report, _ = _run(names, size, python or peers_python())
    return report.rows


def peers_python() -> str:
    """The Python that has the other readers, or this one."""
    if PEERS_PYTHON.exists():
        return str(PEERS_PYTHON)
    print("note: no .venv-peers (make peers), so the others are missing", file=sys.stderr)
    return sys.executable


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers")
    parser.add_argument("--quick", action="store_true", help="small samples, judged rows only")
    parser.add_argument("--rounds", type=int, help="samples of each reader; 3 quick, 5 full")
    parser.add_argument("--only", nargs="*", default=[], metavar="ROW", help="rows; none: all")
    parser.add_argument("--python", help="Python that has the other readers; none: .venv-peers")
    return parser.parse_args(arguments)


def _run(names: Sequence[str], size: Size, python: str) -> tuple[PeersReport, list[str]]:
    """The report, and its paths from the root of the checkout."""
    rows = [
        row for row in ROWS if (row.name in names if names else size.has_extras or not row.is_extra)
    ]
    unknown = sorted(set(names) - {row.name for row in rows})
    if unknown:
        known = ", ".join(row.name for row in ROWS)
        raise UserError(f"no row {', '.join(unknown)}", hint=f"one of {known}")
    if shutil.which(python) is None:
        raise UserError(f"no Python {python}", hint="make peers makes .venv-peers, or name another")
    header = Header(schema="filmgate.benchmark.peers", schema_version=2)
    began, place, progress = time.monotonic(), prepare(python), Progress(rows, size)
    results: list[RowResult] = []
    for row in rows:
        results.append(_measure(place, row, size, progress))
        report = _report(header, results, place, size, time.monotonic() - began)
        paths = write_reports(report)  # what is measured stays, whatever comes next
    return report, [str(path.relative_to(ROOT)) for path in paths]


def _measure(place: Place, row: Row, size: Size, progress: Progress) -> RowResult:
    load, turns = os.getloadavg()[0], []
    progress.begin(row)
    with processes(place, (*row.ours, *row.others_of(size))) as readers:
        for number in range(size.rounds):
            turns.append(run_round(row, size, number, readers, _teller(progress, number)))
            progress.end_round(row, number)
        progress.say("frames")
        check_frames(place, row, size, readers)
    result = row_result(row, size, turns, place.checks, (load, os.getloadavg()[0]))
    progress.end(row, result)
    return result


def _teller(progress: Progress, number: int) -> Callable[[str], None]:
    return lambda label: progress.say(f"round {number + 1}: {label}")


def _report(
    header: Header, results: list[RowResult], place: Place, size: Size, seconds: float
) -> PeersReport:
    frames: dict[str, dict[str, Check | str]] = {}
    for (layout, reader), found in place.checks.items():
        frames.setdefault(layout, {})[reader] = found
    return PeersReport(
        header=header,
        machine=this_machine(),
        software=this_software(),
        size=size.name,
        rounds=size.rounds,
        seconds=seconds,
        lines=judge(results),
        rows=results,
        frames=frames,
    )


if __name__ == "__main__":
    # The processes that stand still have to be ended, whatever ends this one.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sys.exit(main(sys.argv[1:]))
