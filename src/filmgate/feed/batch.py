"""One batch, as the trainer gets it.

B clips of this rank, T frames, C = 3 as R G B, H, W.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from blake3 import blake3
from numpy.typing import NDArray

from filmgate.catalog.augmentation import SampleAugmentation, changes_pixels, is_mixed
from filmgate.catalog.order import Order
from filmgate.catalog.sample import Sample
from filmgate.feed.augmentation import Augmentation, packed, stack
from filmgate.feed.line import Place
from filmgate.feed.messages import PlaneColour
from filmgate.feed.source import ClipSource
from filmgate.feed.targets import NO_LABEL, Targets
from filmgate.feed.transport import rgb_of_planes

NO_VIDEO = -1
"""Video row and frame index of a masked clip."""
DigestPart = tuple[bytes, bytes]
"""A clip's augmentation, empty where the job asks for none, and its frames and window."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch:
    """Clips in the order of their samples. The memory is the holder's, it is never used again.

    A clip with ``valid_B`` False is masked: it could not be made and the job's policy leaves its
    place empty, or it only fills up the last batch of a finite list. Its frames are black, its
    label ``-100``, its video and frames ``-1``, its times NaN, its id empty.
    """

    frames_BTCHW: torch.Tensor
    """uint8 RGB."""
    labels_B: torch.Tensor
    """int64 class numbers."""
    valid_B: torch.Tensor
    """bool; False where the clip is masked."""
    video_B: torch.Tensor
    """int64 rows of the catalog."""
    video_ids: list[str]
    """(B,)"""
    frame_indices_BT: torch.Tensor
    """int64 frames of the video, in display order."""
    times_BT: torch.Tensor
    """float64 seconds from the video's frame 0 to the start of each frame."""
    samples_digest: str
    """``blake3:`` over the video's content digest, frame indices, crop, flip and augmentation of
    each clip."""
    sample_start: int
    """Global number of the batch's first sample over all ranks."""
    augmentation: Augmentation | None = None
    """What is left to be done to the frames, by ``filmgate.feed.augment``; None for nothing."""
    colours: list[PlaneColour | None] | None = None
    """(B,) with ``transport = "yuv420p"``: the matrix and range that each clip had until it became
    RGB, None for masked clips. None where clips were RGB all along."""

    samples: tuple[Sample | None, ...] = ()
    """(B,) which frames and which window each clip shows, None for masked clips: what
    ``filmgate.feed.annotations`` goes by."""
    sample_numbers: tuple[int, ...] = ()
    """(B,) global number of each clip's sample, the same on any number of ranks."""
    digest_parts: tuple[DigestPart, ...] = ()
    """(B,) what ``samples_digest`` is over, so that ranks can digest their batch together."""

    @property
    def device(self) -> torch.device:
        """Where ``frames_BTCHW`` and ``labels_B`` are; all else is in host memory."""
        return self.frames_BTCHW.device

    def part(self, first: int, last: int) -> Batch:
        """Clips ``first`` to ``last``, without it, as a batch: no memory is copied.

        Where clips are mixed with their partners both bounds are even.
        """
        rows, changes, colours = slice(first, last), self.augmentation, self.colours
        return replace(
            self,
            frames_BTCHW=self.frames_BTCHW[rows],
            labels_B=self.labels_B[rows],
            valid_B=self.valid_B[rows],
            video_B=self.video_B[rows],
            video_ids=self.video_ids[rows],
            frame_indices_BT=self.frame_indices_BT[rows],
            times_BT=self.times_BT[rows],
            samples_digest=samples_digest(self.digest_parts[rows]),
            augmentation=None if changes is None else changes.part(first, last),
            colours=None if colours is None else colours[rows],
            samples=self.samples[rows],
            sample_numbers=self.sample_numbers[rows],
            digest_parts=self.digest_parts[rows],
        )


