"""How one measured thing changed from one baseline to another, as numbers and as a sentence."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable

from filmgate.machine.baseline.record import Baseline, Start
from filmgate.machine.baseline.statistics import RatioInterval, compare_logs
from filmgate.records import Record
from filmgate.units import format_share

Reading = Callable[[Start], float | None]
LEAST_SECONDS = 1e-9


class Figure(Record, frozen=True):
    """How one measured thing changed. A null field is told by ``says``."""

    name: str
    """``wall time``, ``CPU time`` or ``peak memory``."""
    before: float | None
    """Geometric mean over the starts: seconds a round, or bytes."""
    after: float | None
    """The same of the second."""
    change: float | None
    """Relative: 0.2 is a fifth more."""
    low: float | None
    """Lower bound of its 95 % interval."""
    high: float | None
    """Upper bound."""
    smallest_seen: float | None
    """The least change that these starts would have shown in 80 of 100 cases."""
    is_different: bool | None
    """Whether the interval leaves 0 out; null without one."""
    says: str
    """All of it in one sentence."""


def figure_of(name: str, reading: Reading, before: Baseline, after: Baseline) -> Figure:
    """The change of a reading, of which each start gives one."""
    values_a, values_b = _values(before, reading), _values(after, reading)
    if values_a is None or values_b is None:
        return Figure(
            name=name, before=None, after=None, change=None, low=None, high=None,
            smallest_seen=None, is_different=None, says=f"{name}: not measured in both",
        )  # fmt: skip
    found = compare_logs(values_a, values_b)
    return Figure(
        name=name,
        before=statistics.geometric_mean(values_a),
        after=statistics.geometric_mean(values_b),
        change=found.ratio - 1,
        low=found.low - 1,
        high=found.high - 1,
        smallest_seen=found.smallest_seen,
        is_different=_is_different(found),
        says=f"{name}: {_sentence(found)}",
    )


def wall_time(start: Start) -> float:
    """Seconds of a round."""
    return _typical([one.wall_seconds for one in start.counted])


def cpu_time(start: Start) -> float:
    """CPU seconds of a round."""
    return _typical([one.cpu_seconds for one in start.counted])


def peak_memory(start: Start) -> float | None:
    """Bytes on the GPU; without one, resident bytes."""
    device, own = start.answer.peak_device_bytes, start.answer.peak_bytes
    if device is not None:
        return float(device)
    return None if own is None else float(own)


def _is_different(found: RatioInterval) -> bool:
    return found.low > 1 or found.high < 1


def _sentence(found: RatioInterval) -> str:
    change, low, high = found.ratio - 1, found.low - 1, found.high - 1
    if _is_different(found):
        word = "more" if change > 0 else "less"
        bounds = sorted((abs(low), abs(high)))
        interval = f"{format_share(bounds[0])} to {format_share(bounds[1])}"
        return f"{format_share(abs(change))} {word} (95 % interval {interval})"
    largest = max(abs(low), abs(high))
    return (
        f"no difference larger than {format_share(largest)} (95 % interval {100 * low:+.1f} "
        f"to {100 * high:+.1f} %; {format_share(found.smallest_seen)} would have been seen)"
    )


def _typical(seconds: list[float]) -> float:
    """Geometric mean: the mean of the logarithms that are compared."""
    return math.exp(statistics.fmean(math.log(max(one, LEAST_SECONDS)) for one in seconds))


def _values(baseline: Baseline, reading: Reading) -> list[float] | None:
    """One value a start; None where a start has none."""
    values = [value for start in baseline.starts if (value := reading(start)) is not None]
    return values if len(values) == len(baseline.starts) else None
