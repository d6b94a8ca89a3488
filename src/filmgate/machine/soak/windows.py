"""The first part of a soak against its last, for one thing that moves."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from filmgate.machine.baseline.statistics import compare_logs, compare_means
from filmgate.records import Record
from filmgate.units import format_share

WINDOW_SECONDS = 300.0
SHARE_OF_SHORT = 1 / 6
"""Of a soak shorter than half an hour each window takes this much; of half an hour: 5 minutes."""
MAX_BLOCKS = 10
POINTS_A_BLOCK = 3
MAX_POINTS = 240
"""Of a curve as it is kept and drawn."""
CELSIUS, SHARE, HERTZ, WATTS = "C", "share", "Hz", "W"
ABSOLUTE = (CELSIUS, SHARE)
"""Units whose change is a difference, not a ratio: their zero means nothing, or is reached."""


class Windows(Record, frozen=True):
    """Which parts are compared."""

    seconds: float
    """Length of each."""
    last_begins_seconds: float
    """Where the last one begins; the first begins at 0."""
    says: str
    """Both in words."""


class Point(Record, frozen=True):
    """One place of a curve."""

    seconds: float
    """Since the load's first step."""
    value: float
    """In the curve's unit; the median of what lies around."""


class Curve(Record, frozen=True):
    """One thing that moved. What could not be compared is null, and ``says`` tells why."""

    name: str
    """For example ``GPU 0 clock``."""
    unit: str
    """``Hz``, ``C``, ``W``, ``share`` (0 to 1) or a rate."""
    first: float | None
    """Typical value of the first window."""
    last: float | None
    """Typical value of the last window."""
    lowest: float
    """Of all samples."""
    highest: float
    """Of all samples."""
    change: float | None
    """From first to last: relative, 0.2 is a fifth more; a difference of C and of shares."""
    low: float | None
    """Lower bound of its 95 % interval."""
    high: float | None
    """Upper bound."""
    is_different: bool | None
    """Whether the interval leaves 0 out; null without one."""
    says: str
    """All of it in one sentence."""
    last_blocks: list[float]
    """Medians of equal parts of the last window, by which another soak is compared."""
    points: list[Point]
    """The curve, thinned."""


@dataclass(frozen=True, kw_only=True)
class Series:
    """Raw values over time."""

    name: str
    unit: str
    seconds: Sequence[float]
    values: Sequence[float]


def windows_of(seconds: float) -> Windows:
    """The first and the last five minutes; of a soak shorter than half an hour, sixths."""
    length = min(WINDOW_SECONDS, seconds * SHARE_OF_SHORT)
    is_short = seconds < WINDOW_SECONDS / SHARE_OF_SHORT
    words = f"sixth ({length:.0f} s each, because it is short)" if is_short else "five minutes"
    return Windows(
        seconds=length,
        last_begins_seconds=max(0.0, seconds - length),
        says=f"the first against the last {words}",
    )


def curve_of(series: Series, windows: Windows) -> Curve:
    """The windows compared by the medians of their blocks, as baselines compare starts: single
    samples lean on their neighbours. At least one value."""
    first = _blocks(series, 0.0, windows.seconds)
    end = windows.last_begins_seconds
    last = _blocks(series, end, end + 2 * windows.seconds)
    change = low = high = None
    if min(len(first), len(last)) >= 2:
        change, low, high = change_of(first, last, series.unit)
    typical = [statistics.fmean(blocks) if blocks else None for blocks in (first, last)]
    return Curve(
        name=series.name, unit=series.unit, first=typical[0], last=typical[1],
        lowest=min(series.values), highest=max(series.values),
        change=change, low=low, high=high,
        is_different=None if low is None or high is None else low > 0 or high < 0,
        says=f"{shown(series.values[0], series.unit)} throughout"
        if min(series.values) == max(series.values)
        else _says(series.unit, typical[0], typical[1], (change, low, high)),
        last_blocks=last, points=_thinned(series),
    )  # fmt: skip


def change_of(
    before: Sequence[float], after: Sequence[float], unit: str
) -> tuple[float, float, float]:
    """(change, low, high), relative but where the unit or a zero forbids it. Two values each."""
    if is_relative(unit) and min(*before, *after) > 0:
        ratio = compare_logs(before, after)
        return ratio.ratio - 1, ratio.low - 1, ratio.high - 1
    found = compare_means(before, after)
    return found.difference, found.low, found.high


def is_relative(unit: str) -> bool:
    """Whether a change of this unit is told as a share of what was there."""
    return unit not in ABSOLUTE


def shown(value: float, unit: str) -> str:
    """A value with its unit, for people."""
    if unit == HERTZ:
        return f"{value / 1e9:.2f} GHz"
    return format_share(value) if unit == SHARE else f"{value:.4g} {unit}"


def change_words(change: float, low: float, high: float, unit: str) -> str:
    """``12 % less (95 % interval 11 % to 13 %)``, or that none larger than some can be seen."""
    different = low > 0 or high < 0
    relative = is_relative(unit)
    bounds = sorted((abs(low), abs(high)))
    told = [
        format_share(one) if relative else shown_difference(one, unit)
        for one in (abs(change), *bounds)
    ]
    if not different:
        return f"no change larger than {told[2]}"
    return f"{told[0]} {'more' if change > 0 else 'less'} (95 % interval {told[1]} to {told[2]})"


def shown_difference(value: float, unit: str) -> str:
    """Shares differ by points, so that 5 % of 50 % is not meant."""
    return f"{100 * value:.1f} points" if unit == SHARE else f"{value:.3g} {unit}"


def _says(
    unit: str,
    first: float | None,
    last: float | None,
    change: tuple[float | None, float | None, float | None],
) -> str:
    if first is None or last is None:
        return "not known in both windows"
    told = f"{shown(first, unit)} at first, {shown(last, unit)} at the end"
    middle, low, high = change
    if middle is None or low is None or high is None:
        return f"{told}; too few samples for an interval"
    return f"{told}: {change_words(middle, low, high, unit)}"


def _blocks(series: Series, begin: float, end: float) -> list[float]:
    """Medians of equal parts of a window, in time."""
    inside = [
        value
        for second, value in zip(series.seconds, series.values, strict=True)
        if begin <= second <= end
    ]
    count = max(min(2, len(inside)), min(MAX_BLOCKS, len(inside) // POINTS_A_BLOCK))
    edges = [len(inside) * place // max(1, count) for place in range(count + 1)]
    return [statistics.median(inside[low:high]) for low, high in pairwise(edges)]


def _thinned(series: Series) -> list[Point]:
    count = min(MAX_POINTS, len(series.values))
    edges = [len(series.values) * place // count for place in range(count + 1)]
    return [
        Point(
            seconds=round(statistics.fmean(series.seconds[low:high]), 3),
            value=statistics.median(series.values[low:high]),
        )
        for low, high in pairwise(edges)
    ]
