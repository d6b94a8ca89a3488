"""What commands print for a person on stdout: the end of a run, a verdict, a catalog."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from filmgate.app.output import path_from_here, print_text
from filmgate.app.run_summary import RunSummary
from filmgate.app.verdict_table import verdict_table
from filmgate.catalog import CatalogSummary
from filmgate.diagnose import Verdict
from filmgate.diagnose.sentence import format_gain
from filmgate.units import (
    counted,
    format_bytes,
    format_number,
    format_rate,
    format_seconds,
    format_share,
)

if TYPE_CHECKING:
    from filmgate.feed.bench import FeedBench

PIPE_WIDTH = 120
"""Columns where stdout is no terminal."""


def show_run(summary: RunSummary, verdict: Verdict, report: Path) -> None:
    """The table that ends ``filmgate run``."""
    print_table(verdict_table(summary, verdict, report))


def show_verdict(verdict: Verdict) -> None:
    """The verdict with its evidence and remedies."""
    rates = verdict.rates
    rows = [
        ("verdict", verdict.sentence),
        ("confidence", verdict.confidence),
        ("AU", format_share(verdict.accelerator_utilisation)),
        ("clips wanted", format_rate(rates.demand_clips_per_second, "clips")),
        ("clips delivered", format_rate(rates.delivered_clips_per_second, "clips")),
        ("clips the feed can give", format_rate(rates.supply_clips_per_second, "clips")),
    ]
    rows += [
        ("step" if place == 0 else "", f"{format_share(part.share)} {part.name}")
        for place, part in enumerate(verdict.budget)
        if part.count
    ]
    rows += [("evidence", evidence.says) for evidence in verdict.evidence]
    rows += [
        (f"change {place}", f"{remedy.action} ({format_gain(remedy)})")
        for place, remedy in enumerate(verdict.remedies, start=1)
    ]
    if verdict.what_would_tell:
        rows.append(("what would tell", verdict.what_would_tell))
    print_rows(rows)


def show_catalog(summary: CatalogSummary) -> None:
    """A catalog at a glance, then what in it costs time or trouble."""
    print_rows(
        [
            ("catalog", path_from_here(summary.path)),
            ("videos", f"{summary.num_videos} ({_left_out(summary.num_left_out)})"),
            ("length", f"{format_seconds(summary.hours * 3600)}, {summary.num_frames} frames"),
            ("size", format_bytes(summary.size_bytes)),
            ("codecs", _counts(summary.codecs)),
            ("frame sizes", _counts(summary.sizes)),
            ("labels", _counts(summary.labels) or "none"),
            *((f"left out: {count}", why) for why, count in summary.left_out_reasons.items()),
            *(
                (
                    f"warning: {one.num_videos}",
                    f"{one.kind}: {one.sentence}; {one.advice} (e.g. {', '.join(one.examples)})",
                )
                for one in summary.warnings
            ),
        ]
    )


def _left_out(number: int) -> str:
    return f"{counted(number, 'file')} left out"


def show_feed_bench(bench: FeedBench) -> None:
    """Supply against demand, then what a clip costs and where."""
    unknown = [(name, f"unknown: {why}") for name, why in bench.unknown.items()]
    known = [
        ("supply", _rates(bench)),
        ("demand", f"{format_rate(bench.demand_clips_per_second, 'clips')}, {bench.demand_from}"),
        ("headroom", _figure(bench.headroom, "times the demand")),
        ("AU", _utilisation(bench)),
        ("clips per CPU second", _figure(bench.clips_per_cpu_second, "")),
        ("CPU per 1000 frames", _figure(bench.cpu_seconds_per_1000_frames, "s")),
        ("frames decoded", _figure(bench.frames_decoded_per_frame_delivered, "per delivered one")),
        ("peak memory", _bytes(bench.peak_rss_bytes)),
    ]
    stages = [
        (
            "a clip" if place == 0 else "",
            f"{format_share(cost.share)} {name}, {format_seconds(cost.seconds_per_clip)}",
        )
        for place, (name, cost) in enumerate(bench.stages.items())
    ]
    skipped = (
        [("skipped", f"{counted(bench.skipped, 'attempt')} at a clip failed")]
        if bench.skipped
        else []
    )
    print_rows([*known, *stages, *skipped, *unknown])


def _rates(bench: FeedBench) -> str:
    frames = format_rate(bench.supply_frames_per_second, "frames")
    pixels = f"{format_bytes(bench.supply_bytes_per_second)}/s of pixels"
    clips = format_rate(bench.supply_clips_per_second, "clips")
    lowest, highest = bench.supply_spread.lowest, bench.supply_spread.highest
    spread = f"parts of it {format_number(lowest)} to {format_number(highest)}"
    return f"{clips} ({spread}), {frames}, {pixels}; {bench.workers} workers, {bench.seconds:.1f} s"


def _utilisation(bench: FeedBench) -> str:
    if bench.au_spread is None or bench.au_seconds is None:
        return format_share(bench.au)
    spread = bench.au_spread
    parts = f"parts of it {format_share(spread.lowest)} to {format_share(spread.highest)}"
    return f"{format_share(bench.au)} ({parts}); {bench.au_seconds:.1f} s"


def _figure(value: float | None, unit: str) -> str:
    return "unknown" if value is None else f"{format_number(value)} {unit}".rstrip()


def _bytes(count: int | None) -> str:
    return "unknown" if count is None else format_bytes(count)


def _counts(counts: dict[str, int], most: int = 12) -> str:
    shown = [f"{name} {count}" for name, count in list(counts.items())[:most]]
    more = [f"and {len(counts) - most} more"] if len(counts) > most else []
    return ", ".join(shown + more)


def print_rows(rows: list[tuple[str, str]]) -> None:
    """Names and what is said of them, a line each."""
    table = Table(show_header=False, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, said in rows:
        table.add_row(name, Text(said))
    print_table(table)


def print_table(table: Table) -> None:
    """A table on stdout, as wide as the terminal."""
    shown = io.StringIO()
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    console = Console(file=shown, force_terminal=is_terminal, highlight=False, emoji=False)
    if not is_terminal:
        console.width = PIPE_WIDTH
    console.print(table)
    print_text(shown.getvalue())
