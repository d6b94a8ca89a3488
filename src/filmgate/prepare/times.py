"""Which frames of the source a copy shows, and when.

N frames of the copy.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from filmgate.video import FrameTable


class UnusableTimes(Exception):
    """The source's times cannot be kept in a copy; says why."""


@dataclass(frozen=True, kw_only=True)
class CopyTimes:
    """The frames of a copy. Time 0 is the start of the source's first frame."""

    time_base: Fraction
    """Seconds per tick, 1 over a whole number."""
    ticks_N: NDArray[np.int64]
    """When each frame is first shown; rising."""
    end_ticks: int
    """When the last one ends."""
    source_frames_N: NDArray[np.int64]
    """The source's frame that each one shows; never falling."""

    @property
    def durations(self) -> NDArray[np.int64]:
        """(N,) ticks that each frame is shown."""
        return np.diff(self.ticks_N, append=self.end_ticks)


def copy_times(table: FrameTable, fps: float | None) -> CopyTimes:
    """Every frame at its own time, or with ``fps`` the frame that is shown at each k / fps.

    Raises UnusableTimes when two frames share a time, which no container can hold.
    """
    return _own_times(table) if fps is None else _times_at_rate(table, fps)


def _own_times(table: FrameTable) -> CopyTimes:
    ticks_N = (table.pts - table.pts[0]) * table.time_base.numerator
    end_ticks = (table.end_ticks - int(table.pts[0])) * table.time_base.numerator
    if np.any(np.diff(ticks_N, append=end_ticks) <= 0):
        first = int(np.flatnonzero(np.diff(ticks_N, append=end_ticks) <= 0)[0])
        raise UnusableTimes(f"frame {first} is shown for no time; give a frame rate for the copy")
    return CopyTimes(
        time_base=Fraction(1, table.time_base.denominator),
        ticks_N=ticks_N,
        end_ticks=end_ticks,
        source_frames_N=np.arange(table.num_frames),
    )


def _times_at_rate(table: FrameTable, fps: float) -> CopyTimes:
    rate = Fraction(fps).limit_denominator(1_000_000)
    seconds = (table.end_ticks - int(table.pts[0])) * table.time_base
    num_frames = -(-seconds * rate // 1)  # every k with k / rate < seconds
    step_ticks = 1 / (rate * table.time_base)  # in the source's ticks
    ticks = [int(table.pts[0]) + (k * step_ticks) // 1 for k in range(int(num_frames))]
    source_frames_N = np.searchsorted(table.pts, np.array(ticks, np.int64), side="right") - 1
    ticks_N = np.arange(len(ticks), dtype=np.int64) * rate.denominator
    return CopyTimes(
        time_base=Fraction(1, rate.numerator),
        ticks_N=ticks_N,
        end_ticks=int(ticks_N[-1]) + rate.denominator,
        source_frames_N=source_frames_N.astype(np.int64),
    )
