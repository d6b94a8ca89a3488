"""What one measuring process is asked, and what it answers; both travel as JSON."""

from __future__ import annotations

from typing import Literal

from benchmarks.peers.clips import Clip
from filmgate.records import Record

Mode = Literal["clips", "visits", "loader", "feed", "frames"]


class Task(Record, frozen=True):
    """One measurement."""

    reader: str
    """Name in ``readers.READERS``."""
    mode: Mode
    """``clips``: one after the other; ``visits``: four of a video at a time; ``loader``: under a
    torch DataLoader; ``feed``: through ``open_feed``; ``frames``: not timed, pixels to a file."""
    paths: list[str]
    """The videos."""
    clips: list[Clip]
    """In the order in which they are read."""
    warm_up: int
    """So many of them are read before the clock starts."""
    catalog: str
    """Folder of filmgate's catalog of the videos."""
    mappings: str
    """Folder with torchcodec's custom frame mappings, named as the videos."""
    workers: int = 0
    """Worker processes of ``loader`` and ``feed``."""
    lookahead: int = 1
    """Epochs whose clips ``feed`` makes in one visit to a video."""
    out: str | None = None
    """Where ``frames`` writes its array."""


class Answer(Record, frozen=True):
    """What came of it."""

    clips: int = 0
    """Clips between start and stop of the clock."""
    wall_seconds: float | None = None
    """Of these."""
    cpu_seconds: float | None = None
    """User and system time for these, of the process and of the feed's workers; None where the
    workers are others', who do not tell."""
    peak_rss_bytes: int | None = None
    """Most memory of the process; without its workers."""
    frames_decoded: int | None = None
    """Frames that came out of the decoder; None where the reader does not tell."""
    versions: dict[str, str] = {}
    """Packages that the reader used."""
    missing: str | None = None
    """Why nothing was measured: a package that is not installed, or what does not exist yet."""
    error: str | None = None
    """What the reader raised."""
