"""Which frames of a video a clip may take: the border of the held-out part, starts, short videos.

V videos, T clip frames.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from filmgate.errors import UserError
from filmgate.video import FrameTable

Split = Literal["train", "holdout"]
Short = Literal["raise", "repeat-last", "loop"]

SHORT_HINT = 'shorten the clip, or set short = "repeat-last" or "loop" in [data]'


@dataclass(frozen=True, kw_only=True, eq=False)
class ClipFrames:
    """The frames of clips over all videos of a catalog; nothing is computed before it is asked.

    The last ``holdout`` share of a video's frames is its held-out part, when both sides of that
    border have room for a whole clip; otherwise the video is not divided and all of it is trained
    on.
    """

    num_frames_V: NDArray[np.int64]
    """Frames of each video, each at least 1."""
    frames: int
    """Frames per clip (T)."""
    stride: int | None
    """Source frames from one clip frame to the next; None when ``fps`` is set."""
    fps: float | None
    """Clip frames per second of source time; None when ``stride`` is set."""
    holdout: float
    """Share of each video's frames that is kept for evaluation, below 1."""
    short: Short
    """What a clip does that is longer than its range."""
    duration_seconds_V: NDArray[np.float64] | None
    """Length of each video, NaN where unknown; with ``fps`` it decides which are divided."""
    frame_table: Callable[[int], FrameTable] | None
    """The frame table of a row; needed with ``fps``."""

    def is_divided(self, rows: slice) -> NDArray[np.bool_]:
        """Which of the videos have a held-out part."""
        num_frames = self.num_frames_V[rows]
        num_held = np.floor(num_frames * self.holdout)
        smaller_side = np.minimum(num_held, num_frames - num_held)
        return np.asarray(smaller_side >= np.maximum(1, self.span(rows)))

    def span(self, rows: slice) -> NDArray[np.float64]:
        """Frames from the first to the last of a clip; infinite where a duration is unknown.

        With ``fps`` an estimate from the mean frame rate, so that the tables of a million videos
        are not read for it. Where a video's own table then leaves too little room, the clip is
        padded inside its own side of the border.
        """
        num_frames = self.num_frames_V[rows]
        if self.stride is not None:
            return np.full(len(num_frames), (self.frames - 1) * self.stride + 1.0)
        if self.fps is None:
            return np.full(len(num_frames), float(self.frames))
        if self.duration_seconds_V is None:
            return np.full(len(num_frames), np.inf)
        seconds = self.duration_seconds_V[rows]
        known = seconds > 0
        frames_per_second = num_frames / np.where(known, seconds, 1.0)
        span = np.ceil((self.frames - 1) / self.fps * frames_per_second - 1e-6) + 1
        return np.where(known, span, np.inf)

    def bounds(self, video: int, split: Split) -> tuple[int, int]:
        """First frame, and one past the last, that the split may show of a video."""
        num_frames = int(self.num_frames_V[video])
        border = num_frames - math.floor(num_frames * self.holdout)
        if split == "holdout":
            return border, num_frames
        return 0, border if self.is_divided(slice(video, video + 1))[0] else num_frames

    def everything(self, video: int) -> tuple[int, int]:
        """The same, where a video is trained on or evaluated as a whole."""
        return 0, int(self.num_frames_V[video])

    def num_starts(self, video: int, first: int, limit: int) -> int:
        """Frames from ``first`` on at which a whole clip below ``limit`` can start; 0 for none."""
        if self.stride is not None:
            return max(0, limit - first - (self.frames - 1) * self.stride)
        table, step_ticks = self._timed(video)
        last_start = _start_of(table, limit) - int(step_ticks * (self.frames - 1))
        return int(np.searchsorted(table.pts[first:limit], last_start, side="left"))

    def indices(self, video: int, start: int, limit: int) -> tuple[NDArray[np.int64], bool]:
        """(T,) frames of the clip from ``start`` on, and whether it had to be padded.

        Raises UserError when it would be padded and ``short`` is ``raise``.
        """
        fitting = self._fitting(video, start, limit)
        if len(fitting) == self.frames:
            return fitting, False
        if self.short == "raise":
            raise UserError(
                f"video row {video}: a clip of {self.frames} frames does not fit into frames "
                f"{start}..{limit - 1}; only {len(fitting)} do",
                hint=SHORT_HINT,
            )
        places = np.arange(self.frames)
        if self.short == "loop":
            return fitting[places % len(fitting)], True
        return fitting[np.minimum(places, len(fitting) - 1)], True

    def uniform(
        self, video: int, first: int, limit: int, where_T: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], bool]:
        """(T,) one frame of each of T equal parts of the range, and whether frames repeat.

        Raises UserError when the range has fewer than T frames and ``short`` is ``raise``.
        Source: Wang et al., "Temporal Segment Networks" (2016), section 3.1.
        """
        num_frames = limit - first
        if num_frames < self.frames and self.short == "raise":
            raise UserError(
                f"video row {video}: frames {first}..{limit - 1} have no {self.frames} parts",
                hint=SHORT_HINT,
            )
        parts_T = (np.arange(self.frames) + where_T) * (num_frames / self.frames)
        indices_T = first + np.minimum(parts_T.astype(np.int64), num_frames - 1)
        return indices_T, num_frames < self.frames

    def _fitting(self, video: int, start: int, limit: int) -> NDArray[np.int64]:
        """The first frames of the clip that lie below ``limit``: at least one, at most T."""
        if self.stride is not None:
            return np.arange(start, limit, self.stride, dtype=np.int64)[: self.frames]
        table, step_ticks = self._timed(video)
        assert self.fps is not None
        room_ticks = _start_of(table, limit) - int(table.pts[start])
        num_fitting = min(self.frames, math.ceil(room_ticks / step_ticks))
        return table.frames_at_rate(start, num_fitting, self.fps)

    def _timed(self, video: int) -> tuple[FrameTable, Fraction]:
        """The frame table of a video, and the ticks from one clip frame to the next."""
        assert self.frame_table is not None and self.fps is not None
        table = self.frame_table(video)
        return table, 1 / (Fraction(self.fps).limit_denominator(1_000_000) * table.time_base)


def _start_of(table: FrameTable, index: int) -> int:
    """Ticks at which frame ``index`` starts; one past the last frame is the end of the video."""
    return int(table.pts[index]) if index < table.num_frames else table.end_ticks
