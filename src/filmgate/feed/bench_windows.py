"""The windows of a feed bench: batches as fast as they come, one step alone, both together.

Every window begins with an empty queue and a batch that just came, so nothing that was made before
it counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from filmgate.errors import DeadlineError, UserError
from filmgate.feed.stats import FeedStats
from filmgate.records import Record

if TYPE_CHECKING:
    from filmgate.feed.batch import Batch
    from filmgate.feed.feed import Feed

MIN_BATCHES = 2
"""Batches in a window, however short it is."""
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

    step: Callable[[Batch], None]
    says: str
    """Where the demand comes from."""
    step_seconds: float | None = None
    """How long a step computes; None: to be measured."""


def sleeping_consumer(step_seconds: float) -> Consumer:
    """A step that takes this long on another device. Raises UserError unless above 0."""
    if not step_seconds > 0:
        raise UserError(
            f"a step of {step_seconds * 1000:g} ms", hint="give --step-ms a number above 0"
        )
    return Consumer(
        step=lambda batch: time.sleep(step_seconds),
        says=f"a given step of {step_seconds * 1000:g} ms",
        step_seconds=step_seconds,
    )


@dataclass(frozen=True, kw_only=True)
class Supply:
    """What happened in the supply window."""

    seconds: float
    clips: int
    """Usable clips delivered."""
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
    num_clips = num_batches = 0
    while time.perf_counter() - began < seconds or num_batches < MIN_BATCHES:
        num_clips += int(next(feed).valid_B.sum())
        num_batches += 1
    elapsed_seconds = time.perf_counter() - began
    own_cpu_seconds, after = time.process_time() - cpu_before, feed.stats()
    worker_cpu_seconds = after.worker_cpu_seconds - before.worker_cpu_seconds
    bytes_read = None
    if after.bytes_read is not None and before.bytes_read is not None:
        bytes_read = after.bytes_read - before.bytes_read
    return Supply(
        seconds=elapsed_seconds,
        clips=num_clips,
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


def measure_au(feed: Feed, consumer: Consumer, seconds: float) -> float:
    """Share of the time in which steps compute."""
    for _ in range(feed.ready_batches):
        next(feed)
    consumer.step(_usable_batch(feed))
    began, compute_seconds, num_steps = time.perf_counter(), 0.0, 0
    while time.perf_counter() - began < seconds or num_steps < MIN_BATCHES:
        batch = _usable_batch(feed)
        step_began = time.perf_counter()
        consumer.step(batch)
        compute_seconds += time.perf_counter() - step_began
        num_steps += 1
    return compute_seconds / (time.perf_counter() - began)


def _usable_batch(feed: Feed) -> Batch:
    """The next batch with a usable clip; the feed's error budget ends a search without one."""
    while not bool((batch := next(feed)).valid_B.any()):
        pass
    return batch
