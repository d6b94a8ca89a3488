"""What making one clip took: wall time by stage, CPU time, frames, bytes."""

from __future__ import annotations

import time
from pathlib import Path

from filmgate.catalog.tiers import Tier
from filmgate.feed.messages import Effort

_IO_COUNTERS = Path("/proc/self/io")


class Watch:
    """Runs from its making; every lap books the time since the last one on a stage."""

    def __init__(self) -> None:
        self._began = self._last = time.perf_counter()
        self._cpu_began = time.thread_time()
        self._read_began = bytes_read_so_far()
        self._stage_seconds: dict[str, float] = {}

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.perf_counter() - self._began

    def lap(self, stage: str) -> None:
        """The time since the last lap went into ``stage``."""
        now = time.perf_counter()
        self._stage_seconds[stage] = self._stage_seconds.get(stage, 0.0) + now - self._last
        self._last = now

    def effort(self, frames_decoded: int, tier: Tier | None = None) -> Effort:
        """Everything up to now."""
        read = bytes_read_so_far()
        return Effort(
            stage_seconds=dict(self._stage_seconds),
            cpu_seconds=time.thread_time() - self._cpu_began,
            frames_decoded=frames_decoded,
            bytes_read=None
            if read is None or self._read_began is None
            else read - self._read_began,
            tier=tier,
        )


def bytes_read_so_far() -> int | None:
    """Bytes this process has asked of read calls, from the page cache or not; None where unknown.

    Source: ``rchar`` of proc_pid_io(5). It counts every descriptor, so pipes are in it as well.
    """
    try:
        lines = _IO_COUNTERS.read_text().splitlines()
    except OSError:
        return None
    return next((int(line[7:]) for line in lines if line.startswith("rchar: ")), None)
