"""What to change when the trainer waits for data."""

from __future__ import annotations

from math import ceil, inf

from filmgate.diagnose.bound import is_uneven
from filmgate.diagnose.gains import gain_of_faster_feed, gain_of_overlap, gain_of_removing
from filmgate.diagnose.measured import Measured
from filmgate.diagnose.verdict import Remedy
from filmgate.records.telemetry import Start
from filmgate.units import format_bytes, format_rate, format_share

COPY_COMMAND = "with `filmgate prepare` (docs/prepare.md)"
"""What makes a training copy, and where it is explained."""
HEADROOM = 1.1
"""Supply aimed at over demand; our choice, the spread of the design measurements."""
WORKER_EFFICIENCY = 0.95
"""Gain of a second worker over a perfect one. Source: design measurement, two workers delivered 1.9
to 2.0 times the clips of one on a machine with two free cores."""
CPU_LIMITED_SHARE = 0.9
"""Share of busy time on the CPU from which workers count as limited by it; our choice."""
STORAGE_LIMITED_SHARE = 0.5
"""Share of busy time on the CPU below which they mostly wait for storage, cores being free; our
choice."""
COPY_DECODED_PER_DELIVERED = 2.0
"""Frames a laid-out training copy decodes per delivered frame, at most: no B-frames, key frames at
clip starts, and the default stride of 2. It leaves out that smaller frames decode faster."""
MOST_WORKERS_UNSEEN = 8
"""Workers that are proposed at most where the number of cores is not known."""
IMAGE_STAGES = ("decode", "convert", "scale", "resize", "crop")
"""Stages that a training copy at the training size shortens."""


def data_remedies(measured: Measured) -> list[Remedy]:
    """Settings first, then copies, then hardware; only what the evidence leaves possible."""
    start = measured.start
    assert start is not None
    found = (
        _use_workers(measured, start),
        _longer_queue(measured),
        _more_workers(measured, start),
        _local_copy(measured),
        _training_copy(measured),
        _more_cores(measured, start),
    )
    return [remedy for remedy in found if remedy is not None]


def _use_workers(measured: Measured, start: Start) -> Remedy | None:
    if start.num_workers > 0 or (start.cores is not None and start.cores < 2):
        return None
    own = measured.step_seconds * (1 - measured.shares["save"]) - measured.data_wait_seconds
    most = MOST_WORKERS_UNSEEN if start.cores is None else max(1, start.cores - 1)
    wait = HEADROOM * measured.data_wait_seconds
    # A step that takes no time of its own can never be fed enough.
    workers = max(1, ceil(wait / own)) if wait < most * own else most
    alone = start.device != "cpu" and start.cores is not None
    return Remedy(
        kind="setting",
        action=f"set limits.workers = {workers} (now 0)",
        why=f"the training process decodes itself, {format_share(measured.shares['data_wait'])} "
        "of training time, and cannot train meanwhile",
        gain_low=gain_of_overlap(measured, 1) if alone else 0.0,
        gain_high=gain_of_overlap(measured, workers),
        assumes="new step = max(own time, data wait / workers)"
        + ("" if alone else "; at least 0, because training may want the same cores"),
    )


def _longer_queue(measured: Measured) -> Remedy | None:
    if not is_uneven(measured):
        return None
    supply = format_rate(measured.rates.supply_clips_per_second, "clips")
    demand = format_rate(measured.rates.demand_clips_per_second, "clips")
    return Remedy(
        kind="setting",
        action="double limits.prefetch_batches",
        why=f"the workers could give {supply} and the trainer takes {demand}: it waits for the "
        "slowest clips, not for want of supply",
        gain_low=0.0,
        gain_high=gain_of_removing(measured, "data_wait"),
        assumes="at most: the longer queue rides over every slow clip",
        costs=f"{_queue_bytes(measured)} of memory for each batch more",
    )


def _queue_bytes(measured: Measured) -> str:
    start = measured.start
    assert start is not None
    return format_bytes(start.batch_size * start.clip_bytes / start.world_size)


