"""Detectors of transformers, DETR and RT-DETR, on the annotated images of a pack.

B clips, T frames, F = B T images, C = 3, H, W; N objects, Q queries of the model, K classes.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import torch
from torch import nn

from filmgate.catalog import Catalog
from filmgate.errors import UserError
from filmgate.feed import Batch
from filmgate.feed.annotations import Annotator
from filmgate.feed.detection import Target, detection_targets
from filmgate.spec import Job
from filmgate.train.families.classifiers import from_folder
from filmgate.train.families.library import configured, library, local_folder
from filmgate.train.families.precision import Said, average_precision
from filmgate.train.inputs import augmented_inputs, to_device
from filmgate.train.models import blames
from filmgate.train.task import Meter, Score, Task

MAX_OBJECTS = 100
"""Detections of an image that are judged, the surest ones; COCO's own number."""


def detr(job: Job, num_classes: int) -> Task:
    """DETR, by N. Carion et al., https://arxiv.org/abs/2005.12872"""
    module = made(job, num_classes, "DetrConfig", "DetrForObjectDetection", ("class_labels_",))
    return DetectionTask(job, module, num_classes, "softmax")


def rt_detr(job: Job, num_classes: int) -> Task:
    """RT-DETR, by Y. Zhao et al., https://arxiv.org/abs/2304.08069"""
    head = ("model.decoder.class_embed", "model.enc_score_head", "model.denoising_class_embed")
    module = made(job, num_classes, "RTDetrConfig", "RTDetrForObjectDetection", head)
    return DetectionTask(job, module, num_classes, "sigmoid")


def made(job: Job, num_classes: int, config: str, model: str, head: tuple[str, ...]) -> nn.Module:
    """The model from the job's folder of weights, or from its config. Raises UserError."""
    if job.data.target != "annotations":
        raise UserError(
            f'{model} learns what is drawn in images, but target in [data] is "{job.data.target}"',
            hint='set `target = "annotations"` in [data], and run it on a pack with annotations',
        )
    library("scipy")
    transformers = library("transformers")
    kind: Any = getattr(transformers, model)
    if job.model.weights is not None:
        folder = local_folder(job.model.weights, "config.json")
        module: nn.Module = from_folder(kind, folder, head, num_classes)
        return module
    keys = {**job.model.config, "num_labels": num_classes}
    made_config = configured(getattr(transformers, config), keys, config)
    module = configured(kind, {"config": made_config}, model)
    return module  # noqa: RET504 - the library tells no type


class Inputs(NamedTuple):
    """What the loss of a detector takes."""

    images_FCHW: torch.Tensor
    """float, normalised."""
    labels: list[dict[str, torch.Tensor]]
    """(F,) of ``class_labels`` (N,) and ``boxes`` (N, 4), centre and size as shares of it."""


class DetectionTask(Task):
    """The loss that the model has by itself: matched boxes and classes."""

    def __init__(
        self, job: Job, module: nn.Module, num_classes: int, scores: Literal["softmax", "sigmoid"]
    ) -> None:
        super().__init__(job.model.factory, module)
        self.job = job
        self.num_classes = num_classes
        self.scores = scores
        self.annotator: Annotator | None = None

    def begin(self, catalog: Catalog) -> None:
        """Open the annotations. Raises UserError where there are none."""
        self.annotator = Annotator(catalog, self.job)

    def inputs(self, batch: Batch) -> Inputs:
        """Images and boxes; groups that were not taken apart are not learnt."""
        images_FCHW, targets = self.seen(batch)
        return Inputs(images_FCHW, [_label(one, images_FCHW) for one in targets])

    def seen(self, batch: Batch) -> tuple[torch.Tensor, list[Target]]:
        """Images of the usable clips, and what is drawn in each."""
        assert self.annotator is not None
        if batch.augmentation is None:
            frames_BTCHW, _ = to_device(batch, batch.device)
        else:
            frames_BTCHW, _ = augmented_inputs(batch, batch.augmentation, self.num_classes)
        found = detection_targets(batch, self.annotator, first_label=0).targets
        frames = batch.frames_BTCHW.shape[1]
        is_usable = batch.valid_B.repeat_interleave(frames).tolist()
        targets = [one for one, usable in zip(found, is_usable, strict=True) if usable]
        return frames_BTCHW.flatten(0, 1), targets

    def loss(self, module: nn.Module, inputs: Inputs) -> torch.Tensor:
        """As the model says."""
        return self.said(module, inputs)[0]

    def said(self, module: nn.Module, inputs: Inputs) -> tuple[torch.Tensor, Any]:
        """Loss, and all that the model gives."""
        with blames(self.name, "the model's forward"):
            out = module(pixel_values=inputs.images_FCHW, labels=inputs.labels)
        loss: torch.Tensor = out.loss
        return loss, out

    def meter(self) -> DetectionMeter:
        """Judges by average precision."""
        return DetectionMeter(self)


