"""The report of an acceptance run: one JSON file per kind of machine and day."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from benchmarks.acceptance.check import Check, Outcome
from benchmarks.machine import Machine, Software, kind_of, this_machine, this_software
from filmgate.records import Header, Record, read_record, write_record

FOLDER = Path(__file__).resolve().parents[1] / "reports"


class Result(Record, frozen=True):
    """One check's outcome."""

    name: str
    """Of the check."""
    topic: str
    """What it belongs to."""
    line: str
    """The promise."""
    bar: str
    """What has to be reached."""
    figure: str
    """What was measured, with its unit."""
    holds: bool | None
    """None where it could not be measured; the figure says why."""
    details: list[str]
    """Spread, caveats, everything that missed the bar."""
    seconds: float
    """How long the check took."""
    measured_at: str
    """UTC, ISO 8601."""


class Report(Record, frozen=True):
    """All outcomes on one kind of machine on one day, the newest of each check."""

    header: Header
    machine: Machine
    """Where."""
    software: Software
    """With what; that of the last check, where several runs were put together."""
    results: list[Result]
    """In the order of their first measurement."""


def result_of(check: Check, outcome: Outcome, seconds: float) -> Result:
    """A check and what it found, as one row of the report."""
    return Result(
        name=check.name,
        topic=check.topic,
        line=check.line,
        bar=check.bar,
        figure=outcome.figure,
        holds=outcome.holds,
        details=list(outcome.details),
        seconds=round(seconds, 1),
        measured_at=datetime.now(UTC).isoformat("T", "seconds"),
    )


def write_report(results: list[Result], folder: Path = FOLDER) -> Path:
    """Write today's report, or put the results into it where there is one already."""
    machine = this_machine()
    today = datetime.now(UTC).date().isoformat()
    path = folder / f"acceptance_{kind_of(machine)}_{today}.json"
    earlier = read_record(path, Report).results if path.exists() else []
    newest = {result.name: result for result in [*earlier, *results]}
    header = Header(schema="filmgate.acceptance", schema_version=1)
    folder.mkdir(parents=True, exist_ok=True)
    write_record(
        path,
        Report(
            header=header,
            machine=machine,
            software=this_software(),
            results=list(newest.values()),
        ),
    )
    return path
