"""Which clips are read: lists that depend on a seed alone."""

from __future__ import annotations

import random

from benchmarks.footage import NUM_FRAMES, NUM_VIDEOS
from filmgate.records import Record

CLIP_FRAMES = 16
STRIDE = 4
VISIT_CLIPS = 4
CHECKED_FRAMES = 6
"""Of a clip whose pixels are looked at."""
SPAN = (CLIP_FRAMES - 1) * STRIDE + 1


class Clip(Record, frozen=True):
    """Frames of one video."""

    video: int
    """Number in the list of videos."""
    frames: list[int]
    """Indices in display order, ascending."""


def random_clips(count: int, seed: int, *, multiple_of: int = 1) -> list[Clip]:
    """``count`` clips of random videos from random starts, which are multiples of a number."""
    chance = random.Random(seed)
    return [_clip(chance, chance.randrange(NUM_VIDEOS), multiple_of) for _ in range(count)]


def random_visits(count: int, seed: int) -> list[Clip]:
    """``count`` times VISIT_CLIPS clips in a row from one random video."""
    chance = random.Random(seed)
    rows = [chance.randrange(NUM_VIDEOS) for _ in range(count)]
    return [_clip(chance, video, 1) for video in rows for _ in range(VISIT_CLIPS)]


def checked_clips(seed: int) -> list[Clip]:
    """A short clip of each video, the first one from frame 0, the second one up to the last."""
    chance, span = random.Random(seed), (CHECKED_FRAMES - 1) * STRIDE + 1
    starts = [0, NUM_FRAMES - span]
    starts += [chance.randrange(NUM_FRAMES - span + 1) for _ in range(NUM_VIDEOS - len(starts))]
    return [
        Clip(video=video, frames=list(range(start, start + span, STRIDE)))
        for video, start in enumerate(starts)
    ]


def _clip(chance: random.Random, video: int, multiple_of: int) -> Clip:
    start = chance.randrange((NUM_FRAMES - SPAN) // multiple_of + 1) * multiple_of
    return Clip(video=video, frames=[start + STRIDE * place for place in range(CLIP_FRAMES)])
