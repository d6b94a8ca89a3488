"""From a decoded frame to red, green and blue at one size, by the shortest way that is right.

libswscale has three ways, and each is right only sometimes:

- ``quick``, for 8-bit 4:2:0 that keeps its size: rounds three products down, so that results are
  0 to 2.9 levels too low, and chroma is not interpolated. So luma is raised by one code before it,
  which is 1.16 levels and leaves -1.8 to +1.2. Where luma has the highest code, and in full range,
  where that is common, one level is added to the results instead: -1.9 to +1. Other machines may
  round otherwise, so both are checked against the formula first.
- ``rounded``: within 0.5 of the formula, but its sums overflow (255 levels off) where blue lies
  twice above the gamut, which limited range alone can reach.
- ``deep``: 16 bits, rounded to 8 here; never wrong, and slower.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import av
import numpy as np
from av.video.reformatter import ColorRange, Interpolation
from numpy.typing import NDArray

from filmgate.feed.colour import Colour, colour_of, is_gray
from filmgate.feed.geometry import Size
from filmgate.feed.mirror import mirror
from filmgate.feed.scaler import QUICK, Scaler, planes_of

Plane = NDArray[np.uint8]
QUICK_FORMATS = ("yuv420p", "yuvj420p")
PLANAR_FORMATS = ("yuv420p", "yuv422p", "yuv444p", "yuv440p", "yuv411p", "yuv410p")
QUICK_COLUMNS = 16
"""libswscale writes the quick way in blocks of so many columns, and for some widths leaves the rest
as the memory was; so the frame is copied to where it has room for whole blocks."""
QUICK_ROWS = 4
"""What PyAV wants of the height of a frame in memory of one's own."""
QUICK_TOLERANCE = 2.0
OVERFLOW_LEVEL = 500.0
"""Sums of 512 levels overflow."""
_LIMITED_TO_FULL = np.clip(np.rint((np.arange(256) - 16) * (255 / 219)), 0, 255).astype(np.uint8)


@dataclass(frozen=True, kw_only=True)
class Rgb:
    """One frame; ``write`` gives the values that count."""

    planes: list[Plane]
    """R, G and B, each uint8 (H, W)."""
    is_one_low: bool = False
    """Whether one level is to be added."""

    def write(self, picture: Plane, out: Plane, *, flip: bool = False) -> None:
        """A plane, or a view of it, into ``out``, mirrored with ``flip``."""
        if self.is_one_low:
            picture = np.add(picture, np.not_equal(picture, 255))
        if flip:
            mirror(picture, out)
        else:
            out[:] = picture


def rgb_of(frame: av.VideoFrame, size: Size, scaler: Scaler) -> Rgb:
    """The whole frame at ``size``. Raises UnsupportedColour."""
    colour = colour_of(frame)
    if _can_be_quick(frame, size) and is_quick_right(colour):
        return _quick(frame, size, scaler, colour)
    if _may_overflow(frame, colour):
        planes = _deep(frame, size, scaler, colour)
    else:
        green, blue, red = planes_of(scaler.scale(frame, size, "gbrp", colour))
        planes = [red, green, blue]
    if is_gray(frame) and frame.color_range == ColorRange.MPEG:
        planes = [_LIMITED_TO_FULL[plane] for plane in planes]
    return Rgb(planes=planes)


def _can_be_quick(frame: av.VideoFrame, size: Size) -> bool:
    is_same = size == (frame.height, frame.width) and size[0] % 2 == 0
    return is_same and frame.format.name in QUICK_FORMATS and not frame.interlaced_frame


def _quick(frame: av.VideoFrame, size: Size, scaler: Scaler, colour: Colour) -> Rgb:
    canvas = scaler.canvas((_up(size[0], QUICK_ROWS), _up(size[1], QUICK_COLUMNS)))
    luma, *chroma = planes_of(frame)
    mine, *its_chroma = (
        plane[: samples.shape[0], : samples.shape[1]]
        for plane, samples in zip(canvas.planes, (luma, *chroma), strict=True)
    )
    for plane, samples in zip(its_chroma, chroma, strict=True):
        plane[:] = samples
    is_below_top = np.not_equal(luma, 255)
    is_raised = not colour.is_full and bool(is_below_top.all())
    np.add(luma, is_raised, out=mine)
    converted = scaler.scale(canvas.frame, canvas.size, "gbrp", colour, interpolation=QUICK)
    green, blue, red = (plane[: size[0], : size[1]] for plane in planes_of(converted))
    return Rgb(planes=[red, green, blue], is_one_low=not is_raised)


