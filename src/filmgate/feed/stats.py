"""What the feed counts, and what it tells of it."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from typing import Literal, get_args

from filmgate.catalog.tiers import Tier
from filmgate.feed.messages import ClipDone, ClipFailed
from filmgate.feed.tuner import SizeChange
from filmgate.records import Record


class Skipped(Record, frozen=True):
    """One attempt at a clip that failed."""

    sample: int
    """Global number of the sample."""
    video_id: str
    """As the catalog has it."""
    path: str
    """Of the video file."""
    place: str
    """Where in the video, for example ``frames 120 to 134``."""
    reason: str
    """One clause."""
    action: Literal["masked", "substituted"]
    """What became of its place in the batch."""


class FeedSize(Record, frozen=True):
    """How many workers a feed has and how many batches it keeps ready, and why."""

    num_workers: int
    """Worker processes now; 0 when clips are made on the consumer's thread."""
    most_workers: int
    """Workers that it may have while training is busy."""
    depth_batches: int
    """Batches in the making or ready, now."""
    most_depth_batches: int
    """As many at most."""
    is_automatic: bool
    """Whether any of these numbers was chosen, and may change, without the job saying so."""
    why: str
    """Where the numbers at the start come from."""
    changes: list[SizeChange]
    """What changed since, at most the first 100."""
    numa_node: int | None
    """Where the workers are bound to; None where they are not."""
    why_numa: str
    """The GPU that the node is near, or why nothing is bound."""


class FeedStats(Record, frozen=True):
    """The feed's counters since it was opened, summed over its workers."""

    clips: int
    """Clips produced, delivered or still waiting to be."""
    clips_from_cache: int
    """Clips among the delivered or waiting ones that were made before their turn and kept."""
    frames_delivered: int
    """Frames in those clips."""
    frames_decoded: int
    """Frames that came out of decoders for them."""
    bytes_read: int | None
    """Bytes that the workers asked of read calls; None where the kernel does not tell."""
    clips_hot: int | None
    """Clips of videos that were read where they had been staged; None where nothing is staged."""
    clips_cold: int | None
    """Clips of videos that were read where they had been indexed, because they are not staged."""
    bytes_hot: int | None
    """Part of ``bytes_read`` for clips of staged videos; None where it is not known."""
    bytes_cold: int | None
    """Part of ``bytes_read`` for clips of other videos; None where it is not known."""
    worker_busy_seconds: float
    """Workers' time with a clip in hand."""
    worker_wait_seconds: float
    """Workers' time without one, that is waiting for the consumer to free a slot."""
    worker_cpu_seconds: float
    """CPU time of the decoding threads, user and system."""
    stage_seconds: dict[str, float]
    """Stage (look-up, decode, convert) -> worker seconds."""
    num_padded: int
    """Clips longer than their video or its side of the border, padded by the ``short`` rule, among
    the batches delivered."""
    num_never_shown: int
    """Videos of weight 0, which no training clip shows."""
    num_skipped: int
    """Attempts at a clip that failed, among the batches delivered."""
    skipped: list[Skipped]
    """The first of them, at most 1000."""
    quarantined: list[str]
    """``video_id`` of videos that are not tried any more."""
    size: FeedSize
    """Workers and queue, chosen or given."""


class Tally:
    """Adds up the efforts of all clips, from whichever thread reports them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._stage_seconds: dict[str, float] = defaultdict(float)
        self._seconds: dict[str, float] = defaultdict(float)
        self._bytes_read: int | None = 0

    def add(self, reply: ClipDone | ClipFailed) -> None:
        """Count one finished or failed clip."""
        effort = reply.effort
        with self._lock:
            if isinstance(reply, ClipDone):
                self._counts["clips"] += 1
                self._counts["frames_delivered"] += len(reply.sample.frame_indices_T)
                self._counts[f"clips_{effort.tier}"] += 1
            self._counts["frames_decoded"] += effort.frames_decoded
            for stage, seconds in effort.stage_seconds.items():
                self._stage_seconds[stage] += seconds
            self._seconds["busy"] += sum(effort.stage_seconds.values())
            self._seconds["cpu"] += effort.cpu_seconds
            self._seconds["wait"] += effort.wait_seconds
            if effort.bytes_read is None or self._bytes_read is None:
                self._bytes_read = None
            else:
                self._bytes_read += effort.bytes_read
                self._counts[f"bytes_{effort.tier}"] += effort.bytes_read

    def add_from_cache(self) -> None:
        """Count one clip that was ready when its place was opened."""
        with self._lock:
            self._counts["from_cache"] += 1

    def stats(
        self,
        *,
        idle_seconds: float,
        num_padded: int,
        num_never_shown: int,
        num_skipped: int,
        skipped: list[Skipped],
        quarantined: list[str],
        size: FeedSize,
    ) -> FeedStats:
        """The sums up to now; ``idle_seconds`` are those of waits that still go on."""
        with self._lock:
            return FeedStats(
                clips=self._counts["clips"],
                clips_from_cache=self._counts["from_cache"],
                frames_delivered=self._counts["frames_delivered"],
                frames_decoded=self._counts["frames_decoded"],
                bytes_read=self._bytes_read,
                **self._of_tiers(),
                worker_busy_seconds=self._seconds["busy"],
                worker_wait_seconds=self._seconds["wait"] + idle_seconds,
                worker_cpu_seconds=self._seconds["cpu"],
                stage_seconds=dict(self._stage_seconds),
                num_padded=num_padded,
                num_never_shown=num_never_shown,
                num_skipped=num_skipped,
                skipped=list(skipped),
                quarantined=list(quarantined),
                size=size,
            )

    def _of_tiers(self) -> dict[str, int | None]:
        names = [f"{what}_{tier}" for what in ("clips", "bytes") for tier in get_args(Tier)]
        if not any(self._counts[name] for name in names):
            return dict.fromkeys(names)
        counts: dict[str, int | None] = {name: self._counts[name] for name in names}
        if self._bytes_read is None:
            counts.update(bytes_hot=None, bytes_cold=None)
        return counts
