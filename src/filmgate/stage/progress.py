"""How far staging is, told every second from what all workers count."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from filmgate.closing import Closing
from filmgate.stage.pace import Meter

TICK_SECONDS = 1.0


@dataclass(frozen=True, kw_only=True)
class StageProgress:
    """How far it is."""

    files_done: int
    files_total: int
    bytes_done: int
    """With the parts of files on their way."""
    bytes_total: int
    bytes_per_second: float | None
    """Of this start; None before the first byte."""
    left_seconds: float | None
    """Forecast at that rate; None before there is one."""


OnProgress = Callable[[StageProgress], None]


class Teller(Closing):
    """Tells while it is open, from a thread of its own."""

    def __init__(self, meter: Meter, sizes: list[int], on_progress: OnProgress | None) -> None:
        self._meter = meter
        self._total = (len(sizes), sum(sizes))
        self._tell = on_progress
        self._lock = threading.Lock()
        self._files_done = self._bytes_done = self._bytes_settled = 0
        self._since = time.monotonic()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="stage-progress", daemon=True)

    def __enter__(self) -> Self:
        if self._tell is not None:
            self._thread.start()
        return self

    def settle(self, size_bytes: int, bytes_fetched: int) -> None:
        """A file is done, for which so many of the counted bytes were fetched."""
        with self._lock:
            self._files_done += 1
            self._bytes_done += size_bytes
            self._bytes_settled += bytes_fetched

    def close(self) -> None:
        """Tell a last time."""
        if self._end.is_set():
            return
        self._end.set()
        if self._tell is not None:
            self._thread.join()
            self._tell(self.progress())

    def progress(self) -> StageProgress:
        """As it is now."""
        moved, seconds = self._meter.num_bytes, time.monotonic() - self._since
        with self._lock:
            in_flight = max(0, moved - self._bytes_settled)
            files, done = self._files_done, self._bytes_done
        done = min(self._total[1], done + in_flight)
        rate = moved / seconds if moved and seconds > 0 else None
        return StageProgress(
            files_done=files,
            files_total=self._total[0],
            bytes_done=done,
            bytes_total=self._total[1],
            bytes_per_second=rate,
            left_seconds=(self._total[1] - done) / rate if rate else None,
        )

    def _run(self) -> None:
        assert self._tell is not None
        while not self._end.wait(TICK_SECONDS):
            self._tell(self.progress())
