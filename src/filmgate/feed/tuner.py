"""Changes the number of workers and the depth of the queue while a feed runs.

Two questions, asked of every window of time: did the consumer wait, and had the workers nothing to
do? It waited and they were busy: more workers, if there are cores. It waited although they had time
to spare: clips come in bursts, so the queue becomes longer. It never waited and they are idle most
of the time, for long: one worker less. None of it changes a batch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from filmgate.feed.sizing import VISITS_PER_WORKER, Size
from filmgate.records import Record
from filmgate.units import format_share

WINDOW_SECONDS = 2.0
"""A window is at least so long, and sees at least one batch."""
WINDOWS_TO_GROW = 2
"""Windows in a row in which the consumer waited."""
WINDOWS_TO_SHRINK = 15
"""Windows in a row in which workers were idle."""
WAIT_SHARE = 0.05
"""Share of a window from which on the consumer waited."""
NO_WAIT_SHARE = 0.01
"""Share up to which it did not."""
SPARE_SHARE = 0.2
"""Share of the workers' time without a task from which on they have time to spare."""
IDLE_SHARE = 0.5
"""Share from which on one of them may be too many."""
BUSY_AFTER_SHRINKING = 0.8
"""How busy the others may be once one is gone."""
MAX_CHANGES = 100
"""Changes that are listed."""


class SizeChange(Record, frozen=True):
    """The feed changed its workers or its queue."""

    batch: int
    """Batches delivered by then, since the feed was opened."""
    num_workers: int
    """From then on."""
    depth_batches: int
    """Batches in the making or ready, from then on."""
    why: str
    """One clause."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Sums since the feed was opened."""

    seconds: float
    """On any clock that does not jump."""
    waited_seconds: float
    """The consumer, for clips."""
    idle_seconds: float
    """The workers, for something to do, added up."""
    num_batches: int
    """Delivered."""


@dataclass(kw_only=True)
class Tuner:
    """Decides; who asks has to do it."""

    size: Size
    batch_clips: int
    """Clips of a batch on this rank."""
    num_workers: int
    """As it should be now."""
    depth_batches: int
    changes: list[SizeChange] = field(default_factory=list)
    """The first of them."""
    _last: Reading | None = None
    _num_missed: int = 0
    _num_idle: int = 0
    _fewest_workers: int = 1
    _has_shrunk: bool = False

    def begin_window(self) -> None:
        """What was seen so far does not count: workers are starting."""
        self._last = None

    def look(self, now: Reading) -> SizeChange | None:
        """What changes now; None for nothing."""
        if self._last is None:
            # The first batch pays for the start of the workers.
            self._last = now if now.num_batches else None
            return None
        seconds = now.seconds - self._last.seconds
        if seconds < WINDOW_SECONDS or now.num_batches == self._last.num_batches:
            return None
        wait_share = (now.waited_seconds - self._last.waited_seconds) / seconds
        idle_seconds = now.idle_seconds - self._last.idle_seconds
        idle_share = max(0.0, min(1.0, idle_seconds / (seconds * max(1, self.num_workers))))
        self._last = now
        self._num_missed = self._num_missed + 1 if wait_share > WAIT_SHARE else 0
        is_idle = wait_share < NO_WAIT_SHARE and idle_share > IDLE_SHARE
        self._num_idle = self._num_idle + 1 if is_idle else 0
        if self._num_missed >= WINDOWS_TO_GROW:
            return self._grow(now, wait_share, idle_share)
        if self._num_idle >= WINDOWS_TO_SHRINK:
            return self._shrink(now, idle_share)
        return None

    def set_workers(self, num_workers: int, why: str, num_batches: int) -> SizeChange:
        """So many from now on."""
        self.num_workers = num_workers
        return self._note(num_batches, why)

    def _grow(self, now: Reading, wait_share: float, idle_share: float) -> SizeChange | None:
        waited = f"training waited {format_share(wait_share)} of the time"
        if idle_share > SPARE_SHARE:
            depth = min(self.size.most_depth_batches, math.ceil(self.depth_batches * 1.5))
            if depth == self.depth_batches:
                return None
            self.depth_batches = depth
            spare = f"although workers were idle {format_share(idle_share)} of theirs"
            return self._note(now.num_batches, f"{waited} {spare}: a longer queue")
        most = self.size.most_workers_when(wait_share) if self.size.num_cores else 0
        wanted = min(most, self.num_workers + max(1, self.num_workers // 2))
        if wanted <= self.num_workers:
            return None
        self._fewest_workers = wanted if self._has_shrunk else self._fewest_workers
        self.num_workers = wanted
        clips = VISITS_PER_WORKER * wanted + self.batch_clips
        self.depth_batches = min(
            self.size.most_depth_batches, max(self.depth_batches, -(-clips // self.batch_clips))
        )
        return self._note(now.num_batches, f"{waited} and the workers were busy: more of them")

    def _shrink(self, now: Reading, idle_share: float) -> SizeChange | None:
        self._num_idle = 0
        busy, left = self.num_workers * (1 - idle_share), self.num_workers - 1
        if not self.size.num_cores or left < self._fewest_workers:
            return None
        if busy > BUSY_AFTER_SHRINKING * left:
            return None
        self._has_shrunk = True
        self.num_workers = left
        why = f"workers were idle {format_share(idle_share)} of the time, nobody waited: one less"
        return self._note(now.num_batches, why)

    def _note(self, num_batches: int, why: str) -> SizeChange:
        self._num_missed = self._num_idle = 0
        change = SizeChange(
            batch=num_batches,
            num_workers=self.num_workers,
            depth_batches=self.depth_batches,
            why=why,
        )
        if len(self.changes) < MAX_CHANGES:
            self.changes.append(change)
        return change


def tuner_of(size: Size, batch_clips: int) -> Tuner:
    """One that has changed nothing yet."""
    return Tuner(
        size=size,
        batch_clips=batch_clips,
        num_workers=size.num_workers,
        depth_batches=size.depth_batches,
    )
