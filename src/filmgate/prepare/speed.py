"""How many clips one core reads from a set of videos in a second, held against other sets."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from filmgate.catalog import Catalog
from filmgate.closing import Closing
from filmgate.feed import ClipReader
from filmgate.feed.open_videos import MAX_OPEN_VIDEOS
from filmgate.prepare.stretches import Stretch
from filmgate.spec import Clip
from filmgate.video import FrameTable


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How long reading is timed."""

    rounds: int
    """That count; one more goes before."""
    clips: int
    """Of each subject in a round, at least."""
    cpu_seconds: float
    """Of each subject in a round, at least."""


@dataclass(frozen=True, kw_only=True)
class Speed:
    """What reading one subject came to."""

    rgb_rounds: list[float]
    """Clips per CPU-second as RGB, each round."""
    yuv_rounds: list[float]
    """The same as YUV 4:2:0; empty where the clip has odd sides."""
    read_bytes_per_clip: float | None
    """Bytes asked of the file system; None where the kernel does not tell."""

    @property
    def rgb(self) -> float:
        """Median of the rounds."""
        return statistics.median(self.rgb_rounds)

    @property
    def yuv(self) -> float | None:
        """Median of the rounds."""
        return statistics.median(self.yuv_rounds) if self.yuv_rounds else None


class Subject(Closing):
    """A set of videos whose clips are timed: the source, or the copies of one recipe."""

    def __init__(
        self, catalog: Catalog, clip: Clip, stretches: Sequence[Stretch], *, num_in_set: int,
        reference_every: int, yuv: bool = True,
    ) -> None:  # fmt: skip
        size = clip.height, clip.width
        self.rgb = ClipReader(catalog, size=size)
        is_even = not (clip.height % 2 or clip.width % 2)
        has_yuv = yuv and is_even
        self.yuv = ClipReader(catalog, size=size, pixel_format="yuv420p") if has_yuv else None
        self._clip = clip
        self._stretches = stretches
        self._tables = [catalog.frame_table(stretch.row) for stretch in stretches]
        self._reference_every = reference_every
        # A set of more videos than stay open pays for opening a file at almost every clip.
        self._opens_each = num_in_set > MAX_OPEN_VIDEOS

    def close(self) -> None:
        """Close the decoders."""
        self.rgb.close()
        if self.yuv is not None:
            self.yuv.close()

    def read_clip(self, reader: ClipReader, chance: random.Random) -> None:
        """Read a random clip, one that starts on a reference where there is a spacing."""
        place = chance.randrange(len(self._stretches))
        indices = self._clip_indices(self._stretches[place], self._tables[place], chance.random())
        reader.read(self._stretches[place].row, list(indices))
        if self._opens_each:
            reader.close()

    def _clip_indices(
        self, stretch: Stretch, table: FrameTable, where: float
    ) -> Sequence[int] | NDArray[np.int64]:
        clip, last = self._clip, stretch.first + stretch.num_frames - 1
        if clip.sampling == "uniform":
            return np.linspace(stretch.first, last, clip.frames).astype(np.int64)
        if clip.fps is not None:
            span = (clip.frames - 1) / Fraction(clip.fps) / table.time_base
            latest = int(np.searchsorted(table.pts, int(table.pts[last] - span), side="right")) - 1
            start = stretch.first + int(where * max(1, latest - stretch.first + 1))
            return table.frames_at_rate(start, clip.frames, clip.fps)
        stride = clip.stride or 1
        free = stretch.num_frames - (clip.frames - 1) * stride
        step = self._reference_every if stride % self._reference_every == 0 else 1
        start = stretch.first + step * int(where * ((free - 1) // step + 1))
        return range(start, start + clip.frames * stride, stride)


def read_in_turns(
    subjects: Sequence[Subject],
    pace: Pace,
    on_progress: Callable[[int, int], None] | None = None,
) -> list[Speed]:
    """The speed of each subject, after a round that is not counted.

    All read clips at the same places, in turns, so that a busy machine is busy for all of them.
    """
    rgb: list[list[float]] = [[] for _ in subjects]
    yuv: list[list[float]] = [[] for _ in subjects]
    bytes_per_clip: list[float | None] = [None for _ in subjects]
    for number in range(pace.rounds + 1):
        for place, subject in enumerate(subjects):
            speed, bytes_per_clip[place] = _round(subject, subject.rgb, number, pace)
            rgb[place].append(speed)
            if subject.yuv is not None:
                yuv[place].append(_round(subject, subject.yuv, number, pace)[0])
            if on_progress is not None:
                done = number * len(subjects) + place + 1
                on_progress(done, (pace.rounds + 1) * len(subjects))
    return [
        Speed(rgb_rounds=rgb[place][1:], yuv_rounds=yuv[place][1:],
              read_bytes_per_clip=bytes_per_clip[place])
        for place in range(len(subjects))
    ]  # fmt: skip


def cpu_seconds_of(subject: Subject, num_clips: int) -> float:
    """CPU time of one clip, mean over a few."""
    chance, began = random.Random(0), time.thread_time()
    for _ in range(num_clips):
        subject.read_clip(subject.rgb, chance)
    return (time.thread_time() - began) / num_clips


def _round(
    subject: Subject, reader: ClipReader, seed: int, pace: Pace
) -> tuple[float, float | None]:
    """Clips per CPU-second, and bytes read per clip."""
    chance, num_clips = random.Random(seed), 0
    bytes_before, began = _bytes_read(), time.thread_time()
    while num_clips < pace.clips or time.thread_time() - began < pace.cpu_seconds:
        subject.read_clip(reader, chance)
        num_clips += 1
    seconds, bytes_after = time.thread_time() - began, _bytes_read()
    if bytes_before is None or bytes_after is None:
        return num_clips / seconds, None
    return num_clips / seconds, (bytes_after - bytes_before) / num_clips


def _bytes_read() -> int | None:
    """Bytes that this process has asked of files so far; None where the kernel does not tell."""
    try:
        lines = Path("/proc/self/io").read_text().split()
    except OSError:
        return None
    return int(lines[lines.index("rchar:") + 1])
