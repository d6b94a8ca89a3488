"""Colour, erasing and mixing of a batch, on whatever device it is.

Shapes: B clips, T frames, C = 3 as R G B, H, W; K classes.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from importlib import import_module
from types import ModuleType

import torch
from torch.nn import functional

from filmgate.errors import UserError
from filmgate.feed.augmentation import Augmentation

_Change = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def augment_frames(
    frames_BTCHW: torch.Tensor, augmentation: Augmentation, *, fill: float = 0.5
) -> torch.Tensor:
    """Float frames (B, T, C, H, W) of 0..1; the frames given are uint8 and stay as they are.

    First the colours of each clip change, then a rectangle is filled with ``fill``, then clips are
    mixed with their partners. All frames of a clip change alike. Raises UserError when colours are
    to be changed and kornia is not installed.
    """
    floats_BTCHW = frames_BTCHW.float().div_(255)
    floats_BTCHW = _change_colours(floats_BTCHW, augmentation)
    for row, (top, left, height, width) in enumerate(augmentation.erased_B4.tolist()):
        floats_BTCHW[row, ..., top : top + height, left : left + width] = fill
    return _mix(floats_BTCHW, augmentation)


def mix_labels(
    labels_B: torch.Tensor, augmentation: Augmentation, num_classes: int
) -> torch.Tensor:
    """Soft labels (B, K) that add up to 1 in each row; a masked clip's row means nothing."""
    hard_BK = functional.one_hot(labels_B.clamp(min=0), num_classes).float()
    own_B1 = augmentation.own_share_B.to(labels_B.device)[:, None]
    return own_B1 * hard_BK + (1 - own_B1) * hard_BK[_partners(hard_BK)]


def _partners(values: torch.Tensor) -> torch.Tensor:
    """(B,) the row of each clip's partner; a last clip without one is its own."""
    rows = torch.arange(len(values), device=values.device)
    return (rows ^ 1).clamp(max=len(values) - 1)


def _change_colours(frames_BTCHW: torch.Tensor, augmentation: Augmentation) -> torch.Tensor:
    """The four changes of each clip in its own order; those that change nothing are left out."""
    amounts_B4 = torch.cat([augmentation.factors_B3, augmentation.hue_B[:, None]], dim=1)
    is_changed_B4 = amounts_B4 != torch.tensor([1.0, 1.0, 1.0, 0.0])
    if not bool(is_changed_B4.any()):
        return frames_BTCHW
    changes = _changes()
    num_clips, num_frames, channels, height, width = frames_BTCHW.shape
    # One tall picture, so that contrast has one mean for all frames of a clip.
    tall_BCHW = frames_BTCHW.transpose(1, 2).reshape(num_clips, channels, -1, width)
    for turn in range(len(changes)):
        for kind, change in enumerate(changes):
            is_now_B = augmentation.jitter_order_B4[:, turn] == kind
            rows = torch.nonzero(is_now_B & is_changed_B4[:, kind])[:, 0]
            if len(rows):
                amounts = amounts_B4[rows, kind].to(tall_BCHW.device)
                rows = rows.to(tall_BCHW.device)
                tall_BCHW[rows] = change(tall_BCHW[rows], amounts)
    shape = (num_clips, channels, num_frames, height, width)
    return tall_BCHW.reshape(shape).transpose(1, 2).contiguous()


def _changes() -> tuple[_Change, _Change, _Change, _Change]:
    """Brightness, contrast, saturation and hue, each with torchvision's meaning."""
    enhance = _kornia_enhance()

    def turn_hue(pictures_BCHW: torch.Tensor, share_B: torch.Tensor) -> torch.Tensor:
        """By shares of the whole circle."""
        turned: torch.Tensor = enhance.adjust_hue(pictures_BCHW, share_B * (2 * math.pi))
        return turned

    return (
        enhance.adjust_brightness_accumulative,
        enhance.adjust_contrast_with_mean_subtraction,
        enhance.adjust_saturation_with_gray_subtraction,
        turn_hue,
    )


def _kornia_enhance() -> ModuleType:
    """An extra that most jobs do without, so it is loaded by those that change colours."""
    try:
        with warnings.catch_warnings():
            # kornia 0.8.3 compiles with it on import; it is not ours to mend.
            warnings.filterwarnings("ignore", "`torch.jit.script` is deprecated")
            return import_module("kornia.enhance")
    except ImportError as error:
        raise UserError(
            f"colours cannot be changed: {error}", hint="pip install 'filmgate[augment]'"
        ) from None


def _mix(frames_BTCHW: torch.Tensor, augmentation: Augmentation) -> torch.Tensor:
    if not bool((augmentation.own_share_B < 1).any()):
        return frames_BTCHW
    partner_BTCHW = frames_BTCHW[_partners(frames_BTCHW)]
    is_cut_B = augmentation.cut_B4[:, 2] > 0
    own_B = torch.where(is_cut_B, 1.0, augmentation.own_share_B).to(frames_BTCHW.device)
    mixed_BTCHW = torch.lerp(partner_BTCHW, frames_BTCHW, own_B[:, None, None, None, None])
    for row in torch.nonzero(is_cut_B)[:, 0].tolist():
        top, left, height, width = augmentation.cut_B4[row].tolist()
        box = (row, ..., slice(top, top + height), slice(left, left + width))
        mixed_BTCHW[box] = partner_BTCHW[box]
    return mixed_BTCHW
