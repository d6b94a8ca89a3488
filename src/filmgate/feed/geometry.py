"""Sizes and windows: from the stored frame to the upright picture to the H x W window.

All pairs are (height, width) in pixels, as in array shapes.
"""

from __future__ import annotations

from dataclasses import dataclass

from filmgate.video import VideoFacts

Size = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Orientation:
    """How the stored frames of a video become an upright picture with square pixels."""

    rotation_degrees: int
    """Clockwise turn, 0, 90, 180 or 270, after the mirroring."""
    mirrored: bool
    """Flip left to right, before the turn."""
    sample_aspect: tuple[int, int] | None
    """Width and height of a stored pixel; None (not told) counts as square."""

    @property
    def is_sideways(self) -> bool:
        """Whether height and width change places."""
        return self.rotation_degrees in (90, 270)

    def upright(self, stored: Size) -> Size:
        """The size of the upright picture: pixels made square along the width, then turned."""
        height, width = stored
        if self.sample_aspect is not None:
            width = max(1, round_ratio(width * self.sample_aspect[0], self.sample_aspect[1]))
        return (width, height) if self.is_sideways else (height, width)

    def turned_back(self, upright: Size) -> Size:
        """The size in stored orientation of a picture that is ``upright`` when it is turned."""
        return upright[::-1] if self.is_sideways else upright


def orientation_of(facts: VideoFacts) -> Orientation:
    """What the file says about how it wants to be shown."""
    return Orientation(
        rotation_degrees=facts.rotation_degrees,
        mirrored=facts.mirrored,
        sample_aspect=facts.sample_aspect,
    )


def cover(picture: Size, window: Size) -> Size:
    """The smallest size with the picture's aspect that covers the window; one side fits exactly."""
    (height, width), (wanted_height, wanted_width) = picture, window
    if wanted_width * height >= wanted_height * width:
        return max(wanted_height, round_ratio(height * wanted_width, width)), wanted_width
    return wanted_height, max(wanted_width, round_ratio(width * wanted_height, height))


def with_short_side(picture: Size, short_side: int) -> Size:
    """The picture's size scaled so that its shorter side is ``short_side``."""
    shorter = min(picture)
    height, width = (max(1, round_ratio(side * short_side, shorter)) for side in picture)
    return height, width


def asked_size(upright: Size, size: Size | None, short_side: int | None) -> Size:
    """``size``, or the picture's own size, its shorter side ``short_side``."""
    if size is not None:
        return size
    return upright if short_side is None else with_short_side(upright, short_side)


def crop_offset(free: int, where: float) -> int:
    """The first row (or column) of a window with ``free`` rows to spare; 0 <= ``where`` < 1.

    Every offset 0..free gets an equal part of ``where``; 0.5 is the middle.
    """
    return int(where * (free + 1))


def round_ratio(numerator: int, denominator: int) -> int:
    """The ratio to the nearest whole number, halves up, without a float on the way."""
    return (2 * numerator + denominator) // (2 * denominator)
