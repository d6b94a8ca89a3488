"""From a decoded frame to Y'CbCr 4:2:0 at one size, for conversion to RGB where it costs nothing.

A picture of H x W, both even, is uint8 (H * 3 / 2, W): H rows of luma, then H / 4 rows that hold
the Cb plane of H / 2 x W / 2, then as many for Cr, each plane row by row (I420). The samples stay
what the video has, so matrix and range are the video's own: ``yuv_colour`` tells them, and
``to_rgb`` shows what they mean.
"""

from __future__ import annotations

import av
import numpy as np
from av.video.reformatter import ColorRange
from numpy.typing import NDArray

from filmgate.feed.colour import Colour, colour_of, is_gray
from filmgate.feed.geometry import Orientation, Size, crop_offset
from filmgate.feed.mirror import mirror
from filmgate.feed.picture import Window, scaled_size, turn
from filmgate.feed.region import stored_rectangle
from filmgate.feed.rgb import QUICK_FORMATS, rgb_of_samples
from filmgate.feed.scaler import Scaler, planes_of


def yuv_colour(frame: av.VideoFrame) -> Colour:
    """How the samples of a frame that was painted are to be understood. Raises UnsupportedColour.

    RGB and gray sources become full range, RGB by the matrix BT.601.
    """
    colour = colour_of(frame)
    if is_gray(frame):
        return colour._replace(is_full=frame.color_range != ColorRange.MPEG)
    return colour


def paint_yuv(
    frame: av.VideoFrame,
    orientation: Orientation,
    window: Window,
    scaler: Scaler,
    out: NDArray[np.uint8],
) -> bool:
    """Write the window into ``out``, uint8 (H * 3 / 2, W). Raises UnsupportedColour.

    Whether chroma samples are new ones, made by scaling, rather than those of the frame.
    """
    if window.region is not None:
        rectangle = stored_rectangle(frame, orientation, window.region)
        frame = scaler.cropper.cut(frame, rectangle)
    scaled = even(scaled_size(frame, orientation, window))
    planes, is_scaled = _planes(frame, orientation.turned_back(scaled), scaler)
    top = crop_offset(scaled[0] - window.size[0], window.top_share) // 2
    left = crop_offset(scaled[1] - window.size[1], window.left_share) // 2
    for plane, out_HW in zip(planes, split(out, window.size), strict=True):
        picture = turn(plane, orientation)
        step = 2 if out_HW.shape == window.size else 1
        rows = slice(step * top, step * top + out_HW.shape[0])
        columns = slice(step * left, step * left + out_HW.shape[1])
        cut = picture[rows, columns]
        if window.flip:
            mirror(cut, out_HW)
        else:
            out_HW[:] = cut
    return is_scaled


def _planes(
    frame: av.VideoFrame, size: Size, scaler: Scaler
) -> tuple[list[NDArray[np.uint8]], bool]:
    """Y, Cb and Cr, and whether they were made anew."""
    colour, name = colour_of(frame), frame.format.name
    if name in QUICK_FORMATS and size == (frame.height, frame.width):
        return planes_of(frame), False
    planes = planes_of(scaler.scale(frame, size, "yuv420p", colour, target_range=colour.range))
    if is_gray(frame):
        planes[1:] = [np.full_like(plane, 128) for plane in planes[1:]]
    return planes, True


def even(size: Size) -> Size:
    """The size, an odd side one larger."""
    return size[0] + size[0] % 2, size[1] + size[1] % 2


def split(picture: NDArray[np.uint8], size: Size) -> list[NDArray[np.uint8]]:
    """Y, Cb and Cr of one picture; views."""
    height, width = size
    luma, chroma = picture[:height], picture[height:].reshape(2, height // 2, width // 2)
    return [luma, chroma[0], chroma[1]]


def to_rgb(picture: NDArray[np.uint8], colour: Colour) -> NDArray[np.uint8]:
    """uint8 (H, W, 3) by the formula, chroma repeated: what the samples mean, not a fast way."""
    size = picture.shape[0] * 2 // 3, picture.shape[1]
    luma, u, v = split(picture, size)
    full_u, full_v = (plane.repeat(2, 0).repeat(2, 1) for plane in (u, v))
    samples = [plane.astype(np.int64) for plane in (luma, full_u, full_v)]
    rgb = np.rint(rgb_of_samples(samples[0], samples[1], samples[2], colour))
    return np.ascontiguousarray(rgb.astype(np.uint8).transpose(1, 2, 0))
