"""Opening a feed: the job's rules over a catalog, checked before any worker starts."""

from __future__ import annotations

import os
from pathlib import Path

import torch

from filmgate.catalog import Catalog
from filmgate.catalog.augmentation import is_mixed
from filmgate.catalog.clip_frames import Split
from filmgate.catalog.order import Order
from filmgate.catalog.order_over import order_over
from filmgate.errors import UserError
from filmgate.feed.arena import ArenaPlan, ClipShape, create_arena, private_arena, slot_bytes
from filmgate.feed.clip_maker import make_clip_maker
from filmgate.feed.courier import Courier
from filmgate.feed.crew import Crew
from filmgate.feed.division import Division, check_pairs, check_ranks
from filmgate.feed.feed import Feed
from filmgate.feed.frame_store import StorePlan, create_store, plan_store
from filmgate.feed.local import LocalSource
from filmgate.feed.mapping import available_bytes
from filmgate.feed.process import start_process
from filmgate.feed.sizing import Size, Surroundings, choose_size
from filmgate.feed.source import ClipSource, PooledSource
from filmgate.feed.targets import choose_targets
from filmgate.feed.tuner import Tuner
from filmgate.spec import Job
from filmgate.units import parse_bytes
from filmgate.work.cores import num_usable_cores
from filmgate.work.numa import NearCores, cores_near
from filmgate.work.ranks import num_local_ranks


