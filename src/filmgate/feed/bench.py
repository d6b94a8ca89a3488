"""What a feed can give on this machine, what a consumer takes, and what each clip costs.

Three windows on one running feed. Supply: batches are taken as fast as they come. Demand: how long
one step computes, told or measured while the feed is full and idle. AU: the feed and the steps
together. Every window begins with an empty queue and a batch that just came, so nothing that was
made before it counts.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from types import TracebackType
from typing import TYPE_CHECKING

from filmgate.catalog import Catalog
from filmgate.errors import DeadlineError, UserError
from filmgate.feed.memory import proportional_bytes
from filmgate.feed.open import open_feed
from filmgate.feed.stats import FeedStats
from filmgate.records import Header, Record
from filmgate.spec import Job

if TYPE_CHECKING:
    from filmgate.feed.batch import Batch
    from filmgate.feed.feed import Feed

MEMORY_LOOK_SECONDS = 0.2
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
    """Of the workers' time with a clip in hand, 0 to 1; low is better for all but one stage."""


class FeedBench(Record, frozen=True):
    """What ``filmgate feed bench`` measured. A null field stands in ``unknown`` with its reason."""

    header: Header
    """Its inputs are the catalog and the order of samples."""
    seconds: float
    """Length of the supply window."""
    clips: int
    """Usable clips delivered in it."""
    workers: int
    """Worker processes; 0: the consumer's own thread."""
    batch_size: int
    """Clips per batch."""
    frames_per_clip: int
    """T."""
    supply_clips_per_second: float
    """Clips the feed gives when it is taken from as fast as it goes."""
    supply_frames_per_second: float
    """Frames in them."""
    supply_bytes_per_second: float
    """Pixels in them."""
    read_bytes_per_second: float | None
    """Bytes that the workers read for them; null where the kernel does not tell."""
    demand_clips_per_second: float | None
    """Clips the consumer takes when it never waits; null without a consumer."""
    demand_from: str
    """Where the demand comes from: a given step time, a model, or nothing."""
    headroom: float | None
    """Supply over demand; below 1 the consumer has to wait."""
    au: float | None
    """Accelerator utilisation, measured: compute time / total time, 0 to 1, as MLPerf Storage."""
    clips_per_cpu_second: float | None
    """Clips for one second of one core, over all processes of the feed."""
    cpu_seconds_per_1000_frames: float | None
    """Core seconds for 1000 delivered frames."""
    frames_decoded_per_frame_delivered: float | None
    """1 is the least that clips can cost without a cache; high: far key frames, wasted decoding."""
    peak_rss_bytes: int | None
    """Most resident memory of all processes together; a page that several share counts once."""
    stages: dict[str, StageCost]
    """Stage -> its cost, over the supply window."""
    skipped: int
    """Attempts at a clip that failed, in all windows."""
    unknown: dict[str, str]
    """Name of each null field -> why."""


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


def bench_feed(
    job: Job, catalog: Catalog, *, seconds: float, consumer: Consumer | None
) -> FeedBench:
    """Measure the training split of a job for about ``seconds`` a window.

    Raises what opening and iterating the feed raise, UserError for a length that is not above 0.
    """
    if not seconds > 0:
        raise UserError(f"a window of {seconds:g} s", hint="give --seconds a number above 0")
    with open_feed(job, catalog) as feed, PeakMemory(feed) as memory:
        supply = _measure_supply(feed, seconds)
        step_seconds, au = None, None
        if consumer is not None:
            step_seconds = consumer.step_seconds
            if step_seconds is None:
                step_seconds = _measure_step(feed, consumer, job, seconds)
            au = _measure_au(feed, consumer, seconds)
        num_skipped = feed.stats().num_skipped
        num_workers, state = feed.num_workers, feed.state_dict()
    demand = None if step_seconds is None else job.train.batch_size / step_seconds
    frame_bytes = 3 * job.clip.height * job.clip.width
    rate = supply.clips / supply.seconds
    values = {
        "read_bytes_per_second": supply.per_second(supply.bytes_read),
        "demand_clips_per_second": demand,
        "headroom": rate / demand if demand else None,
        "au": au,
        "clips_per_cpu_second": _ratio(supply.made, supply.cpu_seconds),
        "cpu_seconds_per_1000_frames": _ratio(1000 * supply.cpu_seconds, supply.frames),
        "frames_decoded_per_frame_delivered": _ratio(supply.decoded, supply.frames),
        "peak_rss_bytes": memory.peak_bytes,
    }
    return FeedBench(
        header=Header(
            schema="filmgate.feed-bench",
            schema_version=1,
            inputs={"catalog": catalog.digest, "order": str(state["order_digest"])},
        ),
        seconds=supply.seconds,
        clips=supply.clips,
        workers=num_workers,
        batch_size=job.train.batch_size,
        frames_per_clip=job.clip.frames,
        supply_clips_per_second=rate,
        supply_frames_per_second=rate * job.clip.frames,
        supply_bytes_per_second=rate * job.clip.frames * frame_bytes,
        demand_from="nothing" if consumer is None else consumer.says,
        stages=supply.stages,
        skipped=num_skipped,
        unknown={name: _WHY_UNKNOWN[name] for name, value in values.items() if value is None},
        **values,  # type: ignore[arg-type]
    )


_NO_CONSUMER = "there was no consumer"
_NOTHING_MADE = "no clip was finished within the supply window"
_WHY_UNKNOWN = {
    "read_bytes_per_second": "the kernel does not count what processes read (/proc/PID/io)",
    "demand_clips_per_second": _NO_CONSUMER,
    "headroom": _NO_CONSUMER,
    "au": _NO_CONSUMER,
    "clips_per_cpu_second": _NOTHING_MADE,
    "cpu_seconds_per_1000_frames": _NOTHING_MADE,
    "frames_decoded_per_frame_delivered": _NOTHING_MADE,
    "peak_rss_bytes": "the kernel does not tell shares of memory (/proc/PID/smaps_rollup)",
}


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


def _measure_supply(feed: Feed, seconds: float) -> Supply:
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


def _measure_step(feed: Feed, consumer: Consumer, job: Job, seconds: float) -> float:
    """Median seconds of a step on a batch at hand, while the workers have nothing left to do."""
    batch = _usable_batch(feed)
    deadline = time.monotonic() + FULL_DEADLINE_SECONDS
    while feed.num_workers and feed.ready_batches < job.limits.prefetch_batches:
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


def _measure_au(feed: Feed, consumer: Consumer, seconds: float) -> float:
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


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if part and whole else None


class PeakMemory:
    """Looks at the memory of this process and the feed's workers now and then, on a thread."""

    def __init__(self, feed: Feed) -> None:
        self.peak_bytes: int | None = None
        self._feed = feed
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.is_set():
            now = proportional_bytes(self._feed.worker_process_ids)
            if now is not None:
                self.peak_bytes = max(now, self.peak_bytes or 0)
            self._ended.wait(MEMORY_LOOK_SECONDS)
