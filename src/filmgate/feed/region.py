"""A part of the upright picture, cut out of the stored frame before it is scaled.

The cut keeps to whole chroma samples: its edges move to the nearest ones, by at most half the
distance between two. So the cut frame is a frame like any other, and what is made of it does not
depend on the pixels around it.
"""

from __future__ import annotations

from dataclasses import dataclass

import av

from filmgate.catalog.rectangle import Rectangle
from filmgate.feed.cropper import Stored, grid_of
from filmgate.feed.geometry import Orientation, Size, round_ratio


@dataclass(frozen=True, kw_only=True)
class Region:
    """A part of an upright picture."""

    rectangle: Rectangle
    """The part, in pixels of the picture."""
    picture: Size
    """The upright size that the rectangle belongs to; in pictures of another size the same share
    of the height and of the width is cut."""


def stored_rectangle(
    frame: av.VideoFrame | Stored, orientation: Orientation, region: Region
) -> Rectangle:
    """The region in the stored frame, on its chroma grid, at least one chroma sample large."""
    stored = (frame.height, frame.width)
    upright = orientation.upright(stored)
    rectangle = _turned_back(
        _rescaled(region.rectangle, region.picture, upright), orientation, upright
    )
    square = orientation.turned_back(upright)
    row_step, column_step = grid_of(frame)
    top, bottom = _on_grid(rectangle.top, rectangle.height, square[0], stored[0], row_step)
    left, right = _on_grid(rectangle.left, rectangle.width, square[1], stored[1], column_step)
    return Rectangle(top, left, bottom - top, right - left)


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
