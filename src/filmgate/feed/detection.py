"""Annotations as tensors, in the shapes that torchvision's detection and segmentation models take.

Source: the object detection tutorial of docs.pytorch.org and ``references/detection`` of
torchvision 0.2x: a dict for each image with boxes, labels, masks, image_id, area, iscrowd.

N objects of a frame, B clips, T frames, H W.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from filmgate.errors import UserError
from filmgate.feed.annotations import Annotator, FrameAnnotations
from filmgate.feed.batch import Batch

Target = dict[str, torch.Tensor]


@dataclass(frozen=True, kw_only=True, eq=False)
class Detections:
    """The targets of a batch."""

    targets: list[Target]
    """One for each frame in the order of ``frames_BTCHW.flatten(0, 1)``; without objects for masked
    clips. ``boxes`` float32 (N, 4), ``labels`` int64 (N,), ``track_ids`` int64 (N,), -1 for none,
    ``iscrowd`` int64 (N,), ``area`` float32 (N,) of the box, ``image_id`` int64 (), and where they
    were asked for ``masks`` uint8 (N, H, W)."""
    num_dropped: dict[str, int]
    """Why -> objects: ``outside`` the window, ``barely-visible``, ``too-small``, ``no-mask``."""


def detection_targets(
    batch: Batch,
    annotator: Annotator,
    *,
    first_label: int = 1,
    min_visible_share: float = 0.0,
    min_side: float = 1.0,
    with_masks: bool = False,
) -> Detections:
    """The targets of every frame of a batch.

    ``first_label`` is the label of class 0: torchvision's detectors keep 0 for the background.
    Objects are dropped, and counted, of whose box less than ``min_visible_share`` lies in the
    window or whose cut box has a side under ``min_side`` pixels (torchvision's
    ``SanitizeBoundingBoxes`` drops those under 1), and with masks those that have none.

    Raises UserError for a batch whose clips are to be mixed: a box belongs to one picture.
    """
    _refuse_mixed(batch)
    height, width = batch.frames_BTCHW.shape[-2:]
    num_frames = batch.frames_BTCHW.shape[1]
    dropped: dict[str, int] = {}
    targets: list[Target] = []
    for clip in annotator.of_samples(batch.samples):
        if clip is None:
            targets += [_nothing((height, width), with_masks) for _ in range(num_frames)]
            continue
        for frame in clip:
            keep = _kept(frame, min_visible_share, min_side, with_masks, dropped)
            targets.append(_target(frame, keep, first_label, with_masks))
    return Detections(targets=targets, num_dropped=dropped)


def class_maps(batch: Batch, annotator: Annotator, *, background: int) -> torch.Tensor:
    """int64 (B, T, H, W), the class of each pixel for semantic segmentation.

    ``background`` stands where nothing is drawn, and everywhere in masked clips; -100 is what
    ``cross_entropy`` leaves out. Raises UserError as ``detection_targets``.
    """
    _refuse_mixed(batch)
    num_clips, num_frames, _, height, width = batch.frames_BTCHW.shape
    maps_BTHW = np.full((num_clips, num_frames, height, width), background, np.int64)
    for row, clip in enumerate(annotator.of_samples(batch.samples)):
        for place, frame in enumerate(clip or []):
            maps_BTHW[row, place] = frame.class_map(background)
    return torch.from_numpy(maps_BTHW)


def padded(targets: Sequence[Target], *, no_label: int = -1) -> Target:
    """Targets as tensors of one length: ``boxes`` (F, N, 4), ``labels`` (F, N) and ``track_ids``
    (F, N), N the most that a frame has; ``valid`` (F, N) bool says which places are taken."""
    most = max((len(target["labels"]) for target in targets), default=0)
    out = {
        "boxes": torch.zeros((len(targets), most, 4)),
        "labels": torch.full((len(targets), most), no_label, dtype=torch.int64),
        "track_ids": torch.full((len(targets), most), -1, dtype=torch.int64),
        "valid": torch.zeros((len(targets), most), dtype=torch.bool),
    }
    for row, target in enumerate(targets):
        number = len(target["labels"])
        for name in ("boxes", "labels", "track_ids"):
            out[name][row, :number] = target[name]
        out["valid"][row, :number] = True
    return out


def _refuse_mixed(batch: Batch) -> None:
    if batch.augmentation is not None and batch.augmentation.has_soft_labels:
        raise UserError(
            "clips that are mixed have no boxes or masks of their own",
            hint="leave mixup_alpha and cutmix_alpha out of [augment]",
        )


def _kept(
    frame: FrameAnnotations,
    min_visible_share: float,
    min_side: float,
    with_masks: bool,
    dropped: dict[str, int],
) -> NDArray[np.bool_]:
    sides = frame.boxes_N4[:, 2:] - frame.boxes_N4[:, :2]
    rules = {
        "barely-visible": frame.visible_share_N >= min_visible_share,
        "too-small": sides.min(1, initial=np.inf) >= min_side,
        "no-mask": frame.has_mask_N if with_masks else np.ones(len(frame), np.bool_),
    }
    keep = np.ones(len(frame), np.bool_)
    counts = {"outside": frame.num_outside}
    for why, holds in rules.items():
        counts[why] = int(np.count_nonzero(keep & ~holds))
        keep &= holds
    for why, count in counts.items():
        if count:
            dropped[why] = dropped.get(why, 0) + count
    return keep


def _target(
    frame: FrameAnnotations, keep: NDArray[np.bool_], first_label: int, with_masks: bool
) -> Target:
    boxes = frame.boxes_N4[keep]
    sides = boxes[:, 2:] - boxes[:, :2]
    target = {
        "boxes": torch.from_numpy(boxes.astype(np.float32)),
        "labels": torch.from_numpy(frame.classes_N[keep] + first_label),
        "track_ids": torch.from_numpy(frame.track_ids_N[keep]),
        "iscrowd": torch.from_numpy(frame.is_crowd_N[keep].astype(np.int64)),
        "area": torch.from_numpy((sides[:, 0] * sides[:, 1]).astype(np.float32)),
        "image_id": torch.tensor(frame.image),
    }
    if with_masks:
        target["masks"] = torch.from_numpy(frame.masks()[keep].astype(np.uint8))
    return target


def _nothing(size: tuple[int, int], with_masks: bool) -> Target:
    target = {
        "boxes": torch.zeros((0, 4)),
        "labels": torch.zeros(0, dtype=torch.int64),
        "track_ids": torch.zeros(0, dtype=torch.int64),
        "iscrowd": torch.zeros(0, dtype=torch.int64),
        "area": torch.zeros(0),
        "image_id": torch.tensor(-1),
    }
    if with_masks:
        target["masks"] = torch.zeros((0, *size), dtype=torch.uint8)
    return target
