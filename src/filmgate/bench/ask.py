"""What a part of the bench is asked for, and how it tells how far it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Tell = Callable[[int, int, str], None]
"""Hears (done, total, what is measured now)."""


@dataclass(frozen=True, kw_only=True)
class Read:
    """Bytes that a loader reads in one go."""

    path: str
    offset: int
    length: int


@dataclass(frozen=True, kw_only=True)
class Trace:
    """The reads that a job's loader makes, and how fast training asks for them."""

    reads: tuple[tuple[Read, ...], ...]
    """Of each worker, in its order."""
    num_clips: int
    """Clips that they are for, over all workers."""
    demand_clips_per_second: float | None
    """What training takes; None where it is not told."""
    says: str
    """Which job over which catalog."""

    @property
    def bytes_per_clip(self) -> float:
        """Mean over the clips."""
        return sum(read.length for reads in self.reads for read in reads) / self.num_clips


@dataclass(frozen=True, kw_only=True)
class Ask:
    """What every part is asked for; a part takes what it has a use for."""

    quick: bool = False
    """Fewer and shorter repetitions."""
    folder: Path | None = None
    """Where files may be laid out; None: the current folder."""
    size_bytes: int | None = None
    """How much is laid out, or read of files that are there; None: what the part finds right."""
    videos: tuple[Path, ...] = ()
    """The user's own files; empty: the demo clips, or files of our own."""
    trace: Trace | None = None
    """What a job's loader reads; None: no job was told."""
    device: str | None = None
    """``cpu``, ``cuda`` or ``cuda:1``; None: what there is."""
    ranks: int | None = None
    """Processes that exchange gradients; None: one for each GPU, 2 on a CPU."""
    gradient_bytes: int | None = None
    """What each rank exchanges in a step; None: not told."""
    parameter_bytes: tuple[int, ...] = ()
    """Gradients of a model, one for each parameter in its order; they go before
    ``gradient_bytes``."""
    step_seconds: float | None = None
    """How long a rank computes in a step when it exchanges nothing; None: not told."""