class Found(NamedTuple):
    """What one rank's held-out images came to."""

    loss_sum: float
    num_clips: int
    drawn: list[Said]
    said: list[Said]


class DetectionMeter(Meter):
    """Mean average precision of boxes, as COCO counts it."""

    def __init__(self, task: DetectionTask) -> None:
        self._task = task
        self._loss_sum, self._num_clips = 0.0, 0
        self._drawn: list[Said] = []
        self._said: list[Said] = []

    def add(self, module: nn.Module, batch: Batch) -> None:
        """Every image."""
        images_FCHW, targets = self._task.seen(batch)
        labels = [_label(one, images_FCHW) for one in targets]
        loss, out = self._task.said(module, Inputs(images_FCHW, labels))
        num_clips = int(batch.valid_B.sum())
        self._loss_sum += loss.item() * num_clips
        self._num_clips += num_clips
        size = tuple(images_FCHW.shape[-2:])
        for logits_QK, boxes_Q4, target in zip(out.logits, out.pred_boxes, targets, strict=True):
            self._said.append(_said(logits_QK, boxes_Q4, size, self._task.scores))
            self._drawn.append(
                Said(target["boxes"], target["labels"], None, target["iscrowd"].bool())
            )

    def found(self) -> Found:
        """Objects, drawn and found."""
        return Found(self._loss_sum, self._num_clips, self._drawn, self._said)

    def score(self, found: list[Any]) -> Score | None:
        """Over all ranks."""
        num_clips = sum(one.num_clips for one in found)
        if not num_clips:
            return None
        drawn = [image for one in found for image in one.drawn]
        said = [image for one in found for image in one.said]
        return Score(
            loss=sum(one.loss_sum for one in found) / num_clips,
            num_clips=num_clips,
            metrics=average_precision(drawn, said, self._task.num_classes),
        )


def _label(target: Target, images_FCHW: torch.Tensor) -> dict[str, torch.Tensor]:
    keep = target["iscrowd"] == 0
    boxes_N4 = target["boxes"][keep]
    height, width = images_FCHW.shape[-2:]
    sides = torch.tensor([width, height, width, height])
    centre_N2, size_N2 = (boxes_N4[:, :2] + boxes_N4[:, 2:]) / 2, boxes_N4[:, 2:] - boxes_N4[:, :2]
    shares_N4 = torch.cat([centre_N2, size_N2], dim=1) / sides
    device = images_FCHW.device
    return {"boxes": shares_N4.to(device), "class_labels": target["labels"][keep].to(device)}


def _said(
    logits_QK: torch.Tensor, boxes_Q4: torch.Tensor, size: tuple[int, ...],
    scores: Literal["softmax", "sigmoid"],
) -> Said:  # fmt: skip
    """The surest pairs of box and class; with softmax the last class is nothing."""
    logits_QK = logits_QK.float()
    scores_QK = logits_QK.softmax(-1)[:, :-1] if scores == "softmax" else logits_QK.sigmoid()
    best, place = scores_QK.flatten().topk(min(MAX_OBJECTS, scores_QK.numel()))
    query, label = place // scores_QK.shape[1], place % scores_QK.shape[1]
    centre_N2, half_N2 = boxes_Q4[query, :2].float(), boxes_Q4[query, 2:].float() / 2
    height, width = size
    sides = torch.tensor([width, height, width, height], device=boxes_Q4.device)
    boxes_N4 = torch.cat([centre_N2 - half_N2, centre_N2 + half_N2], dim=1) * sides
    return Said(boxes_N4.cpu(), label.cpu(), best.cpu(), None)
