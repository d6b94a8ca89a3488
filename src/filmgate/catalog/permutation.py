"""Shuffling and chance as arithmetic: any place of any epoch is found at once, no list is made.

Both are part of the order of a run: a change here changes which clips a seed gives, so it also
changes ``ORDER_VERSION`` in ``order_facts.py``.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from functools import cached_property

from blake3 import blake3

_NUM_ROUNDS = 12
_MASK64 = (1 << 64) - 1


@dataclass(frozen=True, kw_only=True)
class Permutation:
    """A shuffle of ``range(size)`` that the key picks; call it with a place to get what lies there.

    A Feistel network over the smallest grid of rows x columns that holds ``size`` cells, walked
    until it lands inside ``size``. The grid is at most one row larger than needed, so a walk of
    more than one step is rare.
    Source: Black and Rogaway, "Ciphers with Arbitrary Finite Domains" (2002), section 3 and 4.
    """

    size: int
    """Number of places, at least 1."""
    key: bytes
    """Any bytes; another key gives another shuffle."""

    @cached_property
    def _round_keys(self) -> tuple[int, ...]:
        length = 8 * _NUM_ROUNDS
        return struct.unpack(f"<{_NUM_ROUNDS}Q", blake3(self.key).digest(length))

    @cached_property
    def _grid(self) -> tuple[int, int]:
        rows = math.isqrt(self.size - 1) + 1
        return rows, -(-self.size // rows)

    def __call__(self, place: int) -> int:
        """What lies at ``place``. Raises IndexError outside ``range(size)``."""
        if not 0 <= place < self.size:
            raise IndexError(f"place {place} is outside 0..{self.size - 1}")
        cell = self._step(place)
        while cell >= self.size:
            cell = self._step(cell)
        return cell

    def place_of(self, item: int) -> int:
        """Where ``item`` lies: the inverse. Raises IndexError outside ``range(size)``."""
        if not 0 <= item < self.size:
            raise IndexError(f"item {item} is outside 0..{self.size - 1}")
        cell = self._step_back(item)
        while cell >= self.size:
            cell = self._step_back(cell)
        return cell

    def _step(self, cell: int) -> int:
        rows, columns = self._grid
        row, column = divmod(cell, columns)
        for number, key in enumerate(self._round_keys):
            if number % 2 == 0:
                row = (row + _mix(column ^ key)) % rows
            else:
                column = (column + _mix(row ^ key)) % columns
        return row * columns + column

    def _step_back(self, cell: int) -> int:
        rows, columns = self._grid
        row, column = divmod(cell, columns)
        for number, key in reversed(list(enumerate(self._round_keys))):
            if number % 2 == 0:
                row = (row - _mix(column ^ key)) % rows
            else:
                column = (column - _mix(row ^ key)) % columns
        return row * columns + column


def _mix(number: int) -> int:
    """A well-mixed 64-bit number. Source: the finalizer of SplitMix64 (Steele et al., 2014)."""
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & _MASK64
    number = (number ^ number >> 27) * 0x94D049BB133111EB & _MASK64
    return number ^ number >> 31


def draw(key: bytes, *counters: int) -> tuple[int, int, int, int]:
    """Four independent uniform 64-bit numbers, a pure function of the key and the counters."""
    message = struct.pack(f"<{len(counters)}Q", *counters)
    first, second, third, fourth = struct.unpack("<4Q", blake3(key + message).digest())
    return first, second, third, fourth


def below(number: int, bound: int) -> int:
    """A uniform 64-bit number scaled to ``range(bound)``; ``bound`` is at least 1."""
    return number * bound >> 64


def share(number: int) -> float:
    """A uniform 64-bit number scaled to 0 <= share < 1."""
    return (number >> 11) * 2.0**-53
