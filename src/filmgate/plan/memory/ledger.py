"""Which bytes live on the device, what they are for, and when they were taken and given back."""

from __future__ import annotations

from enum import IntEnum

ROUND_BYTES = 512
"""The caching allocator hands out multiples of it. Source: kMinBlockSize, c10 CUDACachingAllocator
of PyTorch 2.13."""


class Kind(IntEnum):
    """What holds bytes."""

    WEIGHTS = 0
    GRADIENTS = 1
    OPTIMIZER = 2
    ACTIVATIONS = 3
    TEMPORARIES = 4
    COMMUNICATION = 5


_MOVING = (Kind.ACTIVATIONS, Kind.TEMPORARIES)
"""What comes and goes within a step."""


class Storage:
    """Bytes on the device; they are freed when nothing refers to them any more."""

    __slots__ = ("kind", "ledger", "number", "size")

    def __init__(self, ledger: Ledger, num_bytes: int, kind: Kind) -> None:
        self.ledger = ledger
        self.size = -(-num_bytes // ROUND_BYTES) * ROUND_BYTES
        self.kind = kind
        self.number = ledger.taken(self)

    def __del__(self) -> None:
        self.ledger.freed(self)

    def become(self, kind: Kind) -> None:
        """Count it as something else from now on."""
        self.ledger.moved(self, kind)


class Ledger:
    """Live bytes by kind, their peak, and every allocation and release in order."""

    def __init__(self) -> None:
        self.live = [0] * len(Kind)
        self.total = 0
        self.peak = 0
        self.peak_live = list(self.live)
        self.peak_phase = ""
        self.phase = ""
        self.events: list[int] = []
        """Bytes of an allocation, or -1 - number for the release of the number-th one."""
        self._numbers = 0
        self._live_by_size: dict[int, int] = {}
        self._most_by_size: dict[int, int] = {}

    @property
    def most_by_size_bytes(self) -> int:
        """Most bytes of activations and temporaries of each size at a time, added up.

        What an allocator takes that gives a freed block only to a tensor of the same size.
        """
        return sum(self._most_by_size.values())

    def taken(self, storage: Storage) -> int:
        """Count an allocation; its number."""
        self.live[storage.kind] += storage.size
        self.total += storage.size
        if self.total > self.peak:
            self.peak = self.total
            self.peak_live = list(self.live)
            self.peak_phase = self.phase
        self.events.append(storage.size)
        if storage.kind in _MOVING:
            size = storage.size
            live = self._live_by_size[size] = self._live_by_size.get(size, 0) + size
            if live > self._most_by_size.get(size, 0):
                self._most_by_size[size] = live
        self._numbers += 1
        return self._numbers - 1

    def freed(self, storage: Storage) -> None:
        """Count a release."""
        self.live[storage.kind] -= storage.size
        self.total -= storage.size
        self.events.append(-1 - storage.number)
        if storage.kind in _MOVING:
            self._live_by_size[storage.size] -= storage.size

    def moved(self, storage: Storage, kind: Kind) -> None:
        """Count the same bytes as another kind."""
        self.live[storage.kind] -= storage.size
        self.live[kind] += storage.size
        if storage.kind in _MOVING and kind not in _MOVING:
            self._live_by_size[storage.size] -= storage.size
        storage.kind = kind
