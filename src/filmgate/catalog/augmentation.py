"""What is done to the pixels of a sample once they are decoded, drawn from its own chance.

Colour and erasing are drawn for each sample; mixing for each pair of samples 2k and 2k + 1, which
lie in one rank's batch, so that the number of ranks changes nothing. A substitute takes the place
of its sample in the pair.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np

from filmgate.catalog.permutation import below, draw, share
from filmgate.catalog.rectangle import Rectangle, ResizedCrop, Shape, Size, cut_box, placed
from filmgate.spec import Augment

NUM_TRIES = 10
"""Shapes that are tried before the rule for none applies; torchvision's number."""
_JITTER_ORDERS = tuple(itertools.permutations(range(4)))


@dataclass(frozen=True, kw_only=True)
class SampleAugmentation:
    """One clip's; as it stands, none."""

    factors: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """What brightness, contrast and saturation are multiplied by."""
    hue: float = 0.0
    """How far the hue is turned, -0.5 to 0.5 of the whole circle."""
    jitter_order: tuple[int, ...] = (0, 1, 2, 3)
    """In which order brightness (0), contrast (1), saturation (2) and hue (3) are changed."""
    erased: Rectangle | None = None
    """Filled with grey in all frames."""
    own_share: float = 1.0
    """Share of the clip's own label; the rest is its partner's. Without ``cut`` of its pixels too.
    """
    cut: Rectangle | None = None
    """Taken from the partner in all frames."""

    def alone(self) -> SampleAugmentation:
        """The same without its partner."""
        return replace(self, own_share=1.0, cut=None)


def is_mixed(augment: Augment) -> bool:
    """Whether samples are mixed in pairs."""
    return augment.mix_probability > 0 and (augment.mixup_alpha > 0 or augment.cutmix_alpha > 0)


def changes_pixels(augment: Augment) -> bool:
    """Whether anything is left to be done once clips are decoded."""
    jitter = (augment.brightness, augment.contrast, augment.saturation, augment.hue)
    return any(jitter) or augment.erasing_probability > 0 or is_mixed(augment)


def draw_resized_crop(
    augment: Augment, key: bytes, number: int, attempt: int, top_share: float, left_share: float
) -> ResizedCrop:
    """The random resized crop of a sample."""
    shapes = _shapes(key, number, attempt, augment.crop_scale, augment.crop_ratio)
    return ResizedCrop(
        shapes=shapes, ratio=augment.crop_ratio, top_share=top_share, left_share=left_share
    )


def draw_augmentation(
    augment: Augment, key: bytes, number: int, attempt: int, clip: Size
) -> SampleAugmentation:
    """What is done to a sample whose frames are ``clip`` (height, width)."""
    chances = draw(key + b"colour", number, attempt)
    strengths = (augment.brightness, augment.contrast, augment.saturation)
    first, second, third = (
        _uniform(chance, max(0.0, 1 - strength), 1 + strength)
        for chance, strength in zip(chances, strengths, strict=False)
    )
    (for_order, *_) = draw(key + b"colour order", number, attempt)
    own_share, cut = (
        _draw_mix(augment, key, number // 2, clip) if is_mixed(augment) else (1.0, None)
    )
    return SampleAugmentation(
        factors=(first, second, third),
        hue=_uniform(chances[3], -augment.hue, augment.hue),
        jitter_order=_JITTER_ORDERS[below(for_order, len(_JITTER_ORDERS))],
        erased=_draw_erased(augment, key, number, attempt, clip),
        own_share=own_share,
        cut=cut,
    )


def _draw_erased(
    augment: Augment, key: bytes, number: int, attempt: int, clip: Size
) -> Rectangle | None:
    """None also where none of the tries fits. Source: torchvision's ``RandomErasing``."""
    chance, for_top, for_left, _ = draw(key + b"erasing", number, attempt)
    if share(chance) >= augment.erasing_probability:
        return None
    key += b"erasing shapes"
    for shape in _shapes(key, number, attempt, augment.erasing_scale, augment.erasing_ratio):
        height, width = shape._replace(aspect=1 / shape.aspect).size_in(clip)
        if 0 < height < clip[0] and 0 < width < clip[1]:
            return placed(clip, (height, width), share(for_top), share(for_left))
    return None


def _draw_mix(
    augment: Augment, key: bytes, pair: int, clip: Size
) -> tuple[float, Rectangle | None]:
    """Share of each clip's own label, and the box that is exchanged."""
    key += b"mix"
    chance, for_kind, for_row, for_column = draw(key, pair)
    if share(chance) >= augment.mix_probability:
        return 1.0, None
    has_both = augment.mixup_alpha > 0 and augment.cutmix_alpha > 0
    is_cut = share(for_kind) < augment.cutmix_probability if has_both else augment.cutmix_alpha > 0
    own_share = _beta(augment.cutmix_alpha if is_cut else augment.mixup_alpha, key, pair)
    if not is_cut:
        return own_share, None
    box = cut_box(clip, own_share, share(for_row), share(for_column))
    box_area = box.height * box.width
    return 1 - box_area / (clip[0] * clip[1]), box if box_area else None


def _beta(alpha: float, key: bytes, pair: int) -> float:
    """From Beta(alpha, alpha). numpy promises that ``RandomState`` never gives other numbers."""
    seeds = [part for chance in draw(key, pair, 0) for part in (chance >> 32, chance & 0xFFFFFFFF)]
    return float(np.random.RandomState(seeds).beta(alpha, alpha))


def _shapes(
    key: bytes, number: int, attempt: int, scale: tuple[float, float], ratio: tuple[float, float]
) -> tuple[Shape, ...]:
    """Areas evenly between the scales, aspects evenly between the logarithms of the ratios."""
    shapes = []
    for k in range(NUM_TRIES):
        for_area, for_aspect, *_ = draw(key, number, attempt, k)
        log_aspect = _uniform(for_aspect, math.log(ratio[0]), math.log(ratio[1]))
        shapes.append(Shape(_uniform(for_area, *scale), math.exp(log_aspect)))
    return tuple(shapes)


def _uniform(chance: int, low: float, high: float) -> float:
    return low + share(chance) * (high - low)
