"""Whether another reader gave the frames that were asked for, judged by their pixels.

Readers scale and convert a little differently, so a frame is never the same bits. It is wrong when
one of the frames around the one asked for, as filmgate has them, is clearly nearer to it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.footage import NUM_FRAMES
from benchmarks.peer_readers.clips import Clip
from filmgate.records import Record

AROUND = (-3, -2, -1, 1, 2, 3)
"""Neighbours that are looked at, by distance."""
CLEARLY_NEARER = 0.85
"""A neighbour's difference below this share of the own one's tells a wrong frame; frames that stand
still differ by less, and then it makes no difference either."""
CELLS = (32, 57)
"""Rows and columns of the grid whose means are compared."""
TOLERANCE_LEVELS = 6.0
"""Mean absolute difference up to which a frame counts as the same picture."""


class Check(Record, frozen=True):
    """The frames of one reader."""

    frames: int
    """Frames looked at."""
    wrong: int
    """Of these, nearer to a neighbour's picture than to their own."""
    far: int
    """Of these, unlike all of them, by more than the tolerance."""
    mean_difference: float
    """Mean absolute difference to filmgate's frames, in levels of 255."""


def with_neighbours(clips: list[Clip]) -> list[Clip]:
    """For each clip one with all frames around its own, in the order that ``check`` expects."""
    return [
        Clip(
            video=clip.video,
            frames=[
                min(max(index + step, 0), NUM_FRAMES - 1)
                for index in clip.frames
                for step in (0, *AROUND)
            ],
        )
        for clip in clips
    ]


def beside(clips: list[Clip]) -> list[Clip]:
    """The clips one frame earlier, or later where there is no earlier one."""
    return [
        Clip(
            video=clip.video,
            frames=[index + (-1 if clip.frames[0] else 1) for index in clip.frames],
        )
        for clip in clips
    ]


def check(cells_NT: NDArray[np.float32], around_NT: NDArray[np.float32]) -> Check:
    """Compare the cells of some clips with those of ``with_neighbours`` of the same clips."""
    candidates = 1 + len(AROUND)
    wrong = far = 0
    differences: list[float] = []
    for clip, around in zip(cells_NT, around_NT, strict=True):
        for place, cells in enumerate(clip):
            start = place * candidates
            own, *others = (
                float(np.abs(cells - other).mean()) for other in around[start : start + candidates]
            )
            differences.append(own)
            if min(others) < CLEARLY_NEARER * own:
                wrong += 1
            elif own > TOLERANCE_LEVELS:
                far += 1
    return Check(
        frames=len(differences),
        wrong=wrong,
        far=far,
        mean_difference=float(np.mean(differences)),
    )


def cells_of(frames_NTHWC: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Each picture as CELLS means of each colour: how it was scaled hardly shows, movement does."""
    height, width = frames_NTHWC.shape[2:4]
    rows, columns = _weights(height, CELLS[0]), _weights(width, CELLS[1])
    clips = [[_cells(frame_HWC, rows, columns) for frame_HWC in clip] for clip in frames_NTHWC]
    return np.array(clips)


def _cells(
    frame_HWC: NDArray[np.uint8], rows: NDArray[np.float32], columns: NDArray[np.float32]
) -> NDArray[np.float32]:
    height, width, colours = frame_HWC.shape
    flat = frame_HWC.reshape(height, width * colours).astype(np.float32)
    strips = (rows @ flat).reshape(len(rows), width, colours)
    cells: NDArray[np.float32] = columns @ strips
    return cells


def _weights(length: int, cells: int) -> NDArray[np.float32]:
    """(cells, length): the share of each pixel in each cell; rows add up to 1."""
    edges = np.linspace(0, length, cells + 1)
    pixels = np.arange(length)
    first = np.maximum(edges[:-1, None], pixels)
    last = np.minimum(edges[1:, None], pixels + 1)
    overlap = np.clip(last - first, 0, None)
    weights: NDArray[np.float32] = (overlap / overlap.sum(axis=1, keepdims=True)).astype(np.float32)
    return weights
