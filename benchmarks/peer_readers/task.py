"""What a measuring process is asked, and what it answers; all of it travels as JSON."""

from __future__ import annotations

from typing import Literal

from benchmarks.footage import Layout
from benchmarks.peer_readers.clips import Clip
from filmgate.records import Record

Mode = Literal["clips", "visits", "singly", "loader", "feed", "cache", "au"]


class Entry(Record, frozen=True):
    """One reader and how it is used."""

    label: str
    """For the table; no two of a row are alike."""
    reader: str
    """Name in ``readers.READERS``."""
    layout: Layout = "source"
    mode: Mode = "clips"
    """``clips``: one after the other; ``visits``: four of a video at a time; ``singly``: the clips
    of visits, one after the other; ``loader``: under a torch DataLoader; ``feed``: through
    ``open_feed``; ``cache``: a feed on the consumer's own thread whose frames are all in its
    cache; ``au``: a feed and a consumer."""
    multiple_of: int = 1
    """Clips start on multiples of it."""
    workers: int = 0
    """Worker processes of ``loader``, ``feed`` and ``au``."""
    lookahead: int = 1
    """Epochs whose clips a feed makes in one visit to a video."""
    size: float = 1.0
    """Clips or batches of a sample, in units of the size of the run: what is fast is read more."""


class Setup(Record, frozen=True):
    """All that the process has to know; it is the first line that it reads."""

    entry: Entry
    paths: list[str]
    """The videos."""
    catalog: str
    """Folder of filmgate's catalog of the videos."""
    mappings: str
    """Folder with torchcodec's custom frame mappings, named as the videos."""
    stream: list[Clip]
    """What ``loader`` reads, again and again: the clips of the feed, in its order."""


class Ask(Record, frozen=True):
    """One sample, or with ``out`` the pixels of some clips."""

    clips: list[Clip] = []
    """For ``clips``, ``visits`` and ``singly``."""
    num_clips: int = 0
    """For ``loader``, ``feed`` and ``cache``."""
    seconds: float = 0.0
    """For ``au``: length of the window with the consumer."""
    out: str | None = None
    """A file for an array of frames; nothing is timed."""


class Answer(Record, frozen=True):
    """What came of it."""

    clips: int = 0
    """Clips between start and stop of the clock."""
    wall_seconds: float | None = None
    """Of these."""
    cpu_seconds: float | None = None
    """User and system time for these, of the process and of the feed's workers; None where the
    workers are others', who do not tell."""
    share: float | None = None
    """AU."""
    peak_rss_bytes: int | None = None
    """Most memory of the process; without its workers."""
    frames_decoded: int | None = None
    """Frames that came out of the decoder; None where the reader does not tell."""
    others_cores: float | None = None
    """Cores that other processes of this machine took meanwhile; None where it cannot be told."""
    versions: dict[str, str] = {}
    """Packages that the reader used."""
    missing: str | None = None
    """Why nothing can be measured here: a package that is not installed."""
    error: str | None = None
    """What the reader raised, or how its process ended."""