def assemble(
    places: Sequence[Place],
    source: ClipSource,
    targets: Targets,
    order: Order,
    sample_start: int,
    frames_out: torch.Tensor | None = None,
) -> Batch:
    """Copy the clips of some settled places out of their slots into a new batch.

    The frames go to ``frames_out`` where it is given; they are as the slots have them, RGB or (B,
    T, P, W) in planes.
    """
    num_clips, num_frames = len(places), source.clip_shape[0]
    if frames_out is None:
        frames_out = torch.from_numpy(np.empty((num_clips, *source.clip_shape), np.uint8))
    frames_BTCHW: NDArray[np.uint8] = frames_out.numpy()
    is_planes = len(source.clip_shape) == 3
    changes = _changes_of(places, order, _picture_size(source.clip_shape))
    digest_parts = _digest_parts(places, changes)
    labels_B = np.full(num_clips, NO_LABEL, np.int64)
    valid_B = np.zeros(num_clips, np.bool_)
    video_B = np.full(num_clips, NO_VIDEO, np.int64)
    indices_BT = np.full((num_clips, num_frames), NO_VIDEO, np.int64)
    times_BT = np.full((num_clips, num_frames), np.nan)
    video_ids = [""] * num_clips
    for row, place in enumerate(places):
        if place.done is None:
            frames_BTCHW[row] = 0
            continue
        source.write_clip(place, frames_BTCHW[row])
        valid_B[row], video_ids[row] = True, place.done.video_id
        labels_B[row] = targets.class_of(place.done)
        video_B[row] = place.done.sample.video
        indices_BT[row], times_BT[row] = place.done.sample.frame_indices_T, place.done.times_T
    return Batch(
        frames_BTCHW=frames_out,
        labels_B=torch.from_numpy(labels_B),
        valid_B=torch.from_numpy(valid_B),
        video_B=torch.from_numpy(video_B),
        video_ids=video_ids,
        frame_indices_BT=torch.from_numpy(indices_BT),
        times_BT=torch.from_numpy(times_BT),
        samples_digest=samples_digest(digest_parts),
        sample_start=sample_start,
        samples=tuple(place.done.sample if place.done else None for place in places),
        sample_numbers=tuple(place.number for place in places),
        digest_parts=digest_parts,
        augmentation=(
            stack(changes, has_soft_labels=is_mixed(order.facts.augment)) if changes else None
        ),
        colours=[_colour_of(place) for place in places] if is_planes else None,
    )


def in_rgb(batch: Batch) -> Batch:
    """The batch with frames in RGB, where ``assemble`` left them in planes; on their device."""
    if batch.colours is None:
        return batch
    return replace(batch, frames_BTCHW=rgb_of_planes(batch.frames_BTCHW, batch.colours))


def _colour_of(place: Place) -> PlaneColour | None:
    return None if place.done is None else place.done.colour


def _picture_size(clip_shape: tuple[int, ...]) -> tuple[int, int]:
    """H, W of a clip in RGB or in planes."""
    height, width = clip_shape[-2:]
    return (height, width) if len(clip_shape) == 4 else (height * 2 // 3, width)


def _changes_of(
    places: Sequence[Place], order: Order, clip: tuple[int, int]
) -> list[SampleAugmentation | None]:
    """What is to be done to each clip, None for a masked one; empty where the job asks nothing."""
    if not changes_pixels(order.facts.augment):
        return []
    return [
        order.augmentation(place.number, place.done.task.attempt, clip) if place.done else None
        for place in places
    ]


def samples_digest(parts: Sequence[DigestPart]) -> str:
    """The digest of some clips in the order of their samples, those of one rank or of all."""
    hasher = blake3()
    for change, _ in parts:
        hasher.update(change)
    for _, shown in parts:
        hasher.update(shown)
    return f"blake3:{hasher.hexdigest()}"


def _digest_parts(
    places: Sequence[Place], changes: Sequence[SampleAugmentation | None]
) -> tuple[DigestPart, ...]:
    packed_changes = [packed(change) if change is not None else b"masked" for change in changes]
    shown = [_shown(place) for place in places]
    return tuple(zip(packed_changes or [b""] * len(shown), shown, strict=True))


def _shown(place: Place) -> bytes:
    if place.done is None:
        return b"masked"
    sample = place.done.sample
    window = (sample.crop_top_share, sample.crop_left_share, sample.flip)
    parts = [
        place.done.content_digest.encode(),
        sample.frame_indices_T.astype("<i8").tobytes(),
        struct.pack("<dd?", *window),
    ]
    if sample.resized_crop is not None:
        parts += [struct.pack("<dd", *shape) for shape in sample.resized_crop.shapes]
    return b"".join(parts)
