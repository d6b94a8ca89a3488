"""Demand, delivered and supply, and the feed's work by stage."""

from __future__ import annotations

from filmgate.diagnose.counters import FeedCounters
from filmgate.diagnose.history import History
from filmgate.diagnose.verdict import Rates, Stage
from filmgate.records.telemetry import Start


def rates(history: History) -> Rates:
    """Every rate that the counted steps and the feed's counters tell.

    Demand = clips per step / mean(step time - data wait); delivered = clips per step / mean(step
    time); supply as ``supply_clips_per_second``. Saves and evaluation are in none of them.
    """
    start, steps, feed = history.start, history.steps, history.feed
    if start is None or not steps:
        return Rates(supply_reason="no step counts")
    total_seconds = sum(step.total_seconds for step in steps)
    if total_seconds <= 0:
        return Rates(supply_reason="the counted steps took no time")
    asking_seconds = total_seconds - sum(step.data_wait_seconds for step in steps)
    clips = start.batch_size * len(steps)
    delivered = _ratio(clips, total_seconds)
    supply, reason = supply_clips_per_second(start, feed)
    read_per_clip = _ratio(feed.bytes_read, feed.clips) if feed else None
    return Rates(
        demand_clips_per_second=_ratio(clips, asking_seconds),
        delivered_clips_per_second=delivered,
        supply_clips_per_second=supply,
        supply_reason=reason,
        delivered_frames_per_second=_product(delivered, start.clip_frames),
        delivered_bytes_per_second=_product(delivered, start.clip_bytes),
        read_bytes_per_second=_product(delivered, read_per_clip),
        frames_decoded_per_frame_delivered=(
            _ratio(feed.frames_decoded, feed.frames_delivered) if feed else None
        ),
        worker_busy_share=(
            _ratio(feed.busy_seconds, feed.busy_seconds + feed.wait_seconds)
            if feed and start.num_workers
            else None
        ),
        worker_cpu_share=_ratio(feed.cpu_seconds, feed.busy_seconds) if feed else None,
        worker_cpu_cores=_worker_cpu_cores(start, feed),
        cores=start.cores,
        cores_wanted=_cores_wanted(start, feed, 1 - asking_seconds / total_seconds),
    )


def supply_clips_per_second(
    start: Start, feed: FeedCounters | None
) -> tuple[float | None, str | None]:
    """Clips / (worker busy seconds / workers) x ranks, and a reason where it is unknown or special.

    Assumes that the other ranks' feeds work as this one, and that workers would be as fast without
    the waits between. With no workers the training process decodes: its supply is what it would
    give if it did nothing else.
    """
    if feed is None or feed.clips <= 0:
        return None, "the telemetry holds no feed counters"
    if feed.busy_seconds <= 0:
        return None, "the feed counted clips but no working time"
    workers = max(1, start.num_workers)
    supply = feed.clips / (feed.busy_seconds / workers) * start.world_size
    if start.num_workers == 0:
        return supply, "decoded in the training process, which cannot train meanwhile"
    if feed.counts_pipeline_fill:
        return supply, "counted from the start of the attempt, pipeline fill included"
    return supply, None


def stages(feed: FeedCounters | None) -> list[Stage]:
    """Worker seconds by stage, largest first; busy time in no stage is ``other``."""
    if feed is None:
        return []
    seconds = dict(feed.stage_seconds)
    unnamed = feed.busy_seconds - sum(seconds.values())
    if unnamed > 0.01 * feed.busy_seconds:
        seconds["other"] = seconds.get("other", 0.0) + unnamed
    whole = sum(seconds.values())
    return [
        Stage(
            name=name,
            seconds=some,
            share=some / whole if whole > 0 else 0.0,
            seconds_per_clip=_ratio(some, feed.clips),
        )
        for name, some in sorted(seconds.items(), key=lambda item: -item[1])
    ]


def _worker_cpu_cores(start: Start, feed: FeedCounters | None) -> float | None:
    """Workers x CPU seconds / (busy + waiting seconds); None without workers or the record."""
    if feed is None or not start.num_workers:
        return None
    share = _ratio(feed.cpu_seconds, feed.busy_seconds + feed.wait_seconds)
    return _product(share, start.num_workers)


def _cores_wanted(start: Start, feed: FeedCounters | None, data_wait_share: float) -> float | None:
    """Busy workers plus busy training threads; None unless all of it is recorded, or many ranks.

    A trainer on a GPU counts as one thread. Known error: training threads are taken as busy
    whenever the trainer does not wait for data, which is too many for small models.
    """
    if start.world_size > 1 or feed is None or start.train_threads is None:
        return None
    threads = start.train_threads if start.device == "cpu" else 1
    if start.num_workers == 0:
        return threads * (1 - data_wait_share) + data_wait_share
    busy = _ratio(feed.busy_seconds, feed.busy_seconds + feed.wait_seconds)
    if busy is None:
        return None
    return start.num_workers * busy + threads * (1 - data_wait_share)


def _ratio(above: float | None, below: float) -> float | None:
    return None if above is None or below <= 0 else above / below


def _product(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one * other
