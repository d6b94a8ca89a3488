"""Whether another reader gave the frames that were asked for, judged by their pixels.

Readers scale and convert a little differently, so a frame is never the same bits. It is wrong when
one of the frames around the one asked for, as filmgate has them, is clearly nearer to it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.footage import NUM_FRAMES
from benchmarks.peers.clips import Clip
from filmgate.records import Record

AROUND = (-3, -2, -1, 1, 2, 3)
"""Neighbours that are looked at, by distance."""
CLEARLY_NEARER = 0.85
"""A neighbour's difference below this share of the own one's tells a wrong frame; frames that stand
still differ by less, and then it makes no difference either."""
BLOCK = 8
"""Pixels on a side of the blocks whose means are compared."""
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


def check(frames_NTHWC: NDArray[np.uint8], reference_NTHWC: NDArray[np.uint8]) -> Check:
    """Compare with the frames of ``with_neighbours`` of the same clips."""
    candidates = 1 + len(AROUND)
    wrong = far = 0
    differences: list[float] = []
    for clip_THWC, around_THWC in zip(frames_NTHWC, reference_NTHWC, strict=True):
        for place, frame in enumerate(clip_THWC):
            own, *others = (
                _difference(frame, around_THWC[place * candidates + number])
                for number in range(candidates)
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


def _difference(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> float:
    """Between means of blocks: half a pixel of shift hardly shows in them, movement does."""
    return float(np.abs(_blocks(one) - _blocks(other)).mean())


def _blocks(frame_HWC: NDArray[np.uint8]) -> NDArray[np.float32]:
    height, width, channels = frame_HWC.shape
    rows, columns = height // BLOCK, width // BLOCK
    cut = frame_HWC[: rows * BLOCK, : columns * BLOCK].astype(np.float32)
    means: NDArray[np.float32] = cut.reshape(rows, BLOCK, columns, BLOCK, channels).mean((1, 3))
    return means
