"""From a batch to what a model takes.

Shapes: B clips, T frames, C channels, H height, W width, K classes.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from filmgate.feed import Batch
from filmgate.feed.augment import augment_frames, mix_labels
from filmgate.feed.augmentation import Augmentation

PIXEL_MEAN = 0.45
PIXEL_DEVIATION = 0.225
"""Of all channels alike; source: the normalisation of Kinetics models in PyTorchVideo,
https://github.com/facebookresearch/pytorchvideo"""


def moved(batch: Batch, device: torch.device) -> Batch:
    """The batch with frames and labels on the device; the rest stays where it is."""
    return replace(
        batch, frames_BTCHW=batch.frames_BTCHW.to(device), labels_B=batch.labels_B.to(device)
    )


def augmented_inputs(
    batch: Batch, augmentation: Augmentation, num_classes: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Normalised float frames (B, T, C, H, W) of the valid clips, augmented, and their targets.

    The targets are labels (B,), or soft labels (B, K) where the job mixes clips. Raises UserError
    as ``augment_frames``.
    """
    floats_BTCHW = augment_frames(batch.frames_BTCHW, augmentation, fill=PIXEL_MEAN)
    floats_BTCHW.sub_(PIXEL_MEAN).div_(PIXEL_DEVIATION)
    targets = batch.labels_B
    if augmentation.has_soft_labels:
        targets = mix_labels(targets, augmentation, num_classes)
    if not bool(batch.valid_B.all()):
        floats_BTCHW, targets = floats_BTCHW[batch.valid_B], targets[batch.valid_B]
    return floats_BTCHW, targets


def to_device(
    batch: Batch, device: torch.device, wanted_B: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Normalised float frames (B, T, C, H, W) and labels (B,) of the wanted clips, not augmented.

    ``wanted_B`` are bools; without it they are the clips that are valid.
    """
    frames_BTCHW, labels_B = batch.frames_BTCHW, batch.labels_B
    wanted_B = batch.valid_B if wanted_B is None else wanted_B
    if not bool(wanted_B.all()):
        frames_BTCHW, labels_B = frames_BTCHW[wanted_B], labels_B[wanted_B]
    floats_BTCHW = frames_BTCHW.to(device).float()
    floats_BTCHW.mul_(1 / (255 * PIXEL_DEVIATION)).sub_(PIXEL_MEAN / PIXEL_DEVIATION)
    return floats_BTCHW, labels_B.to(device)
