"""The windows of a feed bench: batches as fast as they come, one step alone, both together.

Every window begins with an empty queue and a batch that just came, so nothing that was made before
it counts. It is looked at as a whole and in up to 5 parts, one after the other: how far these lie
apart is how far the figure can be trusted.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from filmgate.errors import DeadlineError, UserError
from filmgate.feed.stats import FeedStats
from filmgate.records import Record
from filmgate.units import format_number

if TYPE_CHECKING:
    from filmgate.feed.batch import Batch
    from filmgate.feed.feed import Feed

DAY_SECONDS = 86400.0
"""Longest window and step; ``time.sleep`` overflows on what is far longer."""
MIN_BATCHES = 2
"""Batches in a window, however short it is."""
MOST_PARTS = 5
"""Parts of a window, for its spread; fewer where it has fewer batches."""
STEPS_FOR_DEMAND = 5
"""Timed steps behind a warm-up step; fewer when they take longer than the window."""
FULL_DEADLINE_SECONDS = 120.0
"""How long the feed may take to fill its queue before demand is measured."""


class StageCost(Record, frozen=True):
    """One stage of the workers' time."""

    seconds_per_clip: float
    """Worker seconds for one clip."""
    share: float
    """Of the workers' time with a clip in hand, 0 to 1; the largest is where to look first."""


@dataclass(frozen=True, kw_only=True)
class Consumer:
    """What stands for training: one call is one step on one batch."""

    step: Callable[[Batch], object]
    says: str
    """Where the demand comes from."""
    step_seconds: float | None = None
    """How long a step computes; None: to be measured."""


@dataclass(frozen=True, kw_only=True)
class SupplyShare:
    """A consumer that takes a share of the supply, and so is known once that is measured."""

    share: float

    @property
    def says(self) -> str:
        """Where the demand comes from."""
        return f"a step that takes {self.share:.0%} of the supply"

    def consumer(self, supply_clips_per_second: float, batch_size: int) -> Consumer:
        """The step that is as long as a batch of this demand."""
        step_seconds = batch_size / (supply_clips_per_second * self.share)
        return replace(sleeping_consumer(step_seconds), says=self.says)


def share_of_supply(share: float) -> SupplyShare:
    """Demand as a share of the supply. Raises UserError unless above 0 and at most 1000."""
    if not 0 < share <= 1000:
        raise UserError(
            f"a demand of {share:g} times the supply",
            hint="give --demand-share a number above 0, up to 1000; 0.85 leaves some headroom",
        )
    return SupplyShare(share=share)


def sleeping_consumer(step_seconds: float) -> Consumer:
    """A step that takes this long on another device.

    Raises UserError unless above 0 and at most a day.
    """
    if not 0 < step_seconds <= DAY_SECONDS:
        raise UserError(
            f"a step of {format_number(step_seconds * 1000, 6)} ms",
            hint=f"give --step-ms a number above 0, up to {DAY_SECONDS * 1000:.0f}",
        )
    return Consumer(
        step=lambda batch: time.sleep(step_seconds),
        says=f"a given step of {format_number(step_seconds * 1000, 6)} ms",
        step_seconds=step_seconds,
    )


@dataclass(frozen=True, kw_only=True)
class Supply:
    """What happened in the supply window."""

    seconds: float
    clips: int
    """Usable clips delivered."""
    parts: list[float]
    """Clips per second in consecutive parts of the window."""
    made: int
    """Clips finished by the workers; the others are still on their way."""
    frames: int
    """Frames in the clips made."""
    decoded: int
    bytes_read: int | None
    cpu_seconds: float
    stages: dict[str, StageCost]

    def per_second(self, count: int | None) -> float | None:
        """A count as a rate."""
        return None if count is None else count / self.seconds


