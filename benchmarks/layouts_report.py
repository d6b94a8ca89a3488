"""The report of the layouts: JSON with every sample, and a page of tables."""

from __future__ import annotations

import statistics
from pathlib import Path

import msgspec

from benchmarks.machine import ROOT, Machine, Software, kind_of
from filmgate.app.layouts_page import COLUMNS, row_of
from filmgate.prepare.copies import Prepared
from filmgate.prepare.layouts import Layouts
from filmgate.records import Header, Record, write_file
from filmgate.units import format_bytes, format_seconds

REPORTS = ROOT / "benchmarks" / "reports"
WORDS = {True: "holds", False: "MISSES", None: "not measured"}


class Reading(Record, frozen=True):
    """One reader on one set of videos."""

    label: str
    on: str
    """``source``, ``chosen`` or ``plain``."""
    rounds: list[float | None]
    """Clips per CPU-second; None where a sample failed."""
    fault: str | None
    """The first thing that went wrong."""


class Judged(Record, frozen=True, kw_only=True):
    """One promise."""

    name: str
    says: str
    figure: float | None
    """None where it could not be measured."""
    bar: float
    aim: float | None = None
    """Beyond the bar; shown, not judged."""
    at_most: bool = False
    """Whether the figure may not be above the bar; otherwise not below."""

    @property
    def holds(self) -> bool | None:
        """Whether the bar is reached."""
        if self.figure is None:
            return None
        return self.figure <= self.bar if self.at_most else self.figure >= self.bar


class LayoutsReport(Record, frozen=True):
    """All that was measured."""

    header: Header
    machine: Machine
    software: Software
    size: str
    """``quick`` or ``full``."""
    rounds: int
    """Samples of each reader."""
    seconds: float
    """How long it took."""
    load: list[float]
    """Load of the machine before and after: processes that run or want to."""
    layouts: Layouts
    """The table."""
    chosen: Prepared
    plain: Prepared
    readings: list[Reading]
    lines: list[Judged]


def say(line: Judged) -> str:
    """One line as a sentence."""
    figure = "none" if line.figure is None else f"{line.figure:.3g}"
    aim = "" if line.aim is None else f", aim {line.aim:g}"
    bound = "at most" if line.at_most else "at least"
    return (
        f"{WORDS[line.holds]:12} {line.name}: {figure} {line.says} (bar: {bound} {line.bar:g}{aim})"
    )


def write_reports(report: LayoutsReport, folder: Path = REPORTS) -> list[Path]:
    """Paths of the two files, named after machine, day and time."""
    begun = report.header.created_at[:16].replace(":", "")
    stem = folder / f"layouts_{kind_of(report.machine)}_{begun}"
    folder.mkdir(parents=True, exist_ok=True)
    data = {
        ".json": msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n",
        ".md": page(report).encode(),
    }
    for suffix, content in data.items():
        write_file(stem.with_suffix(suffix), content)
    return [stem.with_suffix(suffix) for suffix in data]


def page(report: LayoutsReport) -> str:
    """The tables as Markdown."""
    machine, layouts = report.machine, report.layouts
    lines = [
        "# Layouts of a training copy",
        "",
        f"{report.header.created_at[:10]}, {machine.cores} cores of {machine.cpu}, "
        f"{format_bytes(machine.memory_bytes)} memory, {machine.kernel}; "
        f"commit {report.software.commit}. {report.size.capitalize()} run, "
        f"{format_seconds(report.seconds)}; load {report.load[0]:.1f} to {report.load[1]:.1f}.",
        "",
        "Clips have 16 frames, stride 4, 456x256; one thread, processor time.",
        "",
        *[f"- {say(line)}" for line in report.lines],
        "",
        f"Chosen: {layouts.choice.label}: {layouts.choice.why}.",
        "",
        *_table(list(COLUMNS), [row_of(one, layouts) for one in layouts.choice.outlooks]),
        "",
        *_table(
            ["copy", "bytes over the source's", "PSNR, dB", "SSIM"],
            [
                [one.recipe.layout.label, f"{one.bytes / one.source_bytes:.2f}",
                 "exact" if one.likeness.psnr_db is None else f"{one.likeness.psnr_db:.1f}",
                 f"{one.likeness.ssim:.4f}"]
                for one in (report.chosen, report.plain)
            ],
        ),
        "",
        *_table(
            ["reader", "clips per CPU-second, median", "lowest", "highest", "fault"],
            [_reading_row(one) for one in report.readings],
        ),
        "",
    ]  # fmt: skip
    return "\n".join(lines)


def _reading_row(reading: Reading) -> list[str]:
    rates = [rate for rate in reading.rounds if rate is not None]
    if not rates:
        return [reading.label, "", "", "", reading.fault or ""]
    figures = (statistics.median(rates), min(rates), max(rates))
    return [reading.label, *[f"{figure:.3g}" for figure in figures], reading.fault or ""]


def _table(columns: list[str], rows: list[list[str]]) -> list[str]:
    marks = ["---" for _ in columns]
    return [f"| {' | '.join(cells)} |" for cells in [columns, marks, *rows]]
