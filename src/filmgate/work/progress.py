"""Counting what is done, with a forecast of the rest."""

from __future__ import annotations

import time

from filmgate.work.task import Progress


class Counter:
    """Counts what one start of a work has done."""

    def __init__(self, total: int, bytes_total: int) -> None:
        self._since = time.monotonic()
        self._total = total
        self._bytes_total = bytes_total
        self._done = self._bytes_done = 0
        self._reused = self._bytes_reused = 0
        self._quarantined = 0

    def count(self, size_bytes: int, *, reused: bool = False, quarantined: bool = False) -> None:
        """Count one task that is done."""
        self._done += 1
        self._bytes_done += size_bytes
        if reused:
            self._reused += 1
            self._bytes_reused += size_bytes
        if quarantined:
            self._quarantined += 1

    def progress(self) -> Progress:
        """How far it has come."""
        seconds = time.monotonic() - self._since
        return Progress(
            done=self._done,
            total=self._total,
            bytes_done=self._bytes_done,
            bytes_total=self._bytes_total,
            seconds=seconds,
            num_reused=self._reused,
            num_quarantined=self._quarantined,
            left_seconds=self._left(seconds),
        )

    def _left(self, seconds: float) -> float | None:
        """By bytes where the tasks have sizes, else by their number."""
        if self._bytes_total:
            done, left = self._bytes_done - self._bytes_reused, self._bytes_total - self._bytes_done
        else:
            done, left = self._done - self._reused, self._total - self._done
        return seconds * left / done if done else None
