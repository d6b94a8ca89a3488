"""Resident memory of a group of processes, in which a shared page counts once."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Self

from filmgate.closing import Closing

LOOK_SECONDS = 0.2


def proportional_bytes(process_ids: Iterable[int]) -> int | None:
    """Resident bytes of this process and the others together; None where the kernel tells none.

    Each process counts its share of a page (PSS), so the shares add up to the page. A process that
    ended meanwhile counts nothing. Source: proc_pid_smaps(5), ``smaps_rollup``.
    """
    own = _proportional_bytes(os.getpid())
    if own is None:
        return None
    return own + sum(_proportional_bytes(process_id) or 0 for process_id in process_ids)


def _proportional_bytes(process_id: int) -> int | None:
    try:
        lines = Path(f"/proc/{process_id}/smaps_rollup").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return None


class PeakMemory(Closing):
    """Looks at the memory of this process and others now and then, on a thread of its own."""

    def __init__(self, process_ids: Callable[[], list[int]]) -> None:
        self.peak_bytes: int | None = None
        self._process_ids = process_ids
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def close(self) -> None:
        """End the thread."""
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.is_set():
            now = proportional_bytes(self._process_ids())
            if now is not None:
                self.peak_bytes = max(now, self.peak_bytes or 0)
            self._ended.wait(LOOK_SECONDS)
