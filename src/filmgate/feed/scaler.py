"""libswscale, one scaler for each source and target it has seen lately."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import av
import numpy as np
from av.video.reformatter import ColorRange, Interpolation, VideoReformatter
from numpy.typing import NDArray

from filmgate.feed.colour import Colour
from filmgate.feed.cropper import Cropper
from filmgate.feed.geometry import Size

MAX_SCALERS = 16
"""Scalers kept; each holds its tables for one source and one target."""
ROUNDED = Interpolation.BILINEAR | Interpolation.ACCURATE_RND | Interpolation.BITEXACT
QUICK = Interpolation.BILINEAR


@dataclass(frozen=True, kw_only=True, eq=False)
class Canvas:
    """A frame in 4:2:0 whose memory is to be written, again and again."""

    size: Size
    frame: av.VideoFrame
    planes: list[NDArray[np.uint8]]
    """Its memory."""


class Scaler:
    """Scales and converts; the colour matrix never changes on the way from Y'CbCr to Y'CbCr."""

    def __init__(self) -> None:
        self.cropper = Cropper()
        """For frames of which only a part is scaled."""
        self._reformatters: OrderedDict[tuple[object, ...], VideoReformatter] = OrderedDict()
        self._canvas = _new_canvas((4, 16))

    def canvas(self, size: Size) -> Canvas:
        """A frame to be filled and scaled, the same as long as the size is the same.

        Its height has to be a multiple of 4, its width of 16.
        """
        if self._canvas.size != size:
            self._canvas = _new_canvas(size)
        return self._canvas

    def scale(
        self,
        frame: av.VideoFrame,
        size: Size,
        format_name: str,
        colour: Colour,
        *,
        target_range: ColorRange = ColorRange.JPEG,
        interpolation: Interpolation = ROUNDED,
    ) -> av.VideoFrame:
        """The whole frame at ``size`` (height, width); ``colour`` is how it is to be understood.

        The frame itself comes back where nothing is to be done.
        """
        source = (frame.format.name, frame.width, frame.height, colour)
        return self._reformatter((source, size, format_name, target_range, interpolation)).reformat(
            frame,
            size[1],
            size[0],
            format_name,
            src_colorspace=int(colour.matrix),
            dst_colorspace=int(colour.matrix),
            interpolation=int(interpolation),
            src_color_range=int(colour.range),
            dst_color_range=int(target_range),
            threads=1,
        )

    def _reformatter(self, key: tuple[object, ...]) -> VideoReformatter:
        reformatter = self._reformatters.pop(key, None) or VideoReformatter()
        self._reformatters[key] = reformatter
        if len(self._reformatters) > MAX_SCALERS:
            self._reformatters.popitem(last=False)
        return reformatter


def _new_canvas(size: Size) -> Canvas:
    memory = np.zeros((size[0] * 3 // 2, size[1]), np.uint8)
    frame = av.VideoFrame.from_numpy_buffer(memory, format="yuv420p")
    return Canvas(size=size, frame=frame, planes=planes_of(frame))


def planes_of(frame: av.VideoFrame) -> list[NDArray[np.uint8]]:
    """(rows, columns) of each plane of 8-bit samples, without padding; views."""
    return [
        np.ndarray(
            (plane.height, plane.width),
            np.uint8,
            buffer=memoryview(plane),
            strides=(plane.line_size, 1),
        )
        for plane in frame.planes
    ]
