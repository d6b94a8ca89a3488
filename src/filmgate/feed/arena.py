"""Shared memory that workers write clips into: slots of equal size, and nothing to clean up.

The memory has no name: it is an anonymous file (memfd) that goes away with the last process that
holds it, however that ends. It does not lie in /dev/shm, so the size of that does not matter.

T C H W of one clip.
"""

from __future__ import annotations

import math
import mmap
import os
from pathlib import Path

import numpy as np
import psutil
from numpy.typing import NDArray

from filmgate.errors import UserError
from filmgate.units import format_bytes
from filmgate.work.cores import CGROUP_ROOT

ClipShape = tuple[int, int, int, int]

_ALIGNMENT_BYTES = 64
_CGROUP_FILES = (
    ("memory.max", "memory.current", "memory.stat"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat"),
)


class Arena:
    """Slots that each hold one clip; ``create_arena`` makes it, a worker maps its descriptor."""

    def __init__(self, descriptor: int, num_slots: int, clip_shape: ClipShape) -> None:
        self.num_slots = num_slots
        self.clip_shape = clip_shape
        self.descriptor = descriptor
        self._memory = mmap.mmap(descriptor, num_slots * slot_bytes(clip_shape))

    def clip(self, slot: int) -> NDArray[np.uint8]:
        """(T, C, H, W) the slot itself, not a copy."""
        assert 0 <= slot < self.num_slots
        start = slot * slot_bytes(self.clip_shape)
        return np.ndarray(self.clip_shape, np.uint8, buffer=self._memory, offset=start)

    def close(self) -> None:
        """Give this process's hold on the memory back, once no view of a slot is left."""
        os.close(self.descriptor)


def create_arena(num_slots: int, clip_shape: ClipShape) -> Arena:
    """A new arena. Raises UserError, with the size it needs, when memory is too small for it."""
    need_bytes = num_slots * slot_bytes(clip_shape)
    refuse_too_large(need_bytes, num_slots, available_bytes())
    descriptor = os.memfd_create("filmgate-feed", os.MFD_CLOEXEC)
    os.ftruncate(descriptor, need_bytes)
    return Arena(descriptor, num_slots, clip_shape)


def refuse_too_large(need_bytes: int, num_slots: int, have_bytes: int) -> None:
    """Raise UserError when the arena does not fit into what is available."""
    if need_bytes > have_bytes:
        raise UserError(
            f"the feed needs {format_bytes(need_bytes)} of memory for {num_slots} clips in flight, "
            f"{format_bytes(have_bytes)} are available",
            hint="lower prefetch_batches in [limits], batch_size in [train], or the size of [clip]",
        )


def slot_bytes(clip_shape: ClipShape) -> int:
    """Bytes from one slot to the next."""
    clip_bytes: int = math.prod(clip_shape)
    return -(-clip_bytes // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES


def available_bytes() -> int:
    """Memory that this process may still take: of the machine and of its container."""
    rooms: list[int] = [psutil.virtual_memory().available]
    for names in _CGROUP_FILES:
        room = _room_in_cgroup(*names)
        if room is not None:
            rooms.append(room)
    return min(rooms)


def _room_in_cgroup(limit_name: str, usage_name: str, stat_name: str) -> int | None:
    """What is left of a memory limit, counting cached file pages as free; None without a limit."""
    limit, usage = _read_number(CGROUP_ROOT / limit_name), _read_number(CGROUP_ROOT / usage_name)
    if limit is None or usage is None:
        return None
    lines = (CGROUP_ROOT / stat_name).read_text().splitlines()
    counts = dict(line.split() for line in lines)
    return limit - usage + int(counts["inactive_file"]) + int(counts["active_file"])


def _read_number(path: Path) -> int | None:
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None
