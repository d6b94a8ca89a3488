"""What goes between the feed and its workers: tasks out, small reports back, never pixels."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from filmgate.catalog.sample import Sample
from filmgate.catalog.tiers import Tier
from filmgate.feed.colour import Colour

FailureKind = Literal["unreadable", "undecodable", "deadline", "crash", "quarantined"]


@dataclass(frozen=True, kw_only=True)
class Task:
    """A clip to be made, and the slot to put it into."""

    position: int
    """Place in this rank's line of clips, from 0."""
    slot: int
    """Slot of the arena or of the cache; nobody else writes to it until the clip is delivered."""
    number: int
    """Global number of the sample."""
    attempt: int
    """0, or which replacement it is."""
    have: bytes = b""
    """A byte for each clip frame, 1 where the frame is in the store; empty for none of them."""
    fill: bool = False
    """Keep the frames that come out of the decoder with the missing ones as well."""


@dataclass(frozen=True, kw_only=True)
class PlaneColour:
    """How the planes of a clip become RGB."""

    colour: Colour
    """Matrix and range, of all frames of the clip."""
    is_scaled: bool
    """Whether chroma is to be interpolated, because it was scaled; else it is repeated."""


IN_STORE = -1
"""Slot of a clip that needs none, because all of its frames are in the store."""


@dataclass(frozen=True, kw_only=True)
class Visit:
    """Clips of one video that are made together, so that frames of several are decoded once."""

    tasks: tuple[Task, ...]
    """The clip that is wanted first, and those made on the way; at least one."""
    video: int | None = None
    """Row of the catalog; None where it does not matter which worker makes them."""

    @property
    def does_more(self) -> bool:
        """Whether more is done than one clip asks for; then no clip is blamed if it goes wrong."""
        return len(self.tasks) > 1 or self.tasks[0].fill


@dataclass(frozen=True, kw_only=True)
class Effort:
    """What one clip took, whether it came out or not; all zero where its worker died over it."""

    stage_seconds: dict[str, float] = field(default_factory=dict)
    """Stage -> wall seconds."""
    cpu_seconds: float = 0.0
    """User and system time of the process that made it."""
    frames_decoded: int = 0
    bytes_read: int | None = 0
    """What the process asked of read calls meanwhile; None where the kernel does not tell."""
    wait_seconds: float = 0.0
    """How long the worker had been waiting for this task."""
    tier: Tier | None = None
    """Where its video was read; None in a catalog of which nothing was staged."""


@dataclass(frozen=True, kw_only=True)
class ClipDone:
    """The clip lies in its slot."""

    task: Task
    sample: Sample
    times_T: NDArray[np.float64]
    """Seconds from frame 0 to the start of each frame."""
    video_id: str
    content_digest: str
    """Of the video file."""
    label: str | None
    """As the catalog has it."""
    effort: Effort
    colour: PlaneColour | None = None
    """How its planes become RGB; None where it is RGB."""
    kept: tuple[int, ...] = ()
    """Frames of the video that were written into the store on the way."""


@dataclass(frozen=True, kw_only=True)
class ClipFailed:
    """The clip cannot be made; the slot holds rubbish."""

    task: Task
    kind: FailureKind
    video: int
    """Row of the catalog."""
    video_id: str
    path: Path
    place: str
    """Where in the video, for people."""
    reason: str
    """One clause."""
    effort: Effort


@dataclass(frozen=True, kw_only=True)
class Ready:
    """The worker has started and waits for tasks."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """The worker ends because of a fault in the program or in the job, not in a video."""

    message: str
    hint: str
    is_users: bool
    """Whether the user can mend it; otherwise ``message`` is a traceback."""


Made = ClipDone | ClipFailed
Reply = tuple[Made, ...] | Ready | Fault
"""The reports on all tasks of a visit come together."""
