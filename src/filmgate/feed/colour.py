"""Which colours the samples of a frame stand for: matrix and range.

A frame without a tag follows one rule, the one FFmpeg, OpenCV and most training code apply: matrix
BT.601, range limited; ``yuvj*`` formats and gray are full. A matrix that is no plain 3 x 3 of
Y'CbCr (YCgCo, ICtCp, constant luminance) is refused, never approximated.

Sources of the weights: ITU-R BT.601-7, BT.709-6, BT.2020-2, SMPTE 240M, 47 CFR 73.682 (FCC).
"""

from __future__ import annotations

from typing import NamedTuple

import av
from av.video.reformatter import ColorRange, Colorspace

# Keys are AVColorSpace as the frame carries it: 2 and 3 are unspecified and reserved.
_MATRICES = {
    0: Colorspace.ITU601,
    1: Colorspace.ITU709,
    2: Colorspace.ITU601,
    3: Colorspace.ITU601,
    4: Colorspace.FCC,
    5: Colorspace.ITU601,
    6: Colorspace.ITU601,
    7: Colorspace.SMPTE240M,
    9: Colorspace.BT2020,
}
_RGB_MATRIX = 0
_WEIGHTS = {
    Colorspace.ITU601: (0.299, 0.114),
    Colorspace.ITU709: (0.2126, 0.0722),
    Colorspace.FCC: (0.30, 0.11),
    Colorspace.SMPTE240M: (0.212, 0.087),
    Colorspace.BT2020: (0.2627, 0.0593),
}


class UnsupportedColour(Exception):
    """The frame's colours cannot be turned into RGB by a matrix; says which they are."""


class Colour(NamedTuple):
    """How Y'CbCr samples become RGB."""

    matrix: Colorspace
    """As libswscale calls it."""
    is_full: bool
    """Whether luma spans 0..255 (at 8 bits) rather than 16..235."""

    @property
    def range(self) -> ColorRange:
        """The range as libswscale calls it."""
        return ColorRange.JPEG if self.is_full else ColorRange.MPEG

    @property
    def weights(self) -> tuple[float, float]:
        """(Kr, Kb): what red and blue add to luma."""
        return _WEIGHTS[self.matrix]


def colour_of(frame: av.VideoFrame) -> Colour:
    """By the tags of the frame, and by the rule where it has none. Raises UnsupportedColour."""
    name, is_rgb = frame.format.name, frame.format.is_rgb or frame.format.has_palette
    matrix = _MATRICES.get(frame.colorspace)
    has_no_chroma = is_rgb or is_gray(frame) or name.startswith("mono")
    if matrix is None or (frame.colorspace == _RGB_MATRIX and not has_no_chroma):
        raise UnsupportedColour(f"colour matrix {frame.colorspace} with pixel format {name}")
    if is_rgb or name.startswith("yuvj") or is_gray(frame):
        return Colour(matrix, is_full=True)
    return Colour(matrix, is_full=frame.color_range == ColorRange.JPEG)


def is_gray(frame: av.VideoFrame) -> bool:
    """Whether it has luma alone."""
    return frame.format.name.startswith(("gray", "ya8", "ya16"))
