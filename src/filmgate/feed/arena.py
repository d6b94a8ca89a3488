"""The memory that clips are made in: a ring of slots for those in flight, and the cache's.

Slots have equal size and hold one finished clip each. Those of the ring come first, those of the
cache are numbered on from them. A clip is (T, C, H, W) in RGB, or (T, P, W) in planes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from filmgate.feed.mapping import (
    Memory,
    file_memory,
    open_memory,
    private_memory,
    refuse_too_large,
    shared_memory,
)

ClipShape = tuple[int, ...]
"""(T, C, H, W) of a clip in RGB, (T, H * 3 / 2, W) of one in planes."""

_ALIGNMENT_BYTES = 64
_RING_HINT = "lower prefetch_batches in [limits], batch_size in [train], or the size of [clip]"
_CACHE_HINT = "lower cache in [limits], or put it on a local disk with cache_folder"


@dataclass(frozen=True, kw_only=True)
class ArenaPlan:
    """How many clips of which shape an arena holds, and where."""

    clip_shape: ClipShape
    num_slots: int
    """Clips in flight."""
    num_cache_slots: int = 0
    """Clips that are kept until later epochs ask for them."""
    cache_folder: Path | None = None
    """Where the cache is a file; None keeps it in RAM."""

    @property
    def ring_bytes(self) -> int:
        """Size of the ring."""
        return self.num_slots * slot_bytes(self.clip_shape)

    @property
    def cache_bytes(self) -> int:
        """Size of the cache."""
        return self.num_cache_slots * slot_bytes(self.clip_shape)


@dataclass(frozen=True, kw_only=True)
class ArenaHandle:
    """What a worker that inherits the descriptors has to know."""

    plan: ArenaPlan
    ring: int
    cache: int | None


class Arena:
    """Slots by number; made by ``create_arena``, ``private_arena`` or ``open_arena``."""

    def __init__(self, plan: ArenaPlan, ring: Memory, cache: Memory | None) -> None:
        self.plan = plan
        self._ring = ring
        self._cache = cache

    @property
    def handle(self) -> ArenaHandle:
        """For ``open_arena`` in another process."""
        assert self._ring.descriptor is not None
        cache = self._cache.descriptor if self._cache is not None else None
        return ArenaHandle(plan=self.plan, ring=self._ring.descriptor, cache=cache)

    @property
    def descriptors(self) -> tuple[int, ...]:
        """What another process has to inherit."""
        handle = self.handle
        return (handle.ring,) if handle.cache is None else (handle.ring, handle.cache)

    def clip(self, slot: int) -> NDArray[np.uint8]:
        """The slot itself, not a copy, in the shape of a clip."""
        place = slot - self.plan.num_slots
        assert slot >= 0 and place < self.plan.num_cache_slots
        memory = self._ring if place < 0 or self._cache is None else self._cache
        start = (slot if place < 0 else place) * slot_bytes(self.plan.clip_shape)
        return np.ndarray(self.plan.clip_shape, np.uint8, buffer=memory.view, offset=start)

    def close(self) -> None:
        """Give this process's hold on the memory back, once no view of a slot is left."""
        self._ring.close()
        if self._cache is not None:
            self._cache.close()


def create_arena(plan: ArenaPlan) -> Arena:
    """A new arena for workers to map.

    Raises UserError, with the size it needs, when memory or disk is too small for it.
    """
    _refuse_too_large(plan)
    return Arena(plan, shared_memory(plan.ring_bytes), _cache(plan))


def private_arena(plan: ArenaPlan) -> Arena:
    """A new arena for this process alone. Raises UserError as ``create_arena``."""
    _refuse_too_large(plan)
    cache = None
    if plan.cache_bytes:
        in_file = plan.cache_folder is not None
        cache = _cache(plan) if in_file else private_memory(plan.cache_bytes)
    return Arena(plan, private_memory(plan.ring_bytes), cache)


def open_arena(handle: ArenaHandle) -> Arena:
    """The arena of another process."""
    plan = handle.plan
    cache = None if handle.cache is None else open_memory(handle.cache, plan.cache_bytes)
    return Arena(plan, open_memory(handle.ring, plan.ring_bytes), cache)


def _cache(plan: ArenaPlan) -> Memory | None:
    if not plan.cache_bytes:
        return None
    if plan.cache_folder is not None:
        return file_memory(plan.cache_bytes, plan.cache_folder)
    return shared_memory(plan.cache_bytes)


def _refuse_too_large(plan: ArenaPlan) -> None:
    refuse_too_large(plan.ring_bytes, f"{plan.num_slots} clips in flight", _RING_HINT)
    if plan.cache_folder is None and plan.cache_bytes:
        what = f"{plan.num_slots} clips in flight and {plan.num_cache_slots} in the cache"
        refuse_too_large(plan.ring_bytes + plan.cache_bytes, what, _CACHE_HINT)


def slot_bytes(clip_shape: ClipShape) -> int:
    """Bytes from one slot to the next."""
    clip_bytes: int = math.prod(clip_shape)
    return -(-clip_bytes // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES
