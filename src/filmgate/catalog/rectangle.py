"""Rectangles drawn at random in a picture, by the rules that training code knows.

All sizes are (height, width) in pixels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
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


def placed(picture: Size, size: Size, top_share: float, left_share: float) -> Rectangle:
    """A rectangle of a size; every place has an equal part of the shares."""
    (height, width), (free_rows, free_columns) = size, (picture[0] - size[0], picture[1] - size[1])
    return Rectangle(
        int(top_share * (free_rows + 1)), int(left_share * (free_columns + 1)), height, width
    )


def _largest(picture: Size, ratio: tuple[float, float]) -> Size:
    height, width = picture
    if width < ratio[0] * height:
        return max(1, min(height, round(width / ratio[0]))), width
    if width > ratio[1] * height:
        return height, max(1, min(width, round(height * ratio[1])))
    return picture


@dataclass(frozen=True, kw_only=True)
class ResizedCrop:
    """A random resized crop before the picture's size is known."""

    shapes: tuple[Shape, ...]
    """To be tried in this order."""
    ratio: tuple[float, float]
    """Lowest and highest aspect, for the part that is taken where none fits."""
    top_share: float
    """Where it lies in the free height, 0 <= share < 1."""
    left_share: float
    """Where it lies in the free width, 0 <= share < 1."""

    def rectangle(self, picture: Size) -> Rectangle:
        """The first shape that fits, at its place; else the largest middle part in the ratio.

        Source: torchvision's ``RandomResizedCrop.get_params``.
        """
        for shape in self.shapes:
            height, width = shape.size_in(picture)
            if 0 < height <= picture[0] and 0 < width <= picture[1]:
                return placed(picture, (height, width), self.top_share, self.left_share)
        height, width = _largest(picture, self.ratio)
        return Rectangle((picture[0] - height) // 2, (picture[1] - width) // 2, height, width)


def cut_box(picture: Size, own_share: float, row_share: float, column_share: float) -> Rectangle:
    """A box about a point, as large as the rest of the area, less what lies outside; may be empty.

    Source: torchvision's ``v2.CutMix``, after Yun et al., "CutMix" (2019), section 3.1.
    """
    half = 0.5 * math.sqrt(1 - own_share)
    (top, bottom), (left, right) = (
        _around(int(share * side), int(half * side), side)
        for share, side in zip((row_share, column_share), picture, strict=True)
    )
    return Rectangle(top, left, bottom - top, right - left)


def _around(middle: int, half: int, side: int) -> tuple[int, int]:
    return max(0, middle - half), min(side, middle + half)
