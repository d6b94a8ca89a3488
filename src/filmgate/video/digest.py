"""The identity of a decoded frame: md5 over its samples as they are, before any conversion."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import av
import numpy as np
from numpy.typing import NDArray

from filmgate.errors import UndecodableFrame
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


def plane_rows(frame: av.VideoFrame, plane_number: int) -> NDArray[np.uint8]:
    """(rows, bytes of a row) one plane without the padding at the end of its rows; a view."""
    plane = frame.planes[plane_number]
    if frame.format.name == "pal8" and plane_number == 1:
        return np.frombuffer(plane, np.uint8).reshape(1, -1)
    components = [c for c in frame.format.components if c.plane == plane_number]
    if frame.format.is_bit_stream:
        bytes_per_row = (plane.width + 7) // 8
    else:
        bytes_per_row = plane.width * _bytes_per_pixel(frame, components)
    stride = abs(plane.line_size)
    rows = np.frombuffer(plane, np.uint8).reshape(-1, stride)[: plane.height, :bytes_per_row]
    return rows[::-1] if plane.line_size < 0 else rows


def _bytes_per_pixel(
    frame: av.VideoFrame, components: list[av.video.format.VideoFormatComponent]
) -> int:
    if frame.format.padded_bits_per_pixel and len(frame.format.components) == len(components):
        return (frame.format.padded_bits_per_pixel + 7) // 8
    return sum((component.bits + 7) // 8 for component in components)


def native_md5(frame: av.VideoFrame) -> str:
    """The md5 that ``ffmpeg -f framemd5`` gives for the frame in its own pixel format."""
    hasher = hashlib.md5(usedforsecurity=False)
    for plane_number in range(len(frame.planes)):
        hasher.update(np.ascontiguousarray(plane_rows(frame, plane_number)))
    return hasher.hexdigest()


def frame_digests(
    path: Path,
    table: FrameTable,
    *,
    order: Literal["sequential", "random"] = "sequential",
    seed: int = 0,
) -> Iterator[FrameDigest]:
    """Every displayed frame, in display order.

    ``sequential`` decodes the file once. ``random`` asks for the frames one by one in an order
    drawn from ``seed``, so that each has to be reached on its own; the rows come when all are in.
    """
    if order == "sequential":
        with VideoReader(path, table) as reader:
            for index in range(table.num_frames):
                yield _digest(reader, index)
        return
    shuffled = list(range(table.num_frames))
    random.Random(seed).shuffle(shuffled)
    with VideoReader(path, table) as reader:
        rows = {index: _digest(reader, index) for index in shuffled}
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
