"""A part of the upright picture, cut out of the stored frame before it is scaled.

The cut keeps to whole chroma samples: its edges move to the nearest ones, by at most half the
distance between two. So the cut frame is a frame like any other, and what is made of it does not
depend on the pixels around it.
"""

from __future__ import annotations

from dataclasses import dataclass

import av
import numpy as np
from av.video.plane import VideoPlane
from numpy.typing import NDArray

from filmgate.catalog.rectangle import Rectangle
from filmgate.feed.colour import UnsupportedColour, colour_of, is_gray
from filmgate.feed.geometry import Orientation, Size, round_ratio
from filmgate.feed.scaler import Scaler

_ANY = 64
"""A width and height that every chroma grid divides."""


@dataclass(frozen=True, kw_only=True)
class Region:
    """A part of an upright picture."""

    rectangle: Rectangle
    """The part, in pixels of the picture."""
    picture: Size
    """The upright size that the rectangle belongs to; in pictures of another size the same share
    of the height and of the width is cut."""


def cut_out(
    frame: av.VideoFrame, orientation: Orientation, region: Region, scaler: Scaler
) -> av.VideoFrame:
    """The region as a frame of its own, stored as the whole frame is; the frame if it is all of it.

    Formats that are not planar become the planar one with the same samples, RGB ones ``gbrp``.
    Raises UnsupportedColour for pictures of single bits.
    """
    rectangle = stored_rectangle(frame, orientation, region)
    if rectangle == (0, 0, frame.height, frame.width):
        return frame
    planar = _planar(frame, scaler)
    cut = av.VideoFrame(rectangle.width, rectangle.height, planar.format.name)
    cut.colorspace, cut.color_range = planar.colorspace, planar.color_range
    num_bytes = (planar.format.components[0].bits + 7) // 8
    for number, (source, target) in enumerate(zip(planar.planes, cut.planes, strict=True)):
        row_step, column_step = chroma_steps(planar) if number in (1, 2) else (1, 1)
        top, left = rectangle.top // row_step, rectangle.left // column_step
        out = _samples(target, num_bytes)
        height, width, _ = out.shape
        out[:] = _samples(source, num_bytes)[top : top + height, left : left + width]
    return cut


def stored_rectangle(frame: av.VideoFrame, orientation: Orientation, region: Region) -> Rectangle:
    """The region in the stored frame, on its chroma grid, at least one chroma sample large."""
    stored = (frame.height, frame.width)
    upright = orientation.upright(stored)
    rectangle = _turned_back(
        _rescaled(region.rectangle, region.picture, upright), orientation, upright
    )
    square = orientation.turned_back(upright)
    row_step, column_step = chroma_steps(frame)
    top, bottom = _on_grid(rectangle.top, rectangle.height, square[0], stored[0], row_step)
    left, right = _on_grid(rectangle.left, rectangle.width, square[1], stored[1], column_step)
    return Rectangle(top, left, bottom - top, right - left)


def chroma_steps(frame: av.VideoFrame) -> Size:
    """Rows and columns of luma from one chroma sample to the next."""
    layout = frame.format
    if len(layout.components) < 3:
        return 1, 1
    return _ANY // layout.chroma_height(_ANY), _ANY // layout.chroma_width(_ANY)


def _rescaled(rectangle: Rectangle, there: Size, here: Size) -> Rectangle:
    """The same part of a picture of another size."""
    if there == here:
        return rectangle
    top, bottom = (
        round_ratio(row * here[0], there[0])
        for row in (rectangle.top, rectangle.top + rectangle.height)
    )
    left, right = (
        round_ratio(column * here[1], there[1])
        for column in (rectangle.left, rectangle.left + rectangle.width)
    )
    return Rectangle(top, left, bottom - top, right - left)


def _turned_back(rectangle: Rectangle, orientation: Orientation, upright: Size) -> Rectangle:
    """The rectangle before the turn and the mirroring, in square pixels."""
    (top, left, height, width), picture = rectangle, upright
    for _ in range(orientation.rotation_degrees // 90):  # one quarter anticlockwise each
        top, left, height, width = picture[1] - left - width, top, width, height
        picture = picture[::-1]
    if orientation.mirrored:
        left = picture[1] - left - width
    return Rectangle(top, left, height, width)


def _on_grid(first: int, length: int, square: int, stored: int, step: int) -> tuple[int, int]:
    """First and one past the last stored row (or column), from one in square pixels."""
    start = round_ratio(first * stored, square * step) * step
    end = round_ratio((first + length) * stored, square * step) * step
    start = min(start, (stored - 1) // step * step)
    if first + length == square:
        return start, stored
    return start, min(stored, max(end, start + step))


def _planar(frame: av.VideoFrame, scaler: Scaler) -> av.VideoFrame:
    """The frame with every component in a plane of its own."""
    layout = frame.format
    planes = sorted(component.plane for component in layout.components)
    if layout.is_bit_stream or (len(planes) == 1 and layout.components[0].bits < 8):
        raise UnsupportedColour(f"pixel format {layout.name} cannot be cropped")
    if planes == list(range(len(planes))) and not layout.has_palette:
        return frame
    colour, size = colour_of(frame), (frame.height, frame.width)
    planar = scaler.scale(frame, size, _planar_name(frame), colour, target_range=colour.range)
    planar.colorspace, planar.color_range = frame.colorspace, frame.color_range
    return planar


def _planar_name(frame: av.VideoFrame) -> str:
    layout = frame.format
    bits = layout.components[0].bits
    depth = f"{bits}le" if bits > 8 else ""
    if is_gray(frame):
        return f"gray{depth}"
    if layout.is_rgb or layout.has_palette:
        return "gbrp" if bits <= 8 else "gbrp16le"
    chroma = {(1, 1): "444", (1, 2): "422", (1, 4): "411", (2, 2): "420"}[chroma_steps(frame)]
    return f"yuv{chroma}p{depth}"


def _samples(plane: VideoPlane, num_bytes: int) -> NDArray[np.uint8]:
    """(rows, columns, bytes of a sample); a view. Frames may be stored from the bottom up."""
    return np.ndarray(
        (plane.height, plane.width, num_bytes),
        np.uint8,
        buffer=memoryview(plane),
        offset=max(0, -plane.line_size * (plane.height - 1)),
        strides=(plane.line_size, num_bytes, 1),
    )