def open_feed(
    job: Job,
    catalog: Catalog,
    *,
    split: Split = "train",
    start_sample: int = 0,
    rank: int = 0,
    world_size: int = 1,
    batch_step: int = 1,
    device: torch.device | str | None = None,
) -> Feed:
    """A feed of the job's clips over a catalog, with its workers starting.

    The training split never ends; the held-out split ends after its last clip, and is empty when
    no video has a held-out part. ``start_sample`` counts over all ranks. With ``batch_step`` N the
    feed gives every N-th batch, so that N feeds can share the work.

    ``device`` is where the batches are used. On a GPU their frames and labels arrive there, the
    next batch while one is used, and workers run near it. Otherwise nothing is copied.

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
    courier = _courier(device)
    near = near_cores(job, torch.device(device) if device is not None else None)
    size = _size(job, order, division, near, torch.device(device or _training_device(job)))
    plan = arena_plan(job, order, division, size)
    store_plan = _store_plan(job, catalog, order)
    feed = Feed(
        job=job,
        catalog=catalog,
        order=order,
        targets=choose_targets(job.data.target, catalog),
        division=division,
        size=size,
        near=near,
        courier=courier,
        cache_slots=range(plan.num_slots, plan.num_slots + plan.num_cache_slots),
        store_plan=store_plan,
        open_source=lambda tuner: _open_source(
            job, catalog, order, plan, store_plan, tuner, near.cores
        ),
    )
    feed.start()
    return feed


def clip_shape(job: Job) -> ClipShape:
    """(T, C, H, W) of the job's clips, or (T, H * 3 / 2, W) where they travel in planes.

    Raises UserError for a job whose clips have no such planes.
    """
    clip = job.clip
    if job.data.transport == "rgb24":
        return clip.frames, 3, clip.height, clip.width
    if clip.height % 2 or clip.width % 2:
        raise UserError(
            f"clips of {clip.height} x {clip.width} have no yuv420p",
            hint='make height and width in [clip] even, or set transport = "rgb24" in [data]',
        )
    if job.limits.cache is not None and job.data.lookahead == 1:
        raise UserError(
            "the cache keeps decoded frames as RGB, and data.transport is yuv420p",
            hint="leave cache in [limits] out, set lookahead in [data] above 1 so that it holds "
            'clips, or set transport = "rgb24"',
        )
    return clip.frames, clip.height * 3 // 2, clip.width


def _training_device(job: Job) -> str:
    """``cuda`` or ``cpu``: where training is to run."""
    wants_gpu = job.train.device != "cpu"
    return "cuda" if wants_gpu and torch.cuda.is_available() else "cpu"


def _size(
    job: Job, order: Order, division: Division, near: NearCores, device: torch.device
) -> Size:
    """Workers and depth, as the job says or as the machine allows."""
    local_ranks, ranks_from = num_local_ranks(division.world_size)
    cores = num_usable_cores()
    around = Surroundings(
        num_cores=cores,
        num_local_ranks=local_ranks,
        ranks_from=ranks_from,
        available_bytes=max(0, available_bytes() - _cache_ram_bytes(job)),
        trains_on_cpu=device.type == "cpu",
        num_near_cores=None if near.cores is None else len(near.cores),
    )
    rest = None if division.num_samples is None else division.num_samples - division.first
    return choose_size(
        job.limits,
        around,
        batch_clips=division.rank_batch_size,
        clip_bytes=slot_bytes(clip_shape(job)),
        num_clips=rest,
    )


def _cache_ram_bytes(job: Job) -> int:
    in_ram = job.limits.cache is not None and job.limits.cache_folder is None
    return parse_bytes(job.limits.cache) if in_ram and job.limits.cache else 0


def _courier(device: torch.device | str | None) -> Courier | None:
    """What takes batches to a GPU; None where they stay in host memory.

    Raises UserError for a device that a feed cannot copy to.
    """
    if device is None or torch.device(device).type == "cpu":
        return None
    chosen = torch.device(device)
    if chosen.type != "cuda" or not torch.cuda.is_available():
        raise UserError(
            f"batches cannot be taken to {chosen}",
            hint="a feed delivers to cpu, and to cuda where torch sees a GPU",
        )
    return Courier(chosen)


def near_cores(job: Job, device: torch.device | None) -> NearCores:
    """Where workers run: near the GPU that the batches go to."""
    if not job.limits.bind_near_gpu:
        return NearCores(node=None, cores=None, why="limits.bind_near_gpu is false")
    if device is None or device.type != "cuda":
        return NearCores(node=None, cores=None, why="the batches go to no GPU")
    address = _pci_address(device)
    if address is None:
        return NearCores(node=None, cores=None, why="this torch does not tell where the GPU is")
    return cores_near(address, os.sched_getaffinity(0))


def _pci_address(device: torch.device) -> str | None:
    """``0000:65:00.0``; None where torch does not tell."""
    facts = torch.cuda.get_device_properties(device)
    names = ("pci_domain_id", "pci_bus_id", "pci_device_id")
    domain, bus, slot = (getattr(facts, name, None) for name in names)
    return None if None in (domain, bus, slot) else f"{domain:04x}:{bus:02x}:{slot:02x}.0"


def arena_plan(job: Job, order: Order, division: Division, size: Size) -> ArenaPlan:
    """The clips that are held in memory: those in flight, and those made ahead."""
    shape = clip_shape(job)
    num_slots = size.most_depth_batches * division.rank_batch_size
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
    tuner: Tuner,
    cores: frozenset[int] | None,
) -> ClipSource:
    split, digest = order.facts.split, order.digest
    deadline_seconds = job.limits.clip_deadline_seconds
    store = create_store(store_plan, plan.cache_folder, is_shared=tuner.num_workers > 0)
    if tuner.num_workers == 0:
        return LocalSource(
            lambda: make_clip_maker(job, catalog, split, store, order_digest=digest),
            private_arena(plan),
            store,
            deadline_seconds,
            tuner,
        )
    arena = create_arena(plan)
    crew = Crew(
        lambda: start_process(arena, store, job, catalog, split, digest, cores),
        size=tuner.num_workers,
        clip_deadline_seconds=deadline_seconds,
    )
    visit_deadline_seconds = deadline_seconds * max_clips_in_visit(job, split)
    source = PooledSource(arena, store, crew, visit_deadline_seconds, tuner)
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