def _up(length: int, step: int) -> int:
    return -(-length // step) * step


@cache
def is_quick_right(colour: Colour) -> bool:
    """Whether the quick way is within the tolerance on this machine, over random samples."""
    return max(_quick_error(colour, top_luma) for top_luma in (254, 255)) <= QUICK_TOLERANCE


def _quick_error(colour: Colour, top_luma: int) -> float:
    drawn = np.random.default_rng(0)
    luma = drawn.integers(0, top_luma, (128, 128), endpoint=True)
    u, v = drawn.integers(0, 256, (2, 64, 64))
    frame = av.VideoFrame.from_ndarray(
        np.concatenate([luma.ravel(), u.ravel(), v.ravel()]).astype(np.uint8).reshape(192, 128),
        format="yuv420p",
    )
    wanted = rgb_of_samples(luma, u.repeat(2, 0).repeat(2, 1), v.repeat(2, 0).repeat(2, 1), colour)
    rgb = _quick(frame, (128, 128), Scaler(), colour)
    got = np.empty((3, 128, 128), np.uint8)
    for plane, out in zip(rgb.planes, got, strict=True):
        rgb.write(plane, out)
    return float(np.abs(got - wanted).max())


def rgb_of_samples(
    luma: NDArray[np.int64], u: NDArray[np.int64], v: NDArray[np.int64], colour: Colour
) -> NDArray[np.float64]:
    """(3, H, W) R, G, B in 0..255 that 8-bit samples mean."""
    kr, kb = colour.weights
    luma_span, chroma_span, black = (255, 255, 0) if colour.is_full else (219, 224, 16)
    y = (luma - black) * (255 / luma_span)
    red = y + 2 * (1 - kr) * (v - 128) * (255 / chroma_span)
    blue = y + 2 * (1 - kb) * (u - 128) * (255 / chroma_span)
    green = (y - kr * red - kb * blue) / (1 - kr - kb)
    rgb: NDArray[np.float64] = np.clip(np.stack([red, green, blue]), 0, 255)
    return rgb


def _may_overflow(frame: av.VideoFrame, colour: Colour) -> bool:
    """Whether blue may lie so far above the gamut that 8-bit sums overflow."""
    layout = frame.format
    bits = layout.components[0].bits
    if not layout.name.startswith(PLANAR_FORMATS) or layout.is_big_endian:
        return not colour.is_full or bits > 8
    if colour.is_full:
        return False
    scale = 2 ** (bits - 8)
    blue_per_u: float = 2 * (1 - colour.weights[1]) * 255 / 224
    blue = (_highest(frame, 1) / scale - 128) * blue_per_u
    if blue + 239 * 255 / 219 < OVERFLOW_LEVEL:
        return False
    luma = (_highest(frame, 0) / scale - 16) * 255 / 219
    return bool(blue + luma >= OVERFLOW_LEVEL)


def _highest(frame: av.VideoFrame, plane_number: int) -> int:
    """The highest sample of a plane."""
    plane = frame.planes[plane_number]
    dtype = np.dtype(np.uint8 if frame.format.components[0].bits == 8 else "<u2")
    samples: NDArray[np.uint16] = np.ndarray(
        (plane.height, plane.width),
        dtype,
        buffer=memoryview(plane),
        strides=(plane.line_size, dtype.itemsize),
    )
    return int(samples.max())


def _deep(frame: av.VideoFrame, size: Size, scaler: Scaler, colour: Colour) -> list[Plane]:
    scaled = scaler.scale(frame, size, "gbrp16le", colour, interpolation=Interpolation.BILINEAR)
    green, blue, red = (
        np.ndarray(size, np.uint16, buffer=memoryview(plane), strides=(plane.line_size, 2))
        for plane in scaled.planes
    )
    return [_rounded_to_bytes(plane) for plane in (red, green, blue)]


def _rounded_to_bytes(plane_HW: NDArray[np.uint16]) -> NDArray[np.uint8]:
    """16 bits with 255 at 255 * 256, and a little above it, to the nearest of 0..255."""
    rounded = np.minimum(plane_HW, 65535 - 128)
    rounded += 128
    rounded >>= 8
    return rounded.astype(np.uint8)