def _more_workers(measured: Measured, start: Start) -> Remedy | None:
    """Supply grows by at most new / old workers, and only on cores that are free."""
    now, free = start.num_workers, measured.free_cores
    if now == 0 or is_uneven(measured) or measured.is_contended or _is_storage_limited(measured):
        return None
    wanted = _workers_wanted(measured, now)
    workers = wanted if free is None else min(wanted, now + int(free))
    if workers <= now:
        return None
    times = workers / now
    sure = free is not None and (measured.rates.worker_cpu_share or 0.0) >= CPU_LIMITED_SHARE
    return Remedy(
        kind="setting",
        action=f"set limits.workers = {workers} (now {now})"
        + ("" if free is not None else f", if the machine has {workers + 1} cores"),
        why=f"the workers are busy {format_share(measured.rates.worker_busy_share)} of the time"
        + ("" if free is None else f", and {int(free)} of {start.cores} cores are idle"),
        gain_low=gain_of_faster_feed(measured, 1 + (times - 1) * WORKER_EFFICIENCY) if sure else 0,
        gain_high=gain_of_faster_feed(measured, times),
        assumes=f"supply grows by at most {workers}/{now}"
        + (
            ", on whole free cores"
            if sure
            else "; at least 0, because storage or cores may be the limit"
        ),
    )


def _workers_wanted(measured: Measured, now: int) -> int:
    demand = measured.rates.demand_clips_per_second
    supply = measured.rates.supply_clips_per_second
    if demand is None or supply is None:
        return now + 1
    return max(now + 1, ceil(now * HEADROOM * demand / supply))


def _is_storage_limited(measured: Measured) -> bool:
    share = measured.rates.worker_cpu_share
    return share is not None and share < STORAGE_LIMITED_SHARE and not measured.is_contended


def _local_copy(measured: Measured) -> Remedy | None:
    share = measured.rates.worker_cpu_share
    if share is None or not _is_storage_limited(measured):
        return None
    return Remedy(
        kind="copy",
        action="copy the videos to a local disk before training",
        why=f"the workers computed only {format_share(share)} of their busy time; "
        "the rest they waited, most likely for storage",
        gain_low=0.0,
        gain_high=gain_of_faster_feed(measured, inf if share <= 0 else 1 / share),
        assumes="at most: reading takes no time",
        costs="disk space on this machine",
    )


def _training_copy(measured: Measured) -> Remedy | None:
    shortened = measured.stage_share(*IMAGE_STAGES)
    if shortened <= 0 or is_uneven(measured) or reads_copies(measured):
        return None
    ratio = measured.rates.frames_decoded_per_frame_delivered
    sure = _sure_times(measured)
    return Remedy(
        kind="copy",
        action=f"make a training copy {COPY_COMMAND}: the training size, laid out for your clips",
        why=f"{format_share(shortened)} of the workers' time goes into decoding and scaling"
        + ("" if ratio is None else f", with {ratio:.1f} frames decoded per frame delivered"),
        gain_low=gain_of_faster_feed(measured, sure),
        gain_high=gain_of_faster_feed(measured, 1 / (1 - shortened) if shortened < 1 else inf),
        assumes=(
            f"at least: {COPY_DECODED_PER_DELIVERED:g} frames decoded per frame delivered, each at "
            "today's cost; "
            if sure > 1
            else ""
        )
        + "at most: decoding and scaling take no time",
        costs="disk space (0.35 to 0.6 times the source in our measurement), and one pass over "
        "the videos; the copy is slightly lossy",
    )


def reads_copies(measured: Measured) -> bool:
    """Whether the run was trained from a training copy already."""
    return measured.start is not None and measured.start.copy_layout is not None


def _sure_times(measured: Measured) -> float:
    """Supply of a training copy over today's, counting only frames that need no decoding any more.

    1 / (1 - decode share x (1 - new ratio / old ratio)); 1 where storage may be the limit or the
    ratio is unknown or already as low.
    """
    ratio = measured.rates.frames_decoded_per_frame_delivered
    if ratio is None or ratio <= COPY_DECODED_PER_DELIVERED or _is_storage_limited(measured):
        return 1.0
    saved = measured.stage_share("decode") * (1 - COPY_DECODED_PER_DELIVERED / ratio)
    return 1 / (1 - saved)


def _more_cores(measured: Measured, start: Start) -> Remedy | None:
    if is_uneven(measured) or _is_storage_limited(measured):
        return None
    supply, demand = measured.rates.supply_clips_per_second, measured.rates.demand_clips_per_second
    workers, free = max(1, start.num_workers), measured.free_cores
    wanted = _workers_wanted(measured, workers)
    if free is not None and wanted - start.num_workers <= int(free):
        return None
    known = supply is not None and demand is not None
    action = f"take a machine with {f'{wanted + 1} free' if known else 'more'} cores"
    return Remedy(
        kind="hardware",
        action=action,
        why=f"{workers} {'reader supplies' if workers == 1 else 'readers supply'} "
        f"{format_rate(supply, 'clips')}; the trainer would take {format_rate(demand, 'clips')}",
        gain_low=0.0,
        gain_high=gain_of_removing(measured, "data_wait"),
        assumes="at most: no data wait is left",
    )