def measure_supply(feed: Feed, seconds: float) -> Supply:
    """Take batches as fast as they come."""
    next(feed)  # the workers have started, and the decoders are warm
    before, cpu_before, began = feed.stats(), time.process_time(), time.perf_counter()
    marks = [Mark(seconds=0.0, amount=0.0)]
    while marks[-1].seconds < seconds or len(marks) <= MIN_BATCHES:
        num_clips = int(next(feed).valid_B.sum())
        elapsed_seconds = time.perf_counter() - began
        marks.append(Mark(seconds=elapsed_seconds, amount=marks[-1].amount + num_clips))
    own_cpu_seconds, after = time.process_time() - cpu_before, feed.stats()
    worker_cpu_seconds = after.worker_cpu_seconds - before.worker_cpu_seconds
    bytes_read = None
    if after.bytes_read is not None and before.bytes_read is not None:
        bytes_read = after.bytes_read - before.bytes_read
    return Supply(
        seconds=marks[-1].seconds,
        clips=int(marks[-1].amount),
        parts=rates_of_parts(marks),
        made=after.clips - before.clips,
        frames=after.frames_delivered - before.frames_delivered,
        decoded=after.frames_decoded - before.frames_decoded,
        bytes_read=bytes_read,
        # Without workers the clips are made on this process's own time.
        cpu_seconds=own_cpu_seconds + (worker_cpu_seconds if feed.num_workers else 0.0),
        stages=_stage_costs(before, after),
    )


def _stage_costs(before: FeedStats, after: FeedStats) -> dict[str, StageCost]:
    spent = {
        stage: seconds - before.stage_seconds.get(stage, 0.0)
        for stage, seconds in after.stage_seconds.items()
    }
    total_seconds, clips = sum(spent.values()), after.clips - before.clips
    if not clips or not total_seconds:
        return {}
    return {
        stage: StageCost(seconds_per_clip=seconds / clips, share=seconds / total_seconds)
        for stage, seconds in spent.items()
    }


def measure_step(feed: Feed, consumer: Consumer, *, full_batches: int, seconds: float) -> float:
    """Median seconds of a step on a batch at hand, while the workers have nothing left to do.

    That is once ``full_batches`` are ready. Raises DeadlineError when they never are.
    """
    batch = _usable_batch(feed)
    deadline = time.monotonic() + FULL_DEADLINE_SECONDS
    while feed.num_workers and feed.ready_batches < full_batches:
        if time.monotonic() > deadline:
            raise DeadlineError(
                f"the feed did not fill its queue within {FULL_DEADLINE_SECONDS:g} s"
            )
        time.sleep(0.01)
    consumer.step(batch)
    times: list[float] = []
    while len(times) < STEPS_FOR_DEMAND and sum(times) < seconds:
        began = time.perf_counter()
        consumer.step(batch)
        times.append(time.perf_counter() - began)
    return median(times)


@dataclass(frozen=True, kw_only=True)
class Utilisation:
    """What happened in the window of feed and steps together."""

    au: float
    """Compute time / total time, as MLPerf Storage has it."""
    parts: list[float]
    """The same in consecutive parts of the window."""
    seconds: float
    """Total time."""
    steps: int
    """Steps in it."""


def measure_au(feed: Feed, consumer: Consumer, seconds: float) -> Utilisation:
    """Share of the time in which steps compute.

    Where the length of a step is told, a step counts just that, however late the machine wakes it.
    Source: MLPerf Storage rules, "Accelerator Utilization",
    https://github.com/mlcommons/storage/blob/main/Submission_guidelines.md
    """
    for _ in range(feed.ready_batches):
        next(feed)
    consumer.step(_usable_batch(feed))
    began, marks = time.perf_counter(), [Mark(seconds=0.0, amount=0.0)]
    while marks[-1].seconds < seconds or len(marks) <= MIN_BATCHES:
        batch = _usable_batch(feed)
        step_began = time.perf_counter()
        consumer.step(batch)
        now = time.perf_counter()
        computed = consumer.step_seconds or now - step_began
        marks.append(Mark(seconds=now - began, amount=marks[-1].amount + computed))
    return Utilisation(
        au=marks[-1].amount / marks[-1].seconds,
        parts=rates_of_parts(marks),
        seconds=marks[-1].seconds,
        steps=len(marks) - 1,
    )


@dataclass(frozen=True, kw_only=True)
class Mark:
    """How far a window had come after a batch."""

    seconds: float
    """Since its begin."""
    amount: float
    """Clips, or seconds of compute, up to here."""


def rates_of_parts(marks: list[Mark]) -> list[float]:
    """Amount per second between marks about a fifth of the batches apart."""
    num_batches = len(marks) - 1
    num_parts = min(MOST_PARTS, num_batches)
    edges = [marks[num_batches * part // num_parts] for part in range(num_parts + 1)]
    return [
        (last.amount - first.amount) / (last.seconds - first.seconds)
        for first, last in pairwise(edges)
    ]


def _usable_batch(feed: Feed) -> Batch:
    """The next batch with a usable clip; the feed's error budget ends a search without one."""
    while not bool((batch := next(feed)).valid_B.any()):
        pass
    return batch
