"""What PyTorch's caching allocator would take from the card for a list of allocations.

Source: c10/cuda/CUDACachingAllocator.cpp of PyTorch 2.13, default settings: two pools, best fit,
blocks split and merged within their segment, segments kept.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable

MIB = 2**20
SMALL_BYTES = MIB
"""Up to this an allocation comes from the pool of small segments (kSmallSize)."""
SMALL_SEGMENT_BYTES = 2 * MIB
"""kSmallBuffer."""
MIDDLE_BYTES = 10 * MIB
"""Below it an allocation opens a segment of fixed size (kMinLargeAlloc)."""
MIDDLE_SEGMENT_BYTES = 20 * MIB
"""kLargeBuffer."""
SEGMENT_ROUND_BYTES = 2 * MIB
"""Larger segments are multiples of it (kRoundLarge)."""
LEAST_SPLIT_BYTES = {True: 512, False: MIB}
"""A rest smaller than this stays with its block; small pool first."""


class _Block:
    __slots__ = ("address", "after", "before", "free", "size", "small")

    def __init__(self, address: int, size: int, small: bool) -> None:
        self.address = address
        self.size = size
        self.small = small
        self.free = False
        self.before: _Block | None = None
        self.after: _Block | None = None

    def __lt__(self, other: _Block) -> bool:
        return (self.size, self.address) < (other.size, other.address)


class CachingAllocator:
    """Segments and blocks; ``reserved_bytes`` never falls, as without an ``empty_cache``."""

    def __init__(self) -> None:
        self.reserved_bytes = 0
        self._pools: dict[bool, list[_Block]] = {True: [], False: []}
        self._used: list[_Block] = []
        self._next_address = 0

    def replay(self, events: Iterable[int]) -> None:
        """Bytes of allocations, and -1 - number for the release of the number-th one."""
        for event in events:
            if event >= 0:
                self._used.append(self._take(max(event, 512)))
            else:
                self._give_back(self._used[-1 - event])

    def _take(self, size: int) -> _Block:
        small = size <= SMALL_BYTES
        pool = self._pools[small]
        place = bisect_left(pool, size, key=_size)
        block = pool.pop(place) if place < len(pool) else self._segment(size, small)
        block.free = False
        rest = block.size - size
        if rest >= LEAST_SPLIT_BYTES[small] and (small or rest > LEAST_SPLIT_BYTES[small]):
            self._split(block, size)
        return block

    def _segment(self, size: int, small: bool) -> _Block:
        if small:
            num_bytes = SMALL_SEGMENT_BYTES
        elif size < MIDDLE_BYTES:
            num_bytes = MIDDLE_SEGMENT_BYTES
        else:
            num_bytes = -(-size // SEGMENT_ROUND_BYTES) * SEGMENT_ROUND_BYTES
        self.reserved_bytes += num_bytes
        self._next_address += num_bytes
        return _Block(self._next_address - num_bytes, num_bytes, small)

    def _split(self, block: _Block, size: int) -> None:
        rest = _Block(block.address + size, block.size - size, block.small)
        rest.free = True
        rest.before, rest.after = block, block.after
        if block.after is not None:
            block.after.before = rest
        block.after = rest
        block.size = size
        insort(self._pools[block.small], rest)

    def _give_back(self, block: _Block) -> None:
        pool = self._pools[block.small]
        block.free = True
        after = block.after
        if after is not None and after.free:
            _remove(pool, after)
            block.size += after.size
            block.after = after.after
            if after.after is not None:
                after.after.before = block
        before = block.before
        if before is not None and before.free:
            _remove(pool, before)
            before.size += block.size
            before.after = block.after
            if block.after is not None:
                block.after.before = before
            block = before
        insort(pool, block)


def _size(block: _Block) -> int:
    return block.size


def _remove(pool: list[_Block], block: _Block) -> None:
    del pool[bisect_left(pool, block)]
