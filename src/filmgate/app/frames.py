"""``filmgate frames``: every displayed frame of a file, traced to its pixels."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from filmgate.records import Header, Record, digest_file


class TracedFrame(Record, frozen=True):
    """One displayed frame."""

    index: int
    """Place in display order, from 0."""
    ticks: int
    """Presentation time in the file's time base, as the container gives it."""
    seconds: float
    """Time since frame 0."""
    md5: str | None
    """MD5 of the native pixels, as ``ffmpeg -f framemd5`` hashes them; None when not asked for."""


class FrameList(Record, frozen=True):
    """Every displayed frame of one file, in display order."""

    header: Header
    file: str
    time_base: str
    """Seconds per tick, as a fraction."""
    order: Literal["sequential", "random"]
    """How the frames were fetched; the rows are the same."""
    frames: list[TracedFrame]


def list_frames(
    file: Path, *, md5: bool, order: Literal["sequential", "random"], seed: int
) -> FrameList:
    """Trace every displayed frame of ``file``.

    Raises UnreadableVideo or UndecodableFrame, naming the file and the place.
    """
    raise AssertionError(file, md5, order, seed, digest_file)
