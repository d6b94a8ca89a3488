"""The identity of a decoded frame: md5 over its samples as they are, before any conversion."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import av

from filmgate.errors import UndecodableFrame
from filmgate.video.planes import packed_samples
from filmgate.video.reader import VideoReader
from filmgate.video.table import FrameTable


@dataclass(frozen=True, kw_only=True)
class FrameDigest:
    """One row of a frame list."""

    index: int
    """Place in display order."""
    pts: int
    """Ticks of the table's time base."""
    seconds: float
    """From the start of frame 0."""
    md5: str | None
    """``native_md5`` of the frame; None when it does not come out."""
    fault: str | None
    """Why it does not come out."""


def native_md5(frame: av.VideoFrame) -> str:
    """The md5 that ``ffmpeg -f framemd5`` gives for the frame in its own pixel format."""
    hasher = hashlib.md5(usedforsecurity=False)
    for samples in packed_samples(frame):
        hasher.update(samples)
    return hasher.hexdigest()


def frame_digests(
    path: Path,
    table: FrameTable,
    *,
    order: Literal["sequential", "random"] = "sequential",
    seed: int = 0,
    on_progress: Callable[[int, int], None] | None = None,
) -> Iterator[FrameDigest]:
    """Every displayed frame, in display order.

    ``sequential`` decodes the file once. ``random`` asks for the frames one by one in an order
    drawn from ``seed``, so that each has to be reached on its own; the rows come when all are in.
    ``on_progress`` hears (frames hashed, frames in all).
    """
    tell = on_progress or (lambda done, total: None)
    if order == "sequential":
        with VideoReader(path, table) as reader:
            for index in range(table.num_frames):
                yield _digest(reader, index)
                tell(index + 1, table.num_frames)
        return
    shuffled = list(range(table.num_frames))
    random.Random(seed).shuffle(shuffled)
    with VideoReader(path, table) as reader:
        rows: dict[int, FrameDigest] = {}
        for index in shuffled:
            rows[index] = _digest(reader, index)
            tell(len(rows), table.num_frames)
    for index in range(table.num_frames):
        yield rows[index]


def _digest(reader: VideoReader, index: int) -> FrameDigest:
    try:
        (_, frame), *_ = reader.frames([index])
        md5, fault = native_md5(frame), None
    except UndecodableFrame as error:
        md5, fault = None, error.reason
    return FrameDigest(
        index=index,
        pts=int(reader.table.pts[index]),
        seconds=reader.table.seconds(index),
        md5=md5,
        fault=fault,
    )
