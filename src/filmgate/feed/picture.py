"""From a decoded frame to an RGB window: one pass of libswscale and one cut.

The decoder's own samples go to RGB by the matrix and range that the frame is tagged with
(``filmgate.feed.colour``). Sources in RGB stay as they are. The transfer curve is not touched (HDR
is not tone-mapped), transparency is dropped, and fields of an interlaced frame stay woven.

Shapes: H W of the window, C = 3 as R, G, B.
"""

from __future__ import annotations

from dataclasses import dataclass

import av
import numpy as np
from numpy.typing import NDArray

from filmgate.feed.geometry import Orientation, Size, cover, crop_offset
from filmgate.feed.region import Region, stored_rectangle
from filmgate.feed.rgb import rgb_of
from filmgate.feed.scaler import Scaler


@dataclass(frozen=True, kw_only=True)
class Window:
    """Which part of the upright picture is wanted, and at which size."""

    size: Size
    """H and W of the result; the picture is scaled to cover it, its aspect kept."""
    region: Region | None = None
    """The part of the picture that fills the result, its aspect not kept; None for the whole
    picture, of which the shares below say what is left out."""
    top_share: float = 0.5
    """Where it lies in the free height, 0 <= share < 1."""
    left_share: float = 0.5
    """Where it lies in the free width, 0 <= share < 1."""
    flip: bool = False
    """Mirror the result left to right."""


class Painter:
    """Turns frames into windows; keeps what libswscale needs between frames."""

    def __init__(self) -> None:
        self._scaler = Scaler()

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
        if window.region is not None:
            frame = self._scaler.cropper.cut(
                frame, stored_rectangle(frame, orientation, window.region)
            )
        scaled = scaled_size(frame, orientation, window)
        rgb = rgb_of(frame, orientation.turned_back(scaled), self._scaler)
        rows, columns = _cut(scaled, window)
        for plane, out_HW in zip(rgb.planes, out_CHW, strict=True):
            picture = turn(plane, orientation)[rows, columns]
            rgb.write(picture, out_HW, flip=window.flip)


def scaled_size(frame: av.VideoFrame, orientation: Orientation, window: Window) -> Size:
    """The upright size to which the frame, or the region cut out of it, is scaled."""
    if window.region is not None:
        return window.size
    return cover(orientation.upright((frame.height, frame.width)), window.size)


def _cut(scaled: Size, window: Window) -> tuple[slice, slice]:
    (height, width), (wanted_height, wanted_width) = scaled, window.size
    top = crop_offset(height - wanted_height, window.top_share)
    left = crop_offset(width - wanted_width, window.left_share)
    return slice(top, top + wanted_height), slice(left, left + wanted_width)


def turn(plane_HW: NDArray[np.uint8], orientation: Orientation) -> NDArray[np.uint8]:
    """The plane upright; a view."""
    if not orientation.rotation_degrees and not orientation.mirrored:
        return plane_HW
    if orientation.mirrored:
        plane_HW = plane_HW[:, ::-1]
    return np.rot90(plane_HW, k=-orientation.rotation_degrees // 90)
