"""The samples of a decoded frame, without the padding that decoders leave at the end of rows."""

from __future__ import annotations

from collections.abc import Iterator

import av
import numpy as np
from numpy.typing import NDArray


def plane_rows(frame: av.VideoFrame, plane_number: int) -> NDArray[np.uint8]:
    """(rows, bytes of a row) one plane without the padding at the end of its rows; a view."""
    plane = frame.planes[plane_number]
    samples: NDArray[np.uint8] = np.frombuffer(memoryview(plane), np.uint8)
    if frame.format.name == "pal8" and plane_number == 1:
        return samples.reshape(1, -1)
    bytes_per_row = _bytes_per_row(frame, plane_number, plane.width)
    rows = samples.reshape(-1, abs(plane.line_size))[: plane.height, :bytes_per_row]
    return rows[::-1] if plane.line_size < 0 else rows


def packed_samples(frame: av.VideoFrame) -> Iterator[memoryview]:
    """The bytes of each plane, rows one after another, as raw video files hold them."""
    for plane_number in range(len(frame.planes)):
        yield np.ascontiguousarray(plane_rows(frame, plane_number)).reshape(-1).data


def _bytes_per_row(frame: av.VideoFrame, plane_number: int, width: int) -> int:
    """Of ``width`` pixels, as libavutil's av_image_get_linesize counts them."""
    layout = frame.format
    if layout.is_bit_stream:
        return (width + 7) // 8
    components = [c for c in layout.components if c.plane == plane_number]
    if len(components) < len(layout.components):
        return width * sum((component.bits + 7) // 8 for component in components)
    # All in one plane: whole groups of pixels that share their chroma.
    pixels_per_group = 1024 // layout.chroma_width(1024) if not layout.is_rgb else 1
    num_groups = -(-width // pixels_per_group)
    bytes_per_group = (layout.padded_bits_per_pixel * pixels_per_group + 7) // 8
    return num_groups * bytes_per_group
