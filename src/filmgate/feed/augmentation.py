"""What is to be done to the clips of a batch once they are decoded, as tensors.

B clips of this rank. Rectangles are (top, left, height, width) in pixels, all 0 for none.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from filmgate.catalog.augmentation import SampleAugmentation
from filmgate.catalog.rectangle import Rectangle

NO_CHANGE = SampleAugmentation()


@dataclass(frozen=True, kw_only=True, eq=False)
class Augmentation:
    """Drawn from the samples' own chance; ``filmgate.feed.augment`` does it. A masked clip and its
    partner stay as they are."""

    factors_B3: torch.Tensor
    """float32, what brightness, contrast and saturation are multiplied by."""
    hue_B: torch.Tensor
    """float32, -0.5 to 0.5 of the whole circle."""
    jitter_order_B4: torch.Tensor
    """int64, which is changed first to last: brightness 0, contrast 1, saturation 2, hue 3."""
    erased_B4: torch.Tensor
    """int64 rectangles that are filled."""
    own_share_B: torch.Tensor
    """float32, 0 to 1: share of the clip's own label; the rest is its partner's, which is the clip
    at row ``b ^ 1``. Where ``cut_B4`` is none it is the share of its own pixels too."""
    cut_B4: torch.Tensor
    """int64 rectangles that are taken from the partner."""
    has_soft_labels: bool
    """Whether the job mixes clips, and labels with them, at all."""

    def part(self, first: int, last: int) -> Augmentation:
        """That of clips ``first`` to ``last``, without it."""
        rows = slice(first, last)
        return Augmentation(
            factors_B3=self.factors_B3[rows],
            hue_B=self.hue_B[rows],
            jitter_order_B4=self.jitter_order_B4[rows],
            erased_B4=self.erased_B4[rows],
            own_share_B=self.own_share_B[rows],
            cut_B4=self.cut_B4[rows],
            has_soft_labels=self.has_soft_labels,
        )


def stack(clips: Sequence[SampleAugmentation | None], *, has_soft_labels: bool) -> Augmentation:
    """One batch of some clips, None for masked ones."""
    apart = [_unless_masked(clips, row) for row in range(len(clips))]
    return Augmentation(
        factors_B3=torch.tensor([clip.factors for clip in apart], dtype=torch.float32),
        hue_B=torch.tensor([clip.hue for clip in apart], dtype=torch.float32),
        jitter_order_B4=torch.tensor([clip.jitter_order for clip in apart]),
        erased_B4=torch.tensor([_numbers(clip.erased) for clip in apart]),
        own_share_B=torch.tensor([clip.own_share for clip in apart], dtype=torch.float32),
        cut_B4=torch.tensor([_numbers(clip.cut) for clip in apart]),
        has_soft_labels=has_soft_labels,
    )


def _unless_masked(clips: Sequence[SampleAugmentation | None], row: int) -> SampleAugmentation:
    clip, partner = clips[row], clips[row ^ 1] if row ^ 1 < len(clips) else None
    if clip is None:
        return NO_CHANGE
    return clip if partner is not None else clip.alone()


def packed(clip: SampleAugmentation) -> bytes:
    """All of it as bytes, for a digest."""
    numbers = (*clip.factors, clip.hue, clip.own_share)
    places = (*clip.jitter_order, *_numbers(clip.erased), *_numbers(clip.cut))
    return struct.pack(f"<{len(numbers)}d{len(places)}q", *numbers, *places)


def _numbers(rectangle: Rectangle | None) -> tuple[int, int, int, int]:
    return rectangle or (0, 0, 0, 0)
