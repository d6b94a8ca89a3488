"""Which frames sample n shows: arithmetic on (catalog digest, seed, split, n), and nothing else.

The training stream never ends: sample n is place ``n % epoch_size`` of epoch ``n // epoch_size``,
and every epoch shows each video ``clips_per_video`` times, in a shuffle of its own. The held-out
split is a finite list: ``eval_clips_per_video`` clips of each held-out video, spread evenly.
Workers and ranks only divide these lists, so their number never changes a sample.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from filmgate.catalog.augmentation import (
    SampleAugmentation,
    changes_pixels,
    draw_augmentation,
    draw_resized_crop,
)
from filmgate.catalog.clip_frames import SHORT_HINT, ClipFrames
from filmgate.catalog.held_out import RowDivision
from filmgate.catalog.order_facts import OrderFacts, order_keys
from filmgate.catalog.permutation import Permutation, below, draw, share
from filmgate.catalog.rectangle import ResizedCrop, Size
from filmgate.catalog.sample import Sample
from filmgate.catalog.turns import Turns, equal_turns, weighted_turns
from filmgate.errors import UserError

LAST_SHARE = 1 - 2.0**-20
"""Where the last window lies on a side with fewer than a million pixels to spare."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Order:
    """All samples of one split, each found by its number alone."""

    facts: OrderFacts
    clip_frames: ClipFrames
    weights_V: NDArray[np.float64] | None = None
    """How often each video is shown, in proportion, 0 for what is held out; None for all the same.
    """
    rows: RowDivision | None = None
    """Which rows are trained on and which are evaluated; None: all are both, divided by time."""

    @cached_property
    def digest(self) -> str:
        """The digest of the facts."""
        return self.facts.digest

    @property
    def num_videos(self) -> int:
        """Videos in the catalog."""
        return len(self.clip_frames.num_frames_V)

    @property
    def epoch_size(self) -> int:
        """Training samples in one epoch."""
        return self.num_trained * self.facts.clips_per_video

    @property
    def num_trained(self) -> int:
        """Videos that are trained on, as far as their weights allow."""
        return self.num_videos if self.rows is None else len(self.rows.trained_rows)

    @property
    def num_held_out(self) -> int:
        """Videos that are evaluated, in part or as a whole."""
        return len(self._held_out_rows)

    @property
    def num_samples(self) -> int | None:
        """Length of the held-out list; None for the training stream, which never ends."""
        if self.facts.split == "train":
            return None
        return len(self._held_out_rows) * self.views_per_video

    @property
    def views_per_video(self) -> int:
        """Held-out samples of one video: they follow each other, the windows of a clip first."""
        return self.facts.eval_clips_per_video * self.facts.eval_crops

    @property
    def num_not_held_out(self) -> int:
        """Videos that have no held-out part because they are too short, although one was asked."""
        if self.rows is not None or not self.facts.holdout:
            return 0
        return self.num_videos - len(self._held_out_rows)

    @property
    def num_never_shown(self) -> int:
        """Videos that have no share of a training epoch, those apart that are held out whole."""
        return self.num_trained - self._turns.num_shown

    def is_shown(self, video: int) -> bool:
        """Whether the video has a share of a training epoch."""
        return self._turns.is_shown(video)

    @property
    def num_short(self) -> int:
        """Videos shorter than one clip; with ``fps`` an estimate from the mean frame rate."""
        return int(np.count_nonzero(self._is_short))

    def video_of(self, number: int, attempt: int = 0) -> int:
        """The video row of a sample or of its replacement, without a look at its frames.

        Raises IndexError past the end of the held-out list.
        """
        if number < 0:
            raise IndexError(f"sample {number}; samples count from 0")
        if self.facts.split == "holdout":
            return int(self._held_out_rows[number // self.views_per_video])
        epoch, place = divmod(number, self.epoch_size)
        own = self._turns.video(epoch, self._shuffle(epoch)(place))
        if attempt == 0:
            return own
        chance, *_ = draw(self._key("substitute"), number, attempt)
        return self._turns.other(own, chance)

    def places_of(self, video: int, epoch: int) -> list[int]:
        """The numbers of all training samples of a video in one epoch, ascending."""
        assert self.facts.split == "train"
        shuffle, start = self._shuffle(epoch), epoch * self.epoch_size
        items = self._turns.items(epoch, video)
        return sorted(start + shuffle.place_of(item) for item in items)

    def later_of(self, number: int, num_epochs: int) -> Iterator[int]:
        """The samples after ``number`` that show the same video, ascending.

        Of the training stream those of ``num_epochs`` epochs, its own among them; of the held-out
        list all that are left.
        """
        video = self.video_of(number)
        if self.facts.split == "holdout":
            num_views = self.views_per_video
            yield from range(number + 1, (number // num_views + 1) * num_views)
            return
        first = number // self.epoch_size
        for epoch in range(first, first + num_epochs):
            yield from (place for place in self.places_of(video, epoch) if place > number)

    def sample(self, number: int) -> Sample:
        """Sample ``number``, counted from 0.

        Raises IndexError past the end of the held-out list; UserError when the clip is longer
        than its range and ``short`` is ``raise``.
        """
        return self._clip(number, 0)

    def substitute(self, number: int, attempt: int) -> Sample:
        """What stands in for training sample ``number`` when it and the attempts before failed.

        A random clip of another video (of the same one when there is no other). ``attempt`` counts
        from 1. Held-out clips have no substitutes: no clip may count twice in an evaluation.
        """
        assert attempt >= 1 and self.facts.split == "train"
        return self._clip(number, attempt)

    def augmentation(self, number: int, attempt: int, clip: Size) -> SampleAugmentation | None:
        """What is done to a sample, or its replacement, once it is decoded to ``clip`` pixels.

        None where the job asks for nothing of the kind, and for held-out clips.
        """
        if not changes_pixels(self.facts.augment):
            return None
        return draw_augmentation(
            self.facts.augment, self._key("augmentation"), number, attempt, clip
        )

    def refuse_short(self) -> None:
        """Raise UserError when ``short`` is ``raise`` and some video is shorter than one clip.

        With ``fps`` only the frame tables know; there the sample itself raises.
        """
        if self.facts.short != "raise" or self.facts.stride is None or not self.num_short:
            return
        row = int(np.argmax(self._is_short))
        num_frames = int(self.clip_frames.num_frames_V[row])
        raise UserError(
            f"{self.num_short} of {self.num_videos} videos are shorter than one clip, which spans "
            f"{(self.facts.frames - 1) * self.facts.stride + 1} frames; the first of them is row "
            f"{row} with {num_frames}",
            hint=SHORT_HINT,
        )

    def _clip(self, number: int, attempt: int) -> Sample:
        is_train = self.facts.split == "train"
        video = self.video_of(number, attempt)
        for_start, for_top, for_left, for_flip = draw(self._key("clip"), number, attempt)
        indices_T, is_padded = self._frames(video, number, attempt, for_start)
        is_random = is_train and self.facts.crop != "centre"
        top, left = (share(for_top), share(for_left)) if is_random else self._even_crop(number)
        return Sample(
            number=number,
            attempt=attempt,
            epoch=number // self.epoch_size if is_train else 0,
            video=video,
            frame_indices_T=indices_T,
            crop_top_share=top,
            crop_left_share=left,
            flip=is_train and self.facts.flip and below(for_flip, 2) == 1,
            is_padded=is_padded,
            resized_crop=self._resized_crop(number, attempt, top, left),
        )

    def _resized_crop(
        self, number: int, attempt: int, top_share: float, left_share: float
    ) -> ResizedCrop | None:
        if self.facts.split == "holdout" or self.facts.crop != "random-resized":
            return None
        augment, key = self.facts.augment, self._key("resized crop")
        return draw_resized_crop(augment, key, number, attempt, top_share, left_share)

    def _frames(
        self, video: int, number: int, attempt: int, chance: int
    ) -> tuple[NDArray[np.int64], bool]:
        """(T,) frames of the clip, and whether it had to be padded."""
        frames, split = self.clip_frames, self.facts.split
        by_time = self.rows is None
        first, limit = frames.bounds(video, split) if by_time else frames.everything(video)
        if self.facts.sampling == "uniform":
            where_T = self._places_in_parts(number, attempt)
            return frames.uniform(video, first, limit, where_T)
        num_starts = max(1, frames.num_starts(video, first, limit))
        step, lowest, num_starts = self._starts(first, num_starts)
        if split == "holdout":
            offset = self._even(number, num_starts)
        elif self.facts.sampling == "dense" and attempt == 0:
            span = int(frames.span(slice(video, video + 1))[0])
            offset = self._turn(number) * -(-span // step) % num_starts
        else:
            offset = below(chance, num_starts)
        return frames.indices(video, lowest + step * offset, limit)

    def _starts(self, first: int, num_starts: int) -> tuple[int, int, int]:
        """(frames from one start to the next, first start, how many) on the wanted multiples.

        Every frame from ``first`` on where the range holds no such multiple.
        """
        step = self.facts.start_multiple
        lowest, highest = -(-first // step), (first + num_starts - 1) // step
        if highest < lowest:
            return 1, first, num_starts
        return step, step * lowest, highest - lowest + 1

    def _places_in_parts(self, number: int, attempt: int) -> NDArray[np.float64]:
        """(T,) where in each of T equal parts of the range the clip takes its frame, below 1."""
        num_frames = self.facts.frames
        if self.facts.split == "holdout":
            clip = number // self.facts.eval_crops % self.facts.eval_clips_per_video
            return np.full(num_frames, (clip + 0.5) / self.facts.eval_clips_per_video)
        chances = [draw(self._key("parts"), number, attempt, k)[0] for k in range(num_frames)]
        return np.array([share(chance) for chance in chances])

    def _even(self, number: int, num_starts: int) -> int:
        """Held-out clip k of K begins in the middle of the k-th of K equal parts of the starts."""
        num_clips = self.facts.eval_clips_per_video
        clip = number // self.facts.eval_crops % num_clips
        return (2 * clip + 1) * num_starts // (2 * num_clips)

    def _even_crop(self, number: int) -> tuple[float, float]:
        """The middle; of several windows the first, the middle and the last of the free side."""
        if self.facts.split == "train" or self.facts.eval_crops == 1:
            return 0.5, 0.5
        where = (0.0, 0.5, LAST_SHARE)[number % self.facts.eval_crops]
        return where, where

    def _turn(self, number: int) -> int:
        epoch, place = divmod(number, self.epoch_size)
        return self._turns.turn(epoch, self._shuffle(epoch)(place))

    @cached_property
    def _turns(self) -> Turns:
        if self.weights_V is None:
            rows = None if self.rows is None else self.rows.trained_rows
            return equal_turns(self.num_videos, self.facts.clips_per_video, rows)
        return weighted_turns(self.weights_V, self.epoch_size, self._key("turns"))

    @cached_property
    def _held_out_rows(self) -> NDArray[np.int64]:
        if self.rows is not None:
            return self.rows.held_out_rows
        return np.flatnonzero(self.clip_frames.is_divided(slice(None)))

    @property
    def _is_short(self) -> NDArray[np.bool_]:
        everything = slice(None)
        return self.clip_frames.num_frames_V < self.clip_frames.span(everything)

    @cached_property
    def _shuffles(self) -> dict[int, Permutation]:
        return {}

    def _shuffle(self, epoch: int) -> Permutation:
        """The permutation of an epoch; the last few are kept."""
        if epoch not in self._shuffles:
            if len(self._shuffles) >= 64:
                self._shuffles.clear()
            key = self._key("epoch") + epoch.to_bytes(8, "little")
            self._shuffles[epoch] = Permutation(size=self.epoch_size, key=key)
        return self._shuffles[epoch]

    @cached_property
    def _keys(self) -> dict[str, bytes]:
        return order_keys(self.facts)

    def _key(self, purpose: str) -> bytes:
        return self._keys[purpose]
