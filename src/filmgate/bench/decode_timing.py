"""How long one core takes to decode videos: all frames in order, and clips from anywhere."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass

from filmgate.catalog import Catalog
from filmgate.feed import ClipReader
from filmgate.spec import Clip
from filmgate.video import VideoReader

CLIP = Clip(frames=16, stride=2, height=224, width=224)
"""What action recognition usually takes: 16 frames, every second one, of 224x224."""
MOST_FRAMES = 300
"""That are decoded of one video in order."""


@dataclass(frozen=True, kw_only=True)
class Pace:
    """Things done in a time, on two clocks."""

    count: int
    core_seconds: float
    wall_seconds: float

    @property
    def per_core_second(self) -> float:
        """By CPU time, which other programs disturb least."""
        return self.count / self.core_seconds

    @property
    def per_second(self) -> float:
        """By the clock on the wall."""
        return self.count / self.wall_seconds


class RandomClips:
    """Clips from random places of some rows of a catalog, as a feed's worker makes them."""

    def __init__(self, catalog: Catalog, rows: Sequence[int], seed: int, clip: Clip = CLIP) -> None:
        self.reader = ClipReader(catalog, size=(clip.height, clip.width))
        self._lengths = {row: int(catalog.num_frames[row]) for row in rows}
        self._rows = list(rows)
        self._stride, self._frames = clip.stride or 1, clip.frames
        self._chance = random.Random(seed)

    def read_one(self) -> None:
        """Read a clip, from the first frame on where a video is too short for it."""
        row = self._chance.choice(self._rows)
        length, span = self._lengths[row], (self._frames - 1) * self._stride + 1
        first = self._chance.randrange(max(1, length - span + 1))
        last = length - 1
        self.reader.read(row, [min(last, first + self._stride * n) for n in range(self._frames)])


def time_frames(catalog: Catalog, rows: Sequence[int]) -> Pace:
    """Decode the first frames of each row in order, without turning them into RGB."""
    count, core, wall = 0, time.process_time(), time.perf_counter()
    for row in rows:
        number = min(MOST_FRAMES, int(catalog.num_frames[row]))
        with VideoReader(catalog.video(row).path, catalog.frame_table(row)) as reader:
            count += sum(1 for _ in reader.frames(range(number)))
    return Pace(
        count=count,
        core_seconds=time.process_time() - core,
        wall_seconds=time.perf_counter() - wall,
    )


def time_clips(clips: RandomClips, least_clips: int, least_core_seconds: float) -> Pace:
    """Read clips until both bounds are reached."""
    count, core, wall = 0, time.process_time(), time.perf_counter()
    while count < least_clips or time.process_time() - core < least_core_seconds:
        clips.read_one()
        count += 1
    return Pace(
        count=count,
        core_seconds=time.process_time() - core,
        wall_seconds=time.perf_counter() - wall,
    )
