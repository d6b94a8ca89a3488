"""Whose turn it is: the video that each place of an unshuffled epoch shows, and back.

V videos.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from filmgate.catalog.permutation import below, draw, share


class Turns(Protocol):
    """One rule of sharing an epoch out among the videos."""

    def video(self, epoch: int, item: int) -> int:
        """The video of a place."""

    def items(self, epoch: int, video: int) -> range:
        """All places of a video; empty when an epoch passes over it."""

    def turn(self, epoch: int, item: int) -> int:
        """How many clips of the same video came before, about, counted over all epochs."""

    @property
    def num_shown(self) -> int:
        """Videos with any share of an epoch."""

    def is_shown(self, video: int) -> bool:
        """Whether the video has any share of an epoch."""

    def other(self, video: int, chance: int) -> int:
        """Another video that is shown, all alike; the same one when there is none."""


@dataclass(frozen=True, kw_only=True)
class EqualTurns:
    """Every video ``clips_per_video`` times an epoch."""

    num_videos: int
    clips_per_video: int

    def video(self, epoch: int, item: int) -> int:
        """Round after round over all videos."""
        return item % self.num_videos

    def items(self, epoch: int, video: int) -> range:
        """One in each round."""
        return range(video, self.num_videos * self.clips_per_video, self.num_videos)

    def turn(self, epoch: int, item: int) -> int:
        """Exact."""
        return epoch * self.clips_per_video + item // self.num_videos

    @property
    def num_shown(self) -> int:
        """All."""
        return self.num_videos

    def is_shown(self, video: int) -> bool:
        """Always."""
        return True

    def other(self, video: int, chance: int) -> int:
        """Any but the video itself."""
        return _other_place(video, self.num_videos, chance)


@dataclass(frozen=True, kw_only=True, eq=False)
class TurnsOfSome:
    """Equal turns of some of the videos."""

    rows: NDArray[np.int64]
    """Which, ascending."""
    turns: EqualTurns
    """Over their places in ``rows``."""

    def video(self, epoch: int, item: int) -> int:
        """One of them."""
        return int(self.rows[self.turns.video(epoch, item)])

    def items(self, epoch: int, video: int) -> range:
        """None of one that is not among them."""
        return self.turns.items(epoch, self._place(video)) if self.is_shown(video) else range(0)

    def turn(self, epoch: int, item: int) -> int:
        """Exact."""
        return self.turns.turn(epoch, item)

    @property
    def num_shown(self) -> int:
        """All of them."""
        return len(self.rows)

    def is_shown(self, video: int) -> bool:
        """Whether it is one of them."""
        place = self._place(video)
        return place < len(self.rows) and bool(self.rows[place] == video)

    def other(self, video: int, chance: int) -> int:
        """Any of them but the video itself."""
        return int(self.rows[self.turns.other(self._place(video), chance)])

    def _place(self, video: int) -> int:
        return int(np.searchsorted(self.rows, video))


@dataclass(frozen=True, kw_only=True, eq=False)
class WeightedTurns:
    """Every video as often as its share of an epoch says, rounded up or down by the epoch's chance.

    The places are marks at even distances on a line, moved by one random offset an epoch; each
    video owns a piece of the line as long as its share. Over many epochs the means are exact.
    Source: systematic sampling, Madow, "On the Theory of Systematic Sampling, II" (1949).
    """

    ends_V: NDArray[np.float64]
    """Where each video's piece ends; the last is 1."""
    size: int
    """Places of an epoch."""
    key: bytes
    """Of the offsets."""

    def video(self, epoch: int, item: int) -> int:
        """Whose piece the mark lies in."""
        mark = (item + self._offset(epoch)) / self.size
        found = int(np.searchsorted(self.ends_V, mark, side="right"))
        return min(found, int(self._shown[-1]))

    def items(self, epoch: int, video: int) -> range:
        """The marks in the video's piece."""
        start = float(self.ends_V[video - 1]) if video else 0.0
        first = math.floor(start * self.size - self._offset(epoch)) - 1
        limit = math.ceil(float(self.ends_V[video]) * self.size - self._offset(epoch)) + 2
        near = range(max(0, first), min(self.size, limit))
        inside = [item for item in near if self.video(epoch, item) == video]
        return range(inside[0], inside[-1] + 1) if inside else range(0)

    def turn(self, epoch: int, item: int) -> int:
        """By the mean number of clips in the epochs before."""
        video = self.video(epoch, item)
        start = float(self.ends_V[video - 1]) if video else 0.0
        mean = (float(self.ends_V[video]) - start) * self.size
        return int(epoch * mean) + item - self.items(epoch, video).start

    @property
    def num_shown(self) -> int:
        """Videos with a piece."""
        return len(self._shown)

    def is_shown(self, video: int) -> bool:
        """Whether the video has a piece."""
        return bool(self.ends_V[video] > (self.ends_V[video - 1] if video else 0.0))

    def other(self, video: int, chance: int) -> int:
        """Any with a piece but the video itself, which has one."""
        place = int(np.searchsorted(self._shown, video))
        return int(self._shown[_other_place(place, self.num_shown, chance)])

    @cached_property
    def _shown(self) -> NDArray[np.int64]:
        """Videos with a piece, ascending. The last gets the mark that is rounded up to 1."""
        return np.flatnonzero(np.diff(self.ends_V, prepend=0.0) > 0)

    def _offset(self, epoch: int) -> float:
        chance, *_ = draw(self.key, epoch)
        return share(chance)


def _other_place(place: int, num_places: int, chance: int) -> int:
    if num_places == 1:
        return place
    return (place + 1 + below(chance, num_places - 1)) % num_places


def weighted_turns(weights_V: NDArray[np.float64], size: int, key: bytes) -> WeightedTurns:
    """Turns in proportion to some weights, none negative and one at least above 0."""
    ends_V = np.cumsum(weights_V) / np.sum(weights_V)
    ends_V[int(np.flatnonzero(weights_V)[-1]) :] = 1.0
    return WeightedTurns(ends_V=ends_V, size=size, key=key)


def equal_turns(
    num_videos: int, clips_per_video: int, rows: NDArray[np.int64] | None
) -> EqualTurns | TurnsOfSome:
    """Turns of all videos alike, or of those ``rows``."""
    if rows is None:
        return EqualTurns(num_videos=num_videos, clips_per_video=clips_per_video)
    inner = EqualTurns(num_videos=len(rows), clips_per_video=clips_per_video)
    return TurnsOfSome(rows=rows, turns=inner)


def balanced_weights(labels: list[str | None]) -> NDArray[np.float64]:
    """Weights that give every label the same share, and every video of a label the same."""
    names, class_V = np.unique([label or "" for label in labels], return_inverse=True)
    weights_V: NDArray[np.float64] = 1.0 / np.bincount(class_V, minlength=len(names))[class_V]
    return weights_V
