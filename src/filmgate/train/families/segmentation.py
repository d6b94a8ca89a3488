"""Semantic segmentation by transformers, SegFormer, on the masks of a pack's images.

B clips, T frames, F = B T images, C = 3, H, W; K classes, the last of them the background.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional

from filmgate.catalog import Catalog
from filmgate.feed import Batch
from filmgate.feed.annotations import Annotator
from filmgate.feed.detection import class_maps
from filmgate.spec import Job
from filmgate.train.families.detection import made
from filmgate.train.inputs import augmented_inputs, to_device
from filmgate.train.models import blames
from filmgate.train.task import Meter, Score, Task


def segformer(job: Job, num_classes: int) -> Task:
    """SegFormer, by E. Xie et al., https://arxiv.org/abs/2105.15203"""
    kind = "SegformerForSemanticSegmentation"
    module = made(job, num_classes + 1, "SegformerConfig", kind, ("decode_head.classifier",))
    return SegmentationTask(job, module, num_classes + 1)


class Inputs(NamedTuple):
    """What the loss takes."""

    images_FCHW: torch.Tensor
    """float, normalised."""
    classes_FHW: torch.Tensor
    """int64."""


class SegmentationTask(Task):
    """Cross entropy of the class of each pixel."""

    def __init__(self, job: Job, module: nn.Module, num_classes: int) -> None:
        super().__init__(job.model.factory, module)
        self.job = job
        self.num_classes = num_classes
        self.annotator: Annotator | None = None

    def begin(self, catalog: Catalog) -> None:
        """Open the annotations. Raises UserError where there are none."""
        self.annotator = Annotator(catalog, self.job)

    def inputs(self, batch: Batch) -> Inputs:
        """Images of the usable clips, and the class of each pixel."""
        assert self.annotator is not None
        if batch.augmentation is None:
            frames_BTCHW, _ = to_device(batch, batch.device)
        else:
            frames_BTCHW, _ = augmented_inputs(batch, batch.augmentation, self.num_classes)
        maps_BTHW = class_maps(batch, self.annotator, background=self.num_classes - 1)
        classes_FHW = maps_BTHW[batch.valid_B].flatten(0, 1).to(batch.device)
        return Inputs(frames_BTCHW.flatten(0, 1), classes_FHW)

    def loss(self, module: nn.Module, inputs: Inputs) -> torch.Tensor:
        """Mean over all pixels."""
        return functional.cross_entropy(self.logits(module, inputs), inputs.classes_FHW)

    def logits(self, module: nn.Module, inputs: Inputs) -> torch.Tensor:
        """(F, K, H, W): what the model gives, enlarged to the image."""
        with blames(self.name, "the model's forward"):
            logits: torch.Tensor = module(pixel_values=inputs.images_FCHW).logits
        size = inputs.classes_FHW.shape[-2:]
        return functional.interpolate(logits, size=size, mode="bilinear", align_corners=False)

    def meter(self) -> SegmentationMeter:
        """Judges by intersection over union."""
        return SegmentationMeter(self)


class Found(NamedTuple):
    """What one rank's held-out images came to."""

    loss_sum: float
    num_clips: int
    pixels_KK: torch.Tensor
    """int64 of each class that was drawn, down, and said, across."""


class SegmentationMeter(Meter):
    """Counts the pixels of each pair of classes."""

    def __init__(self, task: SegmentationTask) -> None:
        self._task = task
        self._loss_sum, self._num_clips = 0.0, 0
        self._pixels_KK = torch.zeros((task.num_classes, task.num_classes), dtype=torch.int64)

    def add(self, module: nn.Module, batch: Batch) -> None:
        """Every image."""
        inputs = self._task.inputs(batch)
        logits = self._task.logits(module, inputs)
        num_clips = int(batch.valid_B.sum())
        self._loss_sum += functional.cross_entropy(logits, inputs.classes_FHW).item() * num_clips
        self._num_clips += num_clips
        self._pixels_KK += confusion(inputs.classes_FHW, logits.argmax(1), self._task.num_classes)

    def found(self) -> Found:
        """The counts."""
        return Found(self._loss_sum, self._num_clips, self._pixels_KK)

    def score(self, found: list[Any]) -> Score | None:
        """Over all ranks."""
        num_clips = sum(one.num_clips for one in found)
        if not num_clips:
            return None
        pixels_KK = torch.stack([one.pixels_KK for one in found]).sum(0)
        return Score(
            loss=sum(one.loss_sum for one in found) / num_clips,
            num_clips=num_clips,
            metrics=overlap(pixels_KK),
        )


def confusion(drawn: torch.Tensor, said: torch.Tensor, num_classes: int) -> torch.Tensor:
    """int64 (K, K) pixels of each class drawn, down, and said, across."""
    pairs = (drawn * num_classes + said).flatten().cpu()
    return torch.bincount(pairs, minlength=num_classes**2).reshape(num_classes, num_classes)


def overlap(pixels_KK: torch.Tensor) -> dict[str, float]:
    """``mIoU``: the mean, over the classes that were drawn or said, of the pixels that are both
    over those that are either; and the share of pixels that are right.

    Source: M. Everingham et al., "The PASCAL Visual Object Classes Challenge", section 4.3.
    """
    both_K = pixels_KK.diagonal().double()
    either_K = pixels_KK.sum(0) + pixels_KK.sum(1) - both_K
    there_K = either_K > 0
    return {
        "mIoU": float((both_K[there_K] / either_K[there_K]).mean()),
        "pixel accuracy": float(both_K.sum() / pixels_KK.sum()),
    }
