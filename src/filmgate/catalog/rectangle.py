"""Rectangles drawn at random in a picture, by the rules that training code knows.

All sizes are (height, width) in pixels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

Size = tuple[int, int]


class Rectangle(NamedTuple):
    """A part of a picture, in pixels."""

    top: int
    left: int
    height: int
    width: int


class Shape(NamedTuple):
    """A rectangle's shape before a picture is known."""

    area_share: float
    """Its area over the picture's."""
    aspect: float
    """Width over height."""

    def size_in(self, picture: Size) -> Size:
        """Height and width, each to the nearest whole pixel; may be 0, or more than there is."""
        area = picture[0] * picture[1] * self.area_share
        return round(math.sqrt(area / self.aspect)), round(math.sqrt(area * self.aspect))


def resized_crop(
    picture: Size,
    shapes: Iterable[Shape],
    ratio: tuple[float, float],
    top_share: float,
    left_share: float,
) -> Rectangle:
    """The first shape that fits, at its place; else the largest middle part whose aspect fits.

    ``ratio`` are the lowest and the highest aspect, the shares say where in the free height and
    width it lies, 0 <= share < 1. Source: torchvision's ``RandomResizedCrop.get_params``.
    """
    size = _first_fitting(picture, shapes)
    if size is None:
        height, width = _largest(picture, ratio)
        return Rectangle((picture[0] - height) // 2, (picture[1] - width) // 2, height, width)
    return placed(picture, size, top_share, left_share)


def placed(picture: Size, size: Size, top_share: float, left_share: float) -> Rectangle:
    """A rectangle of a size; every place has an equal part of the shares."""
    (height, width), (free_rows, free_columns) = size, (picture[0] - size[0], picture[1] - size[1])
    return Rectangle(
        int(top_share * (free_rows + 1)), int(left_share * (free_columns + 1)), height, width
    )


def _first_fitting(picture: Size, shapes: Iterable[Shape]) -> Size | None:
    for shape in shapes:
        height, width = shape.size_in(picture)
        if 0 < height <= picture[0] and 0 < width <= picture[1]:
            return height, width
    return None


def _largest(picture: Size, ratio: tuple[float, float]) -> Size:
    height, width = picture
    if width < ratio[0] * height:
        return max(1, min(height, round(width / ratio[0]))), width
    if width > ratio[1] * height:
        return height, max(1, min(width, round(height * ratio[1])))
    return picture
