"""``report.html``: one file that a person can open anywhere, with nothing outside it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from filmgate import __version__
from filmgate.app.glossary import GLOSSARY
from filmgate.app.page import page_environment
from filmgate.app.plots import all_plots
from filmgate.app.run_summary import (
    RunCopies,
    RunSummary,
    describe_copies,
    describe_score,
    score_interval,
)
from filmgate.app.series import read_series
from filmgate.app.svg import Plot
from filmgate.diagnose import Part, Verdict, diagnose
from filmgate.diagnose.judge import TELEMETRY
from filmgate.records import write_file
from filmgate.records.telemetry import read_telemetry
from filmgate.units import (
    counted,
    format_bytes,
    format_number,
    format_rate,
    format_seconds,
    format_share,
)

REPORT = "report.html"
"""Name of the file in a run folder."""
MAX_ROWS = 200
"""Longest list on the page; the rest is counted, and is in the catalog."""
BOUND_WORDS = {
    "data": "Data-bound",
    "compute": "Compute-bound",
    "saving": "Bound by saving",
    "transfer": "Bound by transfer",
    "cannot say": "Cannot say",
}
PART_WORDS = {
    "data_wait": "waiting for data",
    "transfer": "transfer",
    "forward": "forward",
    "backward": "backward",
    "optimizer": "optimizer",
    "other": "unaccounted",
    "save": "saving",
    "evaluation": "evaluation",
}


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One number of the overview."""

    label: str
    value: str
    note: str = ""
    """A second, smaller line."""
    term: str = ""
    """Key of its footnote."""


def write_report(run_folder: Path, summary: RunSummary, verdict: Verdict | None = None) -> Path:
    """Write ``report.html`` into the run folder, in one step, and return its path.

    Without a verdict it is made from the folder's telemetry. Raises UserError when the folder
    holds no telemetry.
    """
    verdict = verdict or diagnose(run_folder)
    series = read_series(list(read_telemetry(run_folder / TELEMETRY)))
    page = render_page(summary, verdict, all_plots(series, verdict, summary.chance))
    path = run_folder / REPORT
    write_file(path, page.encode(errors="backslashreplace"))
    return path


def render_page(summary: RunSummary, verdict: Verdict, plots: list[Plot]) -> str:
    """The page as text; everything that came from outside is escaped."""
    headline, _, sentence = verdict.sentence.partition(": ")
    return (
        page_environment()
        .get_template("report.html.jinja")
        .render(
            summary=summary,
            verdict=verdict,
            plots={plot.name: plot for plot in plots},
            figures=_figures(summary, verdict),
            headline=headline,
            sentence=sentence[:1].upper() + sentence[1:],
            bound_words=BOUND_WORDS,
            part_words=PART_WORDS,
            bar=_bar(verdict),
            class_rows=_class_rows(summary),
            settings=_settings(summary),
            facts=_facts(summary),
            glossary=GLOSSARY,
            max_rows=MAX_ROWS,
            version=__version__,
        )
    )


def _figures(summary: RunSummary, verdict: Verdict) -> list[Figure]:
    rates = verdict.rates
    left_out = len(summary.left_out)
    demand = format_rate(rates.demand_clips_per_second, "clips")
    loss = "unknown" if summary.final_loss is None else format_number(summary.final_loss)
    score = "not scored" if summary.accuracy is None else f"{100 * summary.accuracy:.0f} %"
    attempts = counted(summary.attempts, "attempt")
    return [
        Figure(label="Clips wanted", value=demand, note="by the trainer", term="wanted"),
        Figure(
            label="Clips delivered",
            value=format_rate(rates.delivered_clips_per_second, "clips"),
            note=f"feed could give {format_rate(rates.supply_clips_per_second, 'clips')}",
            term="delivered",
        ),
        Figure(
            label="AU",
            value=format_share(verdict.accelerator_utilisation),
            note="computing, of training time",
            term="au",
        ),
        Figure(
            label="Held-out score",
            value=score,
            note=describe_score(summary).partition(" % ")[2]
            if summary.accuracy is not None
            else "",
            term="score",
        ),
        Figure(label="Loss", value=loss, note=f"after {counted(summary.steps, 'step')}"),
        Figure(
            label="Videos",
            value=str(summary.num_videos),
            note=f"{left_out} left out" if left_out else "none left out",
        ),
        Figure(
            label="Time",
            value="unknown" if summary.seconds is None else format_seconds(summary.seconds),
            note=attempts,
        ),
        Figure(label="Device", value=verdict.device or summary.device, note=summary.machine or ""),
    ]


def _bar(verdict: Verdict) -> list[tuple[Part, float]]:
    """The parts of training time in the order of the plot, and their widths in percent."""
    parts = {part.name: part for part in verdict.budget}
    order = ("forward", "backward", "optimizer", "transfer", "other", "save", "data_wait")
    shown = [parts[name] for name in order if name in parts]
    return [(part, 100 * max(0.0, part.share_of_training or 0.0)) for part in shown]


def _class_rows(summary: RunSummary) -> list[tuple[str, int, int, str]]:
    """Class, held-out clips, right, share with its interval; worst first."""
    rows = []
    for score in sorted(summary.classes, key=lambda some: some.num_right / max(1, some.num_clips)):
        said = "not scored"
        if score.num_clips:
            low, high = score_interval(score.num_right, score.num_clips)
            share = 100 * score.num_right / score.num_clips
            said = f"{share:.0f} % ({100 * low:.0f} to {100 * high:.0f} %)"
        rows.append((score.name, score.num_clips, score.num_right, said))
    return rows


def _settings(summary: RunSummary) -> list[tuple[str, list[tuple[str, str]]]]:
    tables: dict[str, dict[str, Any]] = msgspec.to_builtins(summary.job)
    return [
        (table, [(key, "unset" if value is None else str(value)) for key, value in keys.items()])
        for table, keys in tables.items()
    ]


def _facts(summary: RunSummary) -> list[tuple[str, str]]:
    """The catalog in a few lines; what is unknown says so."""

    def counts(some: dict[str, int]) -> str:
        """The eight most frequent, each with its number."""
        ranked = sorted(some.items(), key=lambda item: -item[1])
        said = ", ".join(f"{name} ({count})" for name, count in ranked[:8])
        return said + (f" and {len(ranked) - 8} more" if len(ranked) > 8 else "") or "unknown"

    length = "unknown" if summary.video_seconds is None else format_seconds(summary.video_seconds)
    size = "unknown" if summary.video_bytes is None else format_bytes(summary.video_bytes)
    frames = "unknown" if summary.num_frames is None else f"{summary.num_frames:,}"
    return [
        ("videos", str(summary.num_videos)),
        ("length", length),
        ("frames", frames),
        ("size", size),
        ("codecs", counts(summary.codecs)),
        ("frame sizes", counts(summary.frame_sizes)),
        ("labels", counts(summary.labels) if summary.labels else "none"),
        *([] if summary.copies is None else _copy_facts(summary.copies)),
        *([] if summary.held_out is None else [("held out", summary.held_out)]),
        ("learnt", "the label" if summary.target == "label" else "which video a clip comes from"),
        (
            "model parameters",
            "unknown" if summary.num_parameters is None else f"{summary.num_parameters:,}",
        ),
    ]


def _copy_facts(copies: RunCopies) -> list[tuple[str, str]]:
    facts = [("trained from", describe_copies(copies))]
    if copies.layouts is not None:
        page = Path(copies.layouts).with_suffix(".html")
        facts.append(("layouts that were tried", f"{page} in the run folder"))
    return facts
