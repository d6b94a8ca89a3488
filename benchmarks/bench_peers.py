"""filmgate beside torchcodec, decord2, PyAV, OpenCV and SPDL: same clips, same machine, in turns.

    python -m benchmarks.bench_peers [--rounds N] [--clips N] [--only ROW ...] [--python PYTHON]

Each sample is a fresh process that reads one warm-up clip (8 where there are workers) and then the
timed ones: processor time of one thread, or wall time with workers. Readers take turns, at least
three rounds; the report has medians, the spread, every sample, and the frames that came out wrong.
`make peers` makes .venv-peers with the other readers; without it they are "not installed".
"""

from __future__ import annotations

import argparse
import sys

import msgspec

from benchmarks.footage import LAYOUTS
from benchmarks.machine import ROOT, this_machine, this_software
from benchmarks.peers.compare import Check
from benchmarks.peers.report import write_reports
from benchmarks.peers.result import PeersReport, RowResult, row_result
from benchmarks.peers.rounds import Place, check_frames, prepare, run_round
from benchmarks.peers.rows import EVERYBODY, ROWS, Row
from filmgate.records import Header

PEERS_PYTHON = ROOT / ".venv-peers" / "bin" / "python"


def main(arguments: list[str]) -> int:
    """Exit code 0: measured, whoever is faster; 2: no such row."""
    options = _options(arguments)
    unknown = sorted(set(options.only) - {row.name for row in ROWS})
    if unknown:
        names = ", ".join(row.name for row in ROWS)
        print(f"error: no row {', '.join(unknown)}\nhint: one of {names}", file=sys.stderr)
        return 2
    rows = [row for row in ROWS if not options.only or row.name in options.only]
    place = prepare(options.python)
    results: list[RowResult] = []
    for row in rows:
        results.append(_measure(place, row, options.rounds, options.clips))
        _write(results, {}, options.rounds)  # what is measured stays, whatever comes next
    checked = [layout for layout in LAYOUTS if any(row.layout == layout for row in rows)]
    frames: dict[str, dict[str, Check | str]] = {
        layout: check_frames(place, layout, list(EVERYBODY)) for layout in checked
    }
    paths = _write(results, frames, options.rounds)
    ratios = {row.name: row.ratio for row in results}
    holds = {row.name: row.holds for row in results}
    print(msgspec.json.encode({"reports": paths, "ratios": ratios, "holds": holds}).decode())
    return 0


def _write(
    results: list[RowResult], frames: dict[str, dict[str, Check | str]], rounds: int
) -> list[str]:
    """Write the reports anew; their paths from the root of the checkout."""
    report = PeersReport(
        header=Header(schema="filmgate.benchmark.peers", schema_version=1),
        machine=this_machine(),
        software=this_software(),
        rounds=rounds,
        rows=results,
        frames=frames,
    )
    return [str(path.relative_to(ROOT)) for path in write_reports(report)]


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_peers")
    parser.add_argument("--rounds", type=int, default=3, help="samples of each reader")
    parser.add_argument("--clips", type=int, default=10, help="source clips of a sample")
    parser.add_argument("--only", nargs="*", default=[], metavar="ROW", help="rows; none: all")
    parser.add_argument("--python", help="Python that has the other readers", default=_python())
    return parser.parse_args(arguments)


def _python() -> str:
    if PEERS_PYTHON.exists():
        return str(PEERS_PYTHON)
    print("note: no .venv-peers (make peers), so the others are missing", file=sys.stderr)
    return sys.executable


def _measure(place: Place, row: Row, rounds: int, clips: int) -> RowResult:
    print(f"{row.name}: {row.says}", file=sys.stderr, flush=True)
    turns = []
    for number in range(rounds):
        turns.append(run_round(place, row, clips))
        result = row_result(row, turns, clips)
        said = "nothing to compare with"
        if result.ratio is not None:
            said = f"{result.ratio:.2f} times {result.fastest}"
        print(f"  round {number + 1}: {said}", file=sys.stderr, flush=True)
    for one in (result.ours, *result.others):
        value = f"{one.median:.3g}" if one.median is not None else one.why_not
        print(f"    {value}  {one.reader}", file=sys.stderr, flush=True)
    return result


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
