"""Where the upright picture lies in a window: the one way from annotations to what the feed gives.

Points are x, y in pixels with (0, 0) at the outer corner of the first one, so x = W is the right
edge: torchvision's convention for boxes. A point of the picture at x lands at
``x * scale + shift``; mirroring makes the scale negative, as W - x does.

H W of the window.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import av
import numpy as np
from numpy.typing import NDArray

from filmgate.catalog.sample import Sample
from filmgate.feed.cropper import Stored
from filmgate.feed.geometry import Orientation, Size, cover, crop_offset
from filmgate.feed.picture import Window
from filmgate.feed.region import Region, stored_rectangle
from filmgate.feed.yuv import even
from filmgate.pack.mask import Bits, Mask, Polygons, mask_pixels, runs_pixels
from filmgate.pack.turn import upright_points
from filmgate.spec import Clip

Transport = Literal["rgb24", "yuv420p"]


@dataclass(frozen=True, kw_only=True)
class Placement:
    """From pixels of the upright picture to pixels of the window."""

    scale: tuple[float, float]
    """Of x and y."""
    shift: tuple[float, float]
    """Of x and y, added after scaling."""
    size: Size
    """H and W of the window."""

    def points(self, points_P2: NDArray[np.float64]) -> NDArray[np.float64]:
        """(P, 2) x, y in the window; may lie outside of it."""
        placed: NDArray[np.float64] = points_P2 * self.scale + self.shift
        return placed

    def back(self, points_P2: NDArray[np.float64]) -> NDArray[np.float64]:
        """(P, 2) x, y in the picture of points of the window."""
        placed: NDArray[np.float64] = (points_P2 - self.shift) / self.scale
        return placed

    def boxes(self, boxes_N4: NDArray[np.float64]) -> NDArray[np.float64]:
        """(N, 4) x1, y1, x2, y2 in the window, not yet cut at its edges."""
        corners = self.points(boxes_N4.reshape(-1, 2)).reshape(-1, 2, 2)
        return np.concatenate([corners.min(1), corners.max(1)], axis=1)

    def mask(self, mask: Mask) -> Bits:
        """Bool (H, W): polygons are painted where they land, of runs the nearest pixel is taken."""
        if isinstance(mask, Polygons):
            rings = tuple(self.points(ring) for ring in mask.rings)
            return mask_pixels(Polygons(rings=rings), self.size)
        columns, rows = (self._nearest(axis, mask.size[1 - axis]) for axis in (0, 1))
        pixels: Bits = runs_pixels(mask)[np.ix_(rows, columns)]
        return pixels

    def _nearest(self, axis: int, length: int) -> NDArray[np.int64]:
        """For each row or column of the window, the one of the picture in which its middle lies."""
        middles = np.arange(self.size[1 - axis]) + 0.5
        places = np.floor((middles - self.shift[axis]) / self.scale[axis]).astype(np.int64)
        nearest: NDArray[np.int64] = np.clip(places, 0, length - 1)
        return nearest


def cut_boxes(boxes_N4: NDArray[np.float64], size: Size) -> NDArray[np.float64]:
    """The part of each box inside the window; one beside it has no area."""
    height, width = size
    return np.clip(boxes_N4, 0.0, np.array([width, height, width, height], np.float64))


def areas(boxes_N4: NDArray[np.float64]) -> NDArray[np.float64]:
    """(N,) areas in pixels."""
    sides = boxes_N4[:, 2:] - boxes_N4[:, :2]
    area: NDArray[np.float64] = sides[:, 0] * sides[:, 1]
    return area


def window_of(clip: Clip, sample: Sample, orientation: Orientation, stored: Size) -> Window:
    """The window that a sample shows of a video whose frames are stored at a size."""
    return Window(
        size=(clip.height, clip.width),
        region=_region_of(sample, orientation.upright(stored)),
        top_share=sample.crop_top_share,
        left_share=sample.crop_left_share,
        flip=sample.flip,
    )


def _region_of(sample: Sample, picture: Size) -> Region | None:
    """The part that a random resized crop shows, the same in all frames."""
    if sample.resized_crop is None:
        return None
    return Region(rectangle=sample.resized_crop.rectangle(picture), picture=picture)


def place(
    window: Window,
    orientation: Orientation,
    stored: Size,
    pixel_format: str,
    transport: Transport = "rgb24",
) -> Placement:
    """Where a frame that is stored at a size lands in a window; nothing is decoded for it.

    The picture that points are given in is the upright one, its pixels made square.
    """
    if window.region is None:
        height, width = orientation.upright(stored)
        part = _Part(top=0, left=0, height=height, width=width)
        scaled = cover(orientation.upright(stored), window.size)
    else:
        part = _upright_part(window.region, orientation, stored, pixel_format)
        scaled = window.size
    if transport == "yuv420p":
        scaled = even(scaled)
    top = crop_offset(scaled[0] - window.size[0], window.top_share)
    left = crop_offset(scaled[1] - window.size[1], window.left_share)
    if transport == "yuv420p":
        top, left = top // 2 * 2, left // 2 * 2
    scale_x, scale_y = scaled[1] / part.width, scaled[0] / part.height
    shift_x, shift_y = -part.left * scale_x - left, -part.top * scale_y - top
    if window.flip:
        scale_x, shift_x = -scale_x, window.size[1] - shift_x
    return Placement(scale=(scale_x, scale_y), shift=(shift_x, shift_y), size=window.size)


@dataclass(frozen=True, kw_only=True)
class _Part:
    """A rectangle of the upright picture, not on whole pixels where pixels are not square."""

    top: float
    left: float
    height: float
    width: float


def _upright_part(
    region: Region, orientation: Orientation, stored: Size, pixel_format: str
) -> _Part:
    """The part of the upright picture that is cut out, on its chroma grid as the decoder's is."""
    frame = Stored(
        height=stored[0], width=stored[1], format=av.VideoFormat(pixel_format, *stored[::-1])
    )
    cut = stored_rectangle(frame, orientation, region)
    square = orientation.turned_back(orientation.upright(stored))
    ratio = np.array([square[1] / stored[1], square[0] / stored[0]])
    corners = np.array([[cut.left, cut.top], [cut.left + cut.width, cut.top + cut.height]]) * ratio
    turned = upright_points(
        corners, square, orientation.rotation_degrees, mirrored=orientation.mirrored
    )
    (left, top), (right, bottom) = turned.min(0).tolist(), turned.max(0).tolist()
    return _Part(top=top, left=left, height=bottom - top, width=right - left)
