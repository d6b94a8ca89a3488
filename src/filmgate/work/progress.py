"""Counting what is done, with a forecast of the rest."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from filmgate.work.task import Outcome, Progress, Task


class Counter:
    """Counts outcomes of one start of a work."""

    def __init__(self, tasks: Sequence[Task[Any]]) -> None:
        self._since = time.monotonic()
        self._total = len(tasks)
        self._bytes_total = sum(task.size_bytes for task in tasks)
        self._done = self._bytes_done = 0
        self._reused = self._bytes_reused = 0
        self._quarantined = 0

    def count(self, outcome: Outcome[Any, Any]) -> None:
        """Count one task that is done."""
        self._done += 1
        self._bytes_done += outcome.task.size_bytes
        if outcome.reused:
            self._reused += 1
            self._bytes_reused += outcome.task.size_bytes
        if outcome.fault is not None:
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
