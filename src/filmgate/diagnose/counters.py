"""The feed's counters over the settled part of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from filmgate.records.telemetry import AnyLine, FeedSnapshot

N = TypeVar("N", int, float)


@dataclass(frozen=True, kw_only=True)
class FeedCounters:
    """Work of this rank's feed over the counted windows, summed over workers."""

    clips: int
    frames_delivered: int
    frames_decoded: int
    bytes_read: int | None
    """None when one window does not tell."""
    busy_seconds: float
    wait_seconds: float
    cpu_seconds: float | None
    """None when one window does not tell."""
    stage_seconds: dict[str, float]
    counts_pipeline_fill: bool
    """True when a window begins at the start of its attempt, for want of an earlier snapshot."""


def sum_counters(
    lines: Sequence[AnyLine], last_warm_up_steps: Mapping[int, int]
) -> FeedCounters | None:
    """The counters added up over attempts; None without a usable snapshot.

    ``last_warm_up_steps``: attempt -> its last step of warm-up; attempts not named do not count.
    """
    total: FeedCounters | None = None
    for attempt, last_warm_up_step in last_warm_up_steps.items():
        snapshots = [x for x in lines if isinstance(x, FeedSnapshot) and x.attempt == attempt]
        window = count_window(snapshots, last_warm_up_step)
        if window is not None:
            total = window if total is None else _add(total, window)
    return total


def count_window(snapshots: Sequence[FeedSnapshot], after_step: int) -> FeedCounters | None:
    """From the first snapshot at or after ``after_step`` to the last, both of one attempt.

    Where no earlier snapshot is there to subtract, from the start of the attempt.
    """
    if not snapshots or snapshots[-1].clips == 0:
        return None
    last = snapshots[-1]
    earlier = [x for x in snapshots if x.step >= after_step and x.clips < last.clips]
    return _difference(last, earlier[0]) if earlier else _since_start(last)


def _since_start(last: FeedSnapshot) -> FeedCounters:
    nothing = msgspec.structs.replace(
        last,
        clips=0,
        frames_delivered=0,
        frames_decoded=0,
        bytes_read=0,
        worker_busy_seconds=0.0,
        worker_wait_seconds=0.0,
        worker_cpu_seconds=0.0,
        stage_seconds={},
    )
    return _difference(last, nothing, counts_pipeline_fill=True)


def _difference(
    last: FeedSnapshot, first: FeedSnapshot, *, counts_pipeline_fill: bool = False
) -> FeedCounters:
    return FeedCounters(
        clips=last.clips - first.clips,
        frames_delivered=last.frames_delivered - first.frames_delivered,
        frames_decoded=last.frames_decoded - first.frames_decoded,
        bytes_read=_both(last.bytes_read, first.bytes_read, sign=-1),
        busy_seconds=last.worker_busy_seconds - first.worker_busy_seconds,
        wait_seconds=last.worker_wait_seconds - first.worker_wait_seconds,
        cpu_seconds=_both(last.worker_cpu_seconds, first.worker_cpu_seconds, sign=-1),
        stage_seconds={
            name: seconds - first.stage_seconds.get(name, 0.0)
            for name, seconds in last.stage_seconds.items()
        },
        counts_pipeline_fill=counts_pipeline_fill,
    )


def _add(one: FeedCounters, other: FeedCounters) -> FeedCounters:
    names = one.stage_seconds | other.stage_seconds
    return FeedCounters(
        clips=one.clips + other.clips,
        frames_delivered=one.frames_delivered + other.frames_delivered,
        frames_decoded=one.frames_decoded + other.frames_decoded,
        bytes_read=_both(one.bytes_read, other.bytes_read, sign=1),
        busy_seconds=one.busy_seconds + other.busy_seconds,
        wait_seconds=one.wait_seconds + other.wait_seconds,
        cpu_seconds=_both(one.cpu_seconds, other.cpu_seconds, sign=1),
        stage_seconds={
            name: one.stage_seconds.get(name, 0.0) + other.stage_seconds.get(name, 0.0)
            for name in names
        },
        counts_pipeline_fill=one.counts_pipeline_fill or other.counts_pipeline_fill,
    )


def _both(one: N | None, other: N | None, *, sign: int) -> N | None:
    return None if one is None or other is None else one + sign * other
