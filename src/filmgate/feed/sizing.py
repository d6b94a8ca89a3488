"""How many workers a feed begins with, how many it may have, and how many batches it keeps ready.

Arithmetic on what the machine has. What changes while the feed runs is in ``tuner``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from filmgate.errors import UserError
from filmgate.spec import Limits
from filmgate.units import counted, format_bytes

FIRST_WORKERS = 8
"""Workers that an automatic feed begins with at most; more are added when they are missed."""
FIRST_BATCHES = 4
"""Batches in the making or ready at the start, at least."""
MOST_BATCHES = 64
"""As many as an automatic feed keeps at most: what a queue that long does not level out is no
burst."""
MEMORY_SHARE = 0.25
"""Share of the available memory that the batches of all ranks on a machine may take."""
VISITS_PER_WORKER = 2
"""A worker holds the visit it is at and the next one, so that it does not wait between two."""
CORES_OF_CPU_TRAINING = 2
"""Cores that training on the CPU keeps. Its threads would fill all of them."""


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What one rank finds on its machine."""

    num_cores: int
    """Cores that its process may use."""
    num_near_cores: int | None = None
    """Of these, on the NUMA node where its workers are bound to; None where they are not."""
    num_local_ranks: int
    """Training processes on the machine, which share its cores and memory."""
    ranks_from: str
    """Who says how many they are."""
    available_bytes: int
    """Memory of the machine and the container that nobody has taken, without the feed's cache."""
    trains_on_cpu: bool


@dataclass(frozen=True, kw_only=True)
class Size:
    """Workers and depth of one feed."""

    num_workers: int
    """At the start."""
    most_workers: int
    """While it runs, as long as training is busy."""
    most_clips: int
    """Clips there are to make at once: no more workers than that."""
    num_cores: int
    """This rank's share; workers grow into the cores of a training process that waits, no
    further."""
    kept_cores: int
    """Of these, kept for training; 0 where workers may not grow into them."""
    depth_batches: int
    """Batches in the making or ready, at the start."""
    most_depth_batches: int
    """While it runs. Their memory is taken as it is used."""
    why: str
    """Where the numbers come from, for people."""

    def most_workers_when(self, wait_share: float) -> int:
        """Workers that find a core when training waits for data in this share of its time."""
        idle = math.floor(self.num_cores - self.kept_cores * (1 - wait_share) + 0.5)
        grown = max(self.most_workers, idle) if self.kept_cores else self.most_workers
        return min(grown, self.most_clips)


def choose_size(
    limits: Limits,
    around: Surroundings,
    *,
    batch_clips: int,
    clip_bytes: int,
    num_clips: int | None,
) -> Size:
    """Workers and depth for batches of ``batch_clips`` clips on this rank.

    ``num_clips`` is the length of a finite list. Raises UserError when limits contradict.
    """
    cores = max(1, around.num_cores // around.num_local_ranks)
    if around.num_near_cores is not None:
        # Nobody tells how many ranks are near the same node, so the node only bounds the share.
        cores = min(cores, around.num_near_cores)
    kept, most, why = _budget(limits, around, cores)
    first = most if limits.workers is not None else min(most, FIRST_WORKERS)
    depth, most_depth, why_depth = _depth(limits, around, first, most, batch_clips, clip_bytes)
    most_clips = most_depth * batch_clips if num_clips is None else num_clips
    most_clips = max(0, min(most_clips, most_depth * batch_clips))
    if most_clips < most:
        why = f"{why}, but no more than {most_clips} clips are in flight"
    is_fixed = limits.workers is not None
    return Size(
        num_workers=min(first, most_clips),
        most_workers=min(most, most_clips),
        most_clips=most_clips,
        num_cores=0 if is_fixed else cores,
        kept_cores=0 if is_fixed or limits.cpu_budget_cores is not None else kept,
        depth_batches=depth if min(first, most_clips) else 1,
        most_depth_batches=most_depth if min(first, most_clips) else 1,
        why=f"{why}; {why_depth}",
    )


def _budget(limits: Limits, around: Surroundings, cores: int) -> tuple[int, int, str]:
    """Cores that training keeps, workers at most, and why."""
    cap = limits.cpu_budget_cores
    if limits.workers is not None:
        if cap is not None and limits.workers > cap:
            raise UserError(
                f"limits.workers is {limits.workers}, limits.cpu_budget_cores {cap}",
                hint="leave workers out to have as many as the budget allows, or raise the budget",
            )
        return 0, limits.workers, f"limits.workers = {limits.workers}"
    kept = limits.train_threads or (CORES_OF_CPU_TRAINING if around.trains_on_cpu else 1)
    kept = min(kept, cores)
    most = max(1, cores - kept)
    why = counted(around.num_cores, "core")
    if around.num_local_ranks > 1:
        why += f" / {around.num_local_ranks} ranks ({around.ranks_from})"
    why += f" less {kept} for training, at least 1, make {_workers(most)} at most"
    if cap is not None and cap < most:
        most, why = cap, f"limits.cpu_budget_cores = {cap} of {why}"
    return kept, most, why


def _workers(count: int) -> str:
    return counted(count, "worker")


def _depth(
    limits: Limits,
    around: Surroundings,
    first_workers: int,
    most_workers: int,
    batch_clips: int,
    clip_bytes: int,
) -> tuple[int, int, str]:
    """Batches at the start, at most, and why."""
    if limits.prefetch_batches is not None:
        wanted = limits.prefetch_batches
        return wanted, wanted, f"limits.prefetch_batches = {wanted}"
    room_bytes = int(MEMORY_SHARE * around.available_bytes / around.num_local_ranks)
    fit = room_bytes // (batch_clips * clip_bytes)
    most = max(2, min(fit, max(MOST_BATCHES, _batches_for(most_workers, batch_clips))))
    first = min(most, max(FIRST_BATCHES, _batches_for(first_workers, batch_clips)))
    why = (
        f"{first} batches ahead, at most {most} of {format_bytes(batch_clips * clip_bytes)} each, "
        f"within {format_bytes(room_bytes)} of memory"
    )
    return first, most, why


def _batches_for(num_workers: int, batch_clips: int) -> int:
    """Batches that keep workers in clips while one batch is being taken."""
    return -(-VISITS_PER_WORKER * num_workers // batch_clips) + 1
