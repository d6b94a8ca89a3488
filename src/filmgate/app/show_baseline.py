"""What `filmgate baseline` prints for a person."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from filmgate.app.show import print_rows
from filmgate.machine.baseline.compare import Comparison
from filmgate.machine.baseline.record import Baseline
from filmgate.units import format_bytes, format_seconds, format_share

T = TypeVar("T")


def show_baseline(baseline: Baseline, out: Path) -> None:
    """The figures and where they are kept."""
    summary, workload = baseline.summary, baseline.workload
    settings = [
        f"{name} {value}"
        for name in (
            "seed",
            "width",
            "height",
            "frames",
            "steps",
            "batch_size",
            "threads",
            "device",
        )
        if (value := getattr(workload, name)) is not None
    ]
    spread = summary.wall_iqr_seconds
    print_rows(
        [
            ("job", ", ".join([workload.job, *settings])),
            ("a round", format_seconds(summary.wall_seconds)
             + (f", {format_seconds(spread)} between quartiles" if spread is not None else "")),
            ("CPU time", format_seconds(summary.cpu_seconds)),
            ("CPU utilisation", format_share(summary.cpu_utilisation)),
            ("GPU utilisation", _known(summary.device_utilisation, format_share, summary.unknown,
                                       "device_utilisation")),
            ("peak memory", _known(summary.peak_bytes, format_bytes, summary.unknown,
                                   "peak_bytes")),
            ("peak GPU memory", _known(summary.peak_device_bytes, format_bytes, summary.unknown,
                                       "peak_device_bytes")),
            ("other programs", f"{format_share(summary.others_cpu_share)} of the cores meanwhile"),
            ("counted", f"{summary.num_rounds} rounds of {summary.num_starts} starts, "
                        f"{summary.num_warm_up} to warm up"),
            ("kept in", str(out)),
        ]
    )  # fmt: skip


def show_comparison(found: Comparison) -> None:
    """The verdict, the other figures, and what weakens them."""
    same = {True: "the same to the last bit", False: "not the same", None: "not looked at"}
    print_rows(
        [
            ("verdict", found.verdict),
            *(("and", figure.says) for figure in found.figures[1:]),
            ("result", same[found.same_result]),
            *(
                ("changed", f"{one.name}: {_value(one.before)} to {_value(one.after)}")
                for one in found.unlike
                if one.is_named
            ),
            *(("not alike", name) for name in found.forced),
            *(("warning", warning) for warning in found.warnings),
        ]
    )


def _known(value: T | None, show: Callable[[T], str], unknown: dict[str, str], name: str) -> str:
    return f"unknown: {unknown.get(name, 'not told')}" if value is None else show(value)


def _value(value: str | None) -> str:
    return "none" if value is None else value[:60]
