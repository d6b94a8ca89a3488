"""Masks: polygons and runs, and how they become pixels.

A pixel belongs to a polygon when its centre lies inside (even-odd rule within one ring); the rings
of an object add up. Runs are COCO's: lengths of zeros and ones in turn, zeros first, column by
column. (0, 0) is the outer corner of the first pixel, as for torchvision's boxes.

H W of the picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class Polygons:
    """A mask by its outline."""

    rings: tuple[NDArray[np.float64], ...]
    """Each (points, 2): x, y in pixels."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Runs:
    """A mask by its pixels."""

    size: tuple[int, int]
    """Height and width of the picture that the runs fill."""
    counts: NDArray[np.int64]
    """Zeros, ones, zeros, ... down the columns."""


Mask = Polygons | Runs


def mask_pixels(mask: Mask, size: tuple[int, int]) -> Bits:
    """The mask as bool (H, W). Runs must have that size."""
    if isinstance(mask, Runs):
        assert mask.size == size, "runs fill one size"
        return runs_pixels(mask)
    pixels = np.zeros(size, np.bool_)
    for ring in mask.rings:
        pixels |= ring_pixels(ring, size)
    return pixels


def ring_pixels(ring_P2: NDArray[np.float64], size: tuple[int, int]) -> Bits:
    """One polygon as bool (H, W)."""
    height, width = size
    pixels = np.zeros(size, np.bool_)
    x, y = ring_P2[:, 0], ring_P2[:, 1]
    next_x, next_y = np.roll(x, -1), np.roll(y, -1)
    first = max(0, int(np.ceil(y.min() - 0.5)))
    last = min(height, int(np.floor(y.max() - 0.5)) + 1)
    for row in range(first, last):
        centre = row + 0.5
        crosses = (y <= centre) != (next_y <= centre)
        share = (centre - y[crosses]) / (next_y[crosses] - y[crosses])
        edges = np.sort(x[crosses] + share * (next_x[crosses] - x[crosses]))
        # A centre on the left edge is inside, one on the right edge is not.
        columns = np.clip(np.ceil(edges - 0.5), 0, width).astype(np.int64)
        for start, end in zip(columns[::2].tolist(), columns[1::2].tolist(), strict=True):
            pixels[row, start:end] = True
    return pixels


def check_runs(runs: Runs) -> None:
    """Raises ValueError when they do not fill the picture."""
    height, width = runs.size
    if runs.counts.min(initial=0) < 0 or runs.counts.sum() != height * width:
        raise ValueError(f"its runs do not fill {height} x {width} pixels")


def runs_pixels(runs: Runs) -> Bits:
    """Runs, which fill the picture, as bool (H, W)."""
    height, width = runs.size
    values = np.arange(len(runs.counts)) % 2 == 1
    return np.repeat(values, runs.counts).reshape(width, height).T


def pixels_runs(pixels_HW: Bits) -> Runs:
    """Bool (H, W) as runs."""
    height, width = pixels_HW.shape
    flat = pixels_HW.T.reshape(-1)
    changes = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    edges = np.concatenate([[0], changes, [flat.size]])
    counts = np.diff(edges).astype(np.int64)
    if flat.size and flat[0]:
        counts = np.concatenate([[0], counts])
    return Runs(size=(height, width), counts=counts)


def box_of_pixels(pixels_HW: Bits) -> tuple[float, float, float, float]:
    """The smallest XYXY box around the True pixels; all zero where there is none."""
    rows, columns = np.flatnonzero(pixels_HW.any(1)), np.flatnonzero(pixels_HW.any(0))
    if not len(rows):
        return 0.0, 0.0, 0.0, 0.0
    return float(columns[0]), float(rows[0]), float(columns[-1] + 1), float(rows[-1] + 1)


def counts_of_text(text: str) -> NDArray[np.int64]:
    """COCO's compressed counts: six bits a character, differences to the count before the last.

    Source: ``rleFrString`` of cocoapi's maskApi.c. Raises ValueError for text that ends midway.
    """
    counts: list[int] = []
    value = shift = 0
    for character in text.encode():
        bits = character - 48
        if not 0 <= bits < 64:
            raise ValueError("its compressed runs have a character that is none")
        value |= (bits & 0x1F) << shift
        shift += 5
        if bits & 0x20:
            continue
        if bits & 0x10:
            value -= 1 << shift
        counts.append(value + (counts[-2] if len(counts) > 2 else 0))
        value = shift = 0
    if shift:
        raise ValueError("its compressed runs end midway")
    return np.array(counts, np.int64)


def rings_of(flat: Sequence[Sequence[float]]) -> tuple[NDArray[np.float64], ...]:
    """Rings from x, y, x, y, ... Raises ValueError for fewer than three points."""
    rings = [np.array(ring, np.float64) for ring in flat]
    if any(len(ring) < 6 or len(ring) % 2 for ring in rings):
        raise ValueError("a polygon of fewer than three points")
    return tuple(ring.reshape(-1, 2) for ring in rings)
