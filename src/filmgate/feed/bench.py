"""What a feed can give on this machine, what a consumer takes, and what each clip costs.

Three windows on one running feed. Supply: batches are taken as fast as they come. Demand: how long
one step computes, told, derived from the supply, or measured while the feed is full and idle. AU:
the feed and the steps together.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from filmgate.catalog import Catalog
from filmgate.errors import UserError
from filmgate.feed.bench_windows import (
    DAY_SECONDS,
    Consumer,
    StageCost,
    Supply,
    SupplyShare,
    Utilisation,
    measure_au,
    measure_step,
    measure_supply,
)
from filmgate.feed.memory import PeakMemory
from filmgate.feed.open import open_feed
from filmgate.feed.sizing import FIRST_BATCHES
from filmgate.records import Header, Record
from filmgate.spec import Job
from filmgate.work.cores import num_usable_cores


class Spread(Record, frozen=True):
    """How a figure moved over consecutive parts of its window; far apart: measure longer."""

    lowest: float
    """Of the parts."""
    highest: float
    """Of the parts."""
    parts: int
    """About equally many batches each; 5, or fewer in a short window."""


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
    supply_spread: Spread
    """Of it, over parts of the window."""
    supply_frames_per_second: float
    """Frames in them."""
    supply_bytes_per_second: float
    """Pixels in them."""
    read_bytes_per_second: float | None
    """Bytes that the workers read for them; null where the kernel does not tell."""
    demand_clips_per_second: float | None
    """Clips the consumer takes when it never waits; null without a consumer."""
    demand_from: str
    """Where the demand comes from: a given step time, a share of the supply, a step function, a
    model, or nothing."""
    step_seconds: float | None
    """How long a step computes; null without a consumer."""
    headroom: float | None
    """Supply over demand; below 1 the consumer has to wait."""
    au: float | None
    """Accelerator utilisation, measured: compute time / total time, 0 to 1, as MLPerf Storage."""
    au_spread: Spread | None
    """Of it, over parts of its window."""
    au_seconds: float | None
    """Length of the window of feed and steps together."""
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


def check_window(seconds: float) -> None:
    """Raises UserError for a length that is not above 0 or longer than a day."""
    if not 0 < seconds <= DAY_SECONDS:
        raise UserError(
            f"a window of {seconds:g} s",
            hint=f"give --seconds a number above 0, up to {DAY_SECONDS:.0f}",
        )


def bench_feed(
    job: Job,
    catalog: Catalog,
    *,
    seconds: float,
    consumer: Consumer | SupplyShare | None,
    on_window: Callable[[int, int], None] | None = None,
) -> FeedBench:
    """Measure the training split of a job for about ``seconds`` a window.

    ``on_window`` hears (windows done, windows in all). Raises what opening and iterating the feed
    raise, UserError for a length that is not above 0 or longer than a day.
    """
    check_window(seconds)
    job = _fixed(job)
    step_seconds = used = None
    tell, num_windows = on_window or (lambda done, total: None), 1 if consumer is None else 3
    with open_feed(job, catalog) as feed, PeakMemory(lambda: feed.worker_process_ids) as memory:
        supply = measure_supply(feed, seconds)
        tell(1, num_windows)
        if isinstance(consumer, SupplyShare):
            consumer = consumer.consumer(supply.clips / supply.seconds, job.train.batch_size)
        if consumer is not None:
            step_seconds = consumer.step_seconds or measure_step(
                feed, consumer, full_batches=feed.stats().size.depth_batches, seconds=seconds
            )
            tell(2, num_windows)
            used = measure_au(feed, consumer, seconds)
            tell(3, num_windows)
        num_skipped = feed.stats().num_skipped
        order_digest = str(feed.state_dict()["order_digest"])
    known = _may_be_unknown(supply, job, step_seconds, used)
    known["peak_rss_bytes"] = memory.peak_bytes
    rate, frame_bytes = supply.clips / supply.seconds, 3 * job.clip.height * job.clip.width
    return FeedBench(
        header=Header(
            schema="filmgate.feed-bench",
            schema_version=1,
            inputs={"catalog": catalog.digest, "order": order_digest},
        ),
        seconds=supply.seconds,
        clips=supply.clips,
        workers=feed.num_workers,
        batch_size=job.train.batch_size,
        frames_per_clip=job.clip.frames,
        supply_clips_per_second=rate,
        supply_spread=_spread(supply.parts),
        supply_frames_per_second=rate * job.clip.frames,
        supply_bytes_per_second=rate * job.clip.frames * frame_bytes,
        demand_from="nothing" if consumer is None else consumer.says,
        stages=supply.stages,
        skipped=num_skipped,
        unknown={name: _WHY_UNKNOWN[name] for name, value in known.items() if value is None},
        **known,  # type: ignore[arg-type]
    )


def _fixed(job: Job) -> Job:
    """The job with the numbers set that a feed would change while it is measured.

    One worker per core, less one for the consumer when there are more than two.
    """
    limits, cores = job.limits, num_usable_cores()
    workers = cores - 1 if cores > 2 else cores
    if limits.cpu_budget_cores is not None:
        workers = min(workers, limits.cpu_budget_cores)
    fixed = msgspec.structs.replace(
        limits,
        workers=workers if limits.workers is None else limits.workers,
        prefetch_batches=limits.prefetch_batches or FIRST_BATCHES,
    )
    return msgspec.structs.replace(job, limits=fixed)


def _may_be_unknown(
    supply: Supply, job: Job, step_seconds: float | None, used: Utilisation | None
) -> dict[str, object]:
    demand = None if step_seconds is None else job.train.batch_size / step_seconds
    return {
        "read_bytes_per_second": supply.per_second(supply.bytes_read),
        "step_seconds": step_seconds,
        "demand_clips_per_second": demand,
        "headroom": supply.clips / supply.seconds / demand if demand else None,
        "au": used.au if used else None,
        "au_spread": _spread(used.parts) if used else None,
        "au_seconds": used.seconds if used else None,
        "clips_per_cpu_second": _ratio(supply.made, supply.cpu_seconds if supply.made else 0.0),
        "cpu_seconds_per_1000_frames": _ratio(1000 * supply.cpu_seconds, supply.frames),
        "frames_decoded_per_frame_delivered": _ratio(supply.decoded, supply.frames),
    }


def _spread(parts: list[float]) -> Spread:
    return Spread(lowest=min(parts), highest=max(parts), parts=len(parts))


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


_NO_CONSUMER = "there was no consumer"
_NOTHING_MADE = "no clip was finished within the supply window"
_WHY_UNKNOWN = {
    "read_bytes_per_second": "the kernel does not count what processes read (/proc/PID/io)",
    "demand_clips_per_second": _NO_CONSUMER,
    "headroom": _NO_CONSUMER,
    "step_seconds": _NO_CONSUMER,
    "au": _NO_CONSUMER,
    "au_spread": _NO_CONSUMER,
    "au_seconds": _NO_CONSUMER,
    "clips_per_cpu_second": _NOTHING_MADE,
    "cpu_seconds_per_1000_frames": _NOTHING_MADE,
    "frames_decoded_per_frame_delivered": _NOTHING_MADE,
    "peak_rss_bytes": "the kernel does not tell shares of memory (/proc/PID/smaps_rollup)",
}
