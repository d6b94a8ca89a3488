"""Clips into classes: the task of a plain module that gives logits.

B clips, T frames, C = 3, H, W; K classes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional

from filmgate.feed import Batch
from filmgate.train.inputs import augmented_inputs, to_device
from filmgate.train.models import blames, check_logits
from filmgate.train.task import Meter, Score, Task


class Inputs(NamedTuple):
    """What a classifier's loss takes."""

    frames_BTCHW: torch.Tensor
    """float, normalised."""
    targets: torch.Tensor
    """Labels (B,), or soft labels (B, K) where the job mixes clips."""


class Found(NamedTuple):
    """What one rank's held-out clips came to."""

    loss_sum: float
    """Over its clips."""
    num_clips_K: torch.Tensor
    """int64."""
    num_right_K: torch.Tensor
    """int64."""


class Classification(Task):
    """Cross entropy of the logits (B, K) that the module gives for normalised float clips."""

    def __init__(self, name: str, module: nn.Module, num_classes: int) -> None:
        super().__init__(name, module)
        self.num_classes = num_classes

    def inputs(self, batch: Batch) -> Inputs:
        """Normalised clips, augmented where the job asks for it, and their targets."""
        if batch.augmentation is None:
            return Inputs(*to_device(batch, batch.device))
        return Inputs(*augmented_inputs(batch, batch.augmentation, self.num_classes))

    def loss(self, module: nn.Module, inputs: Inputs) -> torch.Tensor:
        """Raises UserError when the model gives anything but logits, or fails."""
        logits_BK = self.logits(module, inputs.frames_BTCHW)
        return functional.cross_entropy(logits_BK, inputs.targets)

    def logits(self, module: nn.Module, frames_BTCHW: torch.Tensor) -> torch.Tensor:
        """Logits (B, K). Raises UserError when the model gives anything else, or fails."""
        with blames(self.name, "the model's forward"):
            logits = module(frames_BTCHW)
        return check_logits(logits, self.name, (len(frames_BTCHW), self.num_classes))

    def meter(self) -> ClassMeter:
        """Counts what is classified right, by class."""
        return ClassMeter(self)


class ClassMeter(Meter):
    """Counts clips and right ones of each class."""

    def __init__(self, task: Classification) -> None:
        self._task = task
        self._loss_sum = 0.0
        self._num_clips_K = torch.zeros(task.num_classes, dtype=torch.int64)
        self._num_right_K = self._num_clips_K.clone()

    def add(self, module: nn.Module, batch: Batch) -> None:
        """Not augmented."""
        frames_BTCHW, labels_B = to_device(batch, batch.device)
        logits_BK = self._task.logits(module, frames_BTCHW)
        self._loss_sum += functional.cross_entropy(logits_BK, labels_B, reduction="sum").item()
        is_right_B = (logits_BK.argmax(dim=1) == labels_B).cpu()
        labels_B, num_classes = labels_B.cpu(), self._task.num_classes
        self._num_clips_K += torch.bincount(labels_B, minlength=num_classes)
        self._num_right_K += torch.bincount(labels_B[is_right_B], minlength=num_classes)

    def found(self) -> Found:
        """The counts."""
        return Found(self._loss_sum, self._num_clips_K, self._num_right_K)

    def score(self, found: list[Any]) -> Score | None:
        """Over all ranks."""
        num_clips_K = sum((one.num_clips_K for one in found), torch.zeros_like(self._num_clips_K))
        num_right_K = sum((one.num_right_K for one in found), torch.zeros_like(self._num_right_K))
        num_clips = int(num_clips_K.sum())
        if not num_clips:
            return None
        return Score(
            loss=sum(one.loss_sum for one in found) / num_clips,
            num_clips=num_clips,
            num_clips_K=num_clips_K.tolist(),
            num_right_K=num_right_K.tolist(),
        )
