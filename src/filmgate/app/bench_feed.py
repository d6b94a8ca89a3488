"""What ``filmgate feed bench`` found, as the feed's part of a bench."""

from __future__ import annotations

from filmgate.feed.bench import FeedBench, Spread
from filmgate.machine.measured import BenchPart, Measure, Unit

CONDITIONS = ("workers", "batch_size", "frames_per_clip")


def part_of_feed(bench: FeedBench) -> BenchPart:
    """The same figures as measures; parts of a window stand for repetitions."""
    supply = _measure(
        "supply", "clips/s", bench.supply_clips_per_second, bench.supply_spread, bench,
        "usable clips that the feed delivered over the window, taken as fast as they came",
        "",
    )  # fmt: skip
    measures = [supply]
    if bench.au is not None and bench.au_spread is not None:
        measures.append(
            _measure(
                "accelerator-utilisation",
                "share",
                bench.au,
                bench.au_spread,
                bench,
                f"time that computed over all time, with {bench.demand_from}",
                "MLPerf Storage",
            )
        )
    if bench.demand_clips_per_second is not None:
        measures.append(
            _single("demand", "clips/s", bench.demand_clips_per_second, bench,
                    f"clips over the time that steps compute, with {bench.demand_from}")
        )  # fmt: skip
    if bench.read_bytes_per_second is not None:
        measures.append(
            _single("read", "bytes/s", bench.read_bytes_per_second, bench,
                    "bytes that the workers asked for over the supply window, cached or not")
        )  # fmt: skip
    return BenchPart(
        name="feed",
        status="measured",
        seconds=bench.seconds + (bench.au_seconds or 0.0),
        measures=measures,
        unknown=bench.unknown,
    )


def _measure(
    name: str, unit: Unit, value: float, spread: Spread, bench: FeedBench, counted: str, anchor: str
) -> Measure:
    return Measure(
        name=name, unit=unit, values=[value], median=value, low=spread.lowest, high=spread.highest,
        definition=f"{counted}; low and high are of {spread.parts} parts of the window",
        anchor=anchor, warm_up="the feed's first batches", conditions=_conditions(bench),
    )  # fmt: skip


def _single(name: str, unit: Unit, value: float, bench: FeedBench, counted: str) -> Measure:
    return Measure(
        name=name, unit=unit, values=[value], median=value, low=value, high=value,
        definition=counted, anchor="", warm_up="the feed's first batches",
        conditions=_conditions(bench),
    )  # fmt: skip


def _conditions(bench: FeedBench) -> dict[str, str]:
    return {name.replace("_", " "): str(getattr(bench, name)) for name in CONDITIONS}
