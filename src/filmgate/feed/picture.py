"""From a decoded frame to an RGB window, in one pass of libswscale and one cut.

Colour. The decoder's own samples go to RGB by the matrix and range that the frame is tagged with.
A frame without a tag follows one rule, the one FFmpeg, OpenCV and most training code apply: matrix
BT.601, range limited; ``yuvj*`` formats and gray are full. Sources in RGB stay as they are. The
transfer curve is not touched (HDR is not tone-mapped), transparency is dropped, and fields of an
interlaced frame stay woven. A matrix that is no plain 3 x 3 of Y'CbCr (YCgCo, ICtCp, constant
luminance) is refused, never approximated.

libswscale writes 16-bit planes, which are rounded to 8 bits here: its 8-bit writers either halve
the chroma resolution once more (up to 4 levels off) or overflow on colours far outside the gamut
(255 levels off). This way is within 1.4 levels of the formula, and faster.

Shapes: H W of the window, C = 3 as R, G, B.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import av
import numpy as np
from av.video.reformatter import ColorRange, Colorspace, Interpolation, VideoReformatter
from numpy.typing import NDArray

from filmgate.feed.geometry import Orientation, Size, cover, crop_offset

MAX_SCALERS = 16
"""Scalers kept; each holds its tables for one source and one target."""

_INTERPOLATION = int(
    Interpolation.BILINEAR
    | Interpolation.ACCURATE_RND
    | Interpolation.FULL_CHR_H_INT
    | Interpolation.BITEXACT
)
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
_LIMITED_TO_FULL = np.clip(np.rint((np.arange(256) - 16) * (255 / 219)), 0, 255).astype(np.uint8)


class UnsupportedColour(Exception):
    """The frame's colours cannot be turned into RGB by a matrix; says which they are."""


@dataclass(frozen=True, kw_only=True)
class Window:
    """Which part of the upright picture is wanted, and at which size."""

    size: Size
    """H and W of the result; the picture is scaled to cover it, its aspect kept."""
    top_share: float = 0.5
    """Where it lies in the free height, 0 <= share < 1."""
    left_share: float = 0.5
    """Where it lies in the free width, 0 <= share < 1."""
    flip: bool = False
    """Mirror the result left to right."""


class Painter:
    """Turns frames into windows; keeps one scaler per source and target it has seen lately."""

    def __init__(self) -> None:
        self._scalers: OrderedDict[tuple[object, ...], VideoReformatter] = OrderedDict()

    def paint(
        self,
        frame: av.VideoFrame,
        orientation: Orientation,
        window: Window,
        out_CHW: NDArray[np.uint8],
    ) -> None:
        """Write the window of the frame into ``out_CHW``, uint8 RGB.

        The frame's own size counts, so a video that changes size on the way still fills the
        window. Raises UnsupportedColour.
        """
        assert out_CHW.shape == (3, *window.size) and out_CHW.dtype == np.uint8
        upright = orientation.upright((frame.height, frame.width))
        scaled = cover(upright, window.size)
        planes = self._scaled_planes(frame, orientation.turned_back(scaled))
        rows, columns = _cut(scaled, window)
        is_limited_gray = _is_gray(frame) and frame.color_range == ColorRange.MPEG
        for plane, out_HW in zip(planes, out_CHW, strict=True):
            picture = _turn(plane, orientation)[rows, columns]
            _round_to_bytes(picture[:, ::-1] if window.flip else picture, out_HW)
            if is_limited_gray:
                out_HW[:] = _LIMITED_TO_FULL[out_HW]

    def _scaled_planes(self, frame: av.VideoFrame, size: Size) -> list[NDArray[np.uint16]]:
        """R, G and B of the whole frame at ``size``, 16 bits with 255 at 255 * 256; views."""
        height, width = size
        matrix, color_range = _colour(frame)
        key = (frame.format.name, frame.width, frame.height, matrix, color_range, size)
        scaled = self._scaler(key).reformat(
            frame,
            width,
            height,
            "gbrp16le",
            src_colorspace=matrix,
            dst_colorspace=matrix,
            interpolation=_INTERPOLATION,
            src_color_range=color_range,
            dst_color_range=ColorRange.JPEG,
            threads=1,
        )
        green, blue, red = (
            np.ndarray(size, np.uint16, buffer=memoryview(plane), strides=(plane.line_size, 2))
            for plane in scaled.planes
        )
        return [red, green, blue]

    def _scaler(self, key: tuple[object, ...]) -> VideoReformatter:
        scaler = self._scalers.pop(key, None) or VideoReformatter()
        self._scalers[key] = scaler
        if len(self._scalers) > MAX_SCALERS:
            self._scalers.popitem(last=False)
        return scaler


def _colour(frame: av.VideoFrame) -> tuple[Colorspace, ColorRange]:
    """Matrix and range by the tags of the frame, and by the rule above where it has none."""
    name, is_rgb = frame.format.name, frame.format.is_rgb or frame.format.has_palette
    matrix = _MATRICES.get(frame.colorspace)
    if matrix is None or (frame.colorspace == _RGB_MATRIX and not is_rgb):
        raise UnsupportedColour(f"colour matrix {frame.colorspace} with pixel format {name}")
    if is_rgb or name.startswith("yuvj") or _is_gray(frame):
        return matrix, ColorRange.JPEG
    is_full = frame.color_range == ColorRange.JPEG
    return matrix, ColorRange.JPEG if is_full else ColorRange.MPEG


def _is_gray(frame: av.VideoFrame) -> bool:
    return frame.format.name.startswith(("gray", "ya8", "ya16"))


def _cut(scaled: Size, window: Window) -> tuple[slice, slice]:
    (height, width), (wanted_height, wanted_width) = scaled, window.size
    top = crop_offset(height - wanted_height, window.top_share)
    left = crop_offset(width - wanted_width, window.left_share)
    return slice(top, top + wanted_height), slice(left, left + wanted_width)


def _turn(plane_HW: NDArray[np.uint16], orientation: Orientation) -> NDArray[np.uint16]:
    """The plane upright; a view."""
    if orientation.mirrored:
        plane_HW = plane_HW[:, ::-1]
    return np.rot90(plane_HW, k=-orientation.rotation_degrees // 90)


def _round_to_bytes(picture_HW: NDArray[np.uint16], out_HW: NDArray[np.uint8]) -> None:
    """16 bits with 255 at 255 * 256, and a little above it, to the nearest of 0..255."""
    rounded = np.minimum(picture_HW, 65535 - 128)
    rounded += 128
    rounded >>= 8
    out_HW[:] = rounded
