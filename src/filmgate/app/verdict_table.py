"""The end of `filmgate run` on the terminal: a dozen lines that say how it went."""

from __future__ import annotations

from pathlib import Path

from rich.table import Table
from rich.text import Text

from filmgate.app.output import path_from_here
from filmgate.app.run_summary import RunSummary, describe_copies, describe_score
from filmgate.diagnose import Verdict
from filmgate.units import counted, format_number, format_rate, format_seconds, format_share

FATES = {"substitute": "replaced by rule", "skip": "left out", "raise": "raised"}
"""What became of clips that failed, by ``data.on_error``."""


def verdict_table(summary: RunSummary, verdict: Verdict, report: Path | None) -> Table:
    """Two columns, no markup: what users named stays as they named it."""
    table = Table(show_header=False, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, said in _rows(summary, verdict, report):
        table.add_row(name, Text(said, style="bold" if name == "verdict" else ""))
    return table


def _task(summary: RunSummary) -> str:
    if summary.target == "source":
        return f"tell which of {summary.num_videos} videos a clip comes from"
    return f"tell which of {len(summary.labels)} labels a clip has"


def _rows(summary: RunSummary, verdict: Verdict, report: Path | None) -> list[tuple[str, str]]:
    left_out = len(summary.left_out)
    videos = str(summary.num_videos) + (f" ({left_out} left out)" if left_out else "")
    loss = "unknown" if summary.final_loss is None else format_number(summary.final_loss)
    rows = [
        ("videos", videos),
        ("task", _task(summary)),
        ("device", verdict.device or summary.device),
        ("clips wanted", format_rate(verdict.rates.demand_clips_per_second, "clips")),
        ("clips delivered", format_rate(verdict.rates.delivered_clips_per_second, "clips")),
        ("AU", format_share(verdict.accelerator_utilisation)),
        ("loss", f"{loss} after {counted(summary.steps, 'step')}"),
        ("held-out score", describe_score(summary)),
    ]
    if summary.held_out is not None:
        rows.append(("held out", summary.held_out))
    if summary.copies is not None:
        rows.insert(1, ("trained from", describe_copies(summary.copies)))
    if summary.num_padded:
        rows.append(("padded clips", f"{summary.num_padded}, longer than their video"))
    if summary.num_skipped:
        rows.append(("failed clips", f"{summary.num_skipped}, {FATES[summary.job.data.on_error]}"))
    if summary.seconds is not None:
        attempts = f", {counted(summary.attempts, 'attempt')}" if summary.attempts > 1 else ""
        rows.append(("time", format_seconds(summary.seconds) + attempts))
    rows += [("verdict", verdict.sentence), ("change first", verdict.change_first)]
    if report is not None:
        rows.append(("report", path_from_here(report)))
    return rows
