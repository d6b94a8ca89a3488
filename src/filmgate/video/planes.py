"""The samples of a decoded frame, without the padding that decoders leave at the end of rows."""

from __future__ import annotations

from collections.abc import Iterator

import av
import numpy as np
from av.video.format import VideoFormatComponent
from numpy.typing import NDArray


def plane_rows(frame: av.VideoFrame, plane_number: int) -> NDArray[np.uint8]:
    """(rows, bytes of a row) one plane without the padding at the end of its rows; a view."""
    plane = frame.planes[plane_number]
    samples: NDArray[np.uint8] = np.frombuffer(memoryview(plane), np.uint8)
    if frame.format.name == "pal8" and plane_number == 1:
        return samples.reshape(1, -1)
    components = [c for c in frame.format.components if c.plane == plane_number]
    if frame.format.is_bit_stream:
        bytes_per_row = (plane.width + 7) // 8
    else:
        bytes_per_row = plane.width * _bytes_per_pixel(frame, components)
    rows = samples.reshape(-1, abs(plane.line_size))[: plane.height, :bytes_per_row]
    return rows[::-1] if plane.line_size < 0 else rows


def packed_samples(frame: av.VideoFrame) -> Iterator[memoryview]:
    """The bytes of each plane, rows one after another, as raw video files hold them."""
    for plane_number in range(len(frame.planes)):
        yield np.ascontiguousarray(plane_rows(frame, plane_number)).reshape(-1).data


def _bytes_per_pixel(frame: av.VideoFrame, components: list[VideoFormatComponent]) -> int:
    if frame.format.padded_bits_per_pixel and len(frame.format.components) == len(components):
        return (frame.format.padded_bits_per_pixel + 7) // 8
    return sum((component.bits + 7) // 8 for component in components)
