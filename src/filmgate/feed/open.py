"""Opening a feed: the job's rules over a catalog, checked before any worker starts."""

from __future__ import annotations

from pathlib import Path

from filmgate.catalog import Catalog
from filmgate.catalog.augmentation import is_mixed
from filmgate.catalog.clip_frames import Split
from filmgate.catalog.order import Order
from filmgate.errors import UserError
from filmgate.feed.arena import ArenaPlan, ClipShape, create_arena, private_arena, slot_bytes
from filmgate.feed.clip_maker import make_clip_maker, order_over
from filmgate.feed.crew import Crew
from filmgate.feed.division import Division, check_pairs, check_ranks
from filmgate.feed.feed import Feed
from filmgate.feed.frame_store import StorePlan, create_store, plan_store
from filmgate.feed.process import start_process
from filmgate.feed.source import ClipSource, LocalSource, PooledSource
from filmgate.feed.targets import choose_targets
from filmgate.spec import Job
from filmgate.units import parse_bytes
from filmgate.work.cores import num_usable_cores


def open_feed(
    job: Job,
    catalog: Catalog,
    *,
    split: Split = "train",
    start_sample: int = 0,
    rank: int = 0,
    world_size: int = 1,
    batch_step: int = 1,
) -> Feed:
    """A feed of the job's clips over a catalog, with its workers starting.

    The training split never ends; the held-out split ends after its last clip, and is empty when
    no video has a held-out part. ``start_sample`` counts over all ranks. With ``batch_step`` N the
    feed gives every N-th batch, so that N feeds can share the work.

    Raises UserError for a job that does not fit the catalog, the ranks or the memory.
    """
    order = order_over(job, catalog, split, catalog.frame_table)
    if start_sample < 0:
        raise UserError(f"start_sample is {start_sample}", hint="samples count from 0")
    check_ranks(job.train.batch_size, rank, world_size)
    division = Division(
        first=start_sample,
        num_samples=order.num_samples,
        batch_size=job.train.batch_size,
        rank=rank,
        world_size=world_size,
        batch_step=batch_step,
    )
    if is_mixed(order.facts.augment):
        check_pairs(division)
    num_workers = _num_workers(job, division)
    plan = arena_plan(job, order, division, num_workers)
    store_plan = _store_plan(job, catalog, order)
    feed = Feed(
        job=job,
        catalog=catalog,
        order=order,
        targets=choose_targets(job.data.target, catalog),
        division=division,
        num_workers=num_workers,
        cache_slots=range(plan.num_slots, plan.num_slots + plan.num_cache_slots),
        store_plan=store_plan,
        open_source=lambda: _open_source(job, catalog, order, plan, store_plan, num_workers),
    )
    feed.start()
    return feed


def clip_shape(job: Job) -> ClipShape:
    """(T, C, H, W) of the job's clips."""
    return job.clip.frames, 3, job.clip.height, job.clip.width


def _num_workers(job: Job, division: Division) -> int:
    """As the job says, or one per core, less one for training when there are more than two.

    Never more than there are clips in flight, or clips at all.
    """
    wanted = job.limits.workers
    if wanted is None:
        cores = num_usable_cores()
        wanted = cores - 1 if cores > 2 else cores
    wanted = min(wanted, _num_slots(job, division))
    if division.num_samples is None:
        return wanted
    return min(wanted, max(0, division.num_samples - division.first))


def _num_slots(job: Job, division: Division) -> int:
    """Clips in flight."""
    return job.limits.prefetch_batches * division.rank_batch_size


def arena_plan(job: Job, order: Order, division: Division, num_workers: int) -> ArenaPlan:
    """The clips that are held in memory: those in flight, and those made ahead."""
    shape = clip_shape(job)
    num_slots = _num_slots(job, division) if num_workers else division.rank_batch_size
    num_ahead = job.data.lookahead * order.epoch_size // division.world_size
    budget_bytes = parse_bytes(job.limits.cache) if job.limits.cache else 0
    is_used = job.data.lookahead > 1 and division.num_samples is None
    folder = job.limits.cache_folder
    return ArenaPlan(
        clip_shape=shape,
        num_slots=num_slots,
        num_cache_slots=min(num_ahead, budget_bytes // slot_bytes(shape)) if is_used else 0,
        cache_folder=Path(folder).expanduser() if folder else None,
    )


def _open_source(
    job: Job,
    catalog: Catalog,
    order: Order,
    plan: ArenaPlan,
    store_plan: StorePlan | None,
    num_workers: int,
) -> ClipSource:
    split, digest = order.facts.split, order.digest
    deadline_seconds = job.limits.clip_deadline_seconds
    store = create_store(store_plan, plan.cache_folder, is_shared=num_workers > 0)
    if num_workers == 0:
        maker = make_clip_maker(job, catalog, split, store, order_digest=digest)
        return LocalSource(maker, private_arena(plan), store, deadline_seconds)
    arena = create_arena(plan)
    crew = Crew(
        lambda: start_process(arena, store, job, catalog, split, digest),
        size=num_workers,
        clip_deadline_seconds=deadline_seconds,
    )
    source = PooledSource(arena, store, crew, deadline_seconds * max_clips_in_visit(job, split))
    source.start()
    return source


def _store_plan(job: Job, catalog: Catalog, order: Order) -> StorePlan | None:
    """Decoded frames are kept for training, unless the cache holds clips made ahead."""
    if job.limits.cache is None or job.data.lookahead > 1 or order.facts.split == "holdout":
        return None
    if job.clip.crop == "random-resized":
        raise UserError(
            'a cache of decoded frames does not go with crop = "random-resized": frames are kept '
            "at the size of the clip, and such a crop is cut from the video's own",
            hint="set lookahead above 1 in [data], then the cache holds clips; or remove cache",
        )
    plan = plan_store(job, catalog, order, parse_bytes(job.limits.cache))
    return plan if plan.videos else None


def max_clips_in_visit(job: Job, split: Split) -> int:
    """The most clips that are made together."""
    if split == "holdout":
        return job.data.eval_clips_per_video * job.data.eval_crops
    if job.data.lookahead == 1:
        return 1
    return job.data.lookahead * job.data.clips_per_video
