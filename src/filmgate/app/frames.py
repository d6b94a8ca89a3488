"""``filmgate frames``: every displayed frame of a file, traced to its pixels."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from filmgate.app.terminal import Talk
from filmgate.errors import UndecodableFrame
from filmgate.records import Header, Record, digest_file
from filmgate.video import frame_digests, probe


class TracedFrame(Record, frozen=True):
    """One displayed frame."""

    index: int
    """Place in display order, from 0."""
    ticks: int
    """Presentation time in the file's time base, as the container gives it."""
    seconds: float
    """Time since frame 0."""
    md5: str | None
    """MD5 of the native pixels, as ``ffmpeg -f framemd5`` hashes them; None when not asked for,
    or when the frame does not come out."""
    fault: str | None
    """Why the frame does not come out; None when it does, or when no pixels were asked for."""


class FrameList(Record, frozen=True):
    """Every displayed frame of one file, in display order."""

    header: Header
    """Its input is the file's digest."""
    file: str
    """As named."""
    time_base: str
    """Seconds per tick, as a fraction."""
    order: Literal["sequential", "random"]
    """How the frames were fetched; the rows are the same."""
    frames: list[TracedFrame]
    """One row per displayed frame."""


def list_frames(
    file: Path, *, md5: bool, order: Literal["sequential", "random"], seed: int, talk: Talk
) -> FrameList:
    """Trace every displayed frame of ``file``; without ``md5`` no pixel is decoded.

    Raises UnreadableVideo when nothing of the file can be used, UndecodableFrame when not one of
    its frames comes out.
    """
    _, table = probe(file)
    if md5:
        with talk.job("frames", "frames") as progress:
            rows = frame_digests(file, table, order=order, seed=seed, on_progress=progress)
            frames = [
                TracedFrame(
                    index=row.index,
                    ticks=row.pts,
                    seconds=row.seconds,
                    md5=row.md5,
                    fault=row.fault,
                )
                for row in rows
            ]
    else:
        frames = [
            TracedFrame(
                index=index, ticks=int(ticks), seconds=table.seconds(index), md5=None, fault=None
            )
            for index, ticks in enumerate(table.pts)
        ]
    if md5 and frames and all(frame.md5 is None for frame in frames):
        raise UndecodableFrame(file, f"none of its {len(frames)} frames decodes: {frames[0].fault}")
    header = Header(schema="filmgate.frames", schema_version=1, inputs={"file": digest_file(file)})
    return FrameList(
        header=header, file=str(file), time_base=str(table.time_base), order=order, frames=frames
    )
