"""Average precision of boxes, counted by faster-coco-eval as COCO does.

N objects of an image.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from filmgate.train.families.library import library

NAMES = {"mAP": 0, "mAP at IoU 0.5": 1, "mAP at IoU 0.75": 2}
"""Metric -> its place in the evaluation's figures."""


class Said(NamedTuple):
    """The objects of one image, drawn by a person or found by a model."""

    boxes_N4: torch.Tensor
    """x1, y1, x2, y2 in pixels."""
    classes_N: torch.Tensor
    scores_N: torch.Tensor | None
    """None for what was drawn."""
    is_crowd_N: torch.Tensor | None
    """bool; None for what was found."""


def average_precision(
    drawn: Sequence[Said], said: Sequence[Said], num_classes: int
) -> dict[str, float]:
    """``mAP`` over IoU 0.5 to 0.95, and at 0.5 and 0.75; empty where nothing was drawn."""
    annotations = [one for image, objects in enumerate(drawn) for one in _rows(image, objects)]
    if not annotations:
        return {}
    module = library("faster_coco_eval")
    truth = module.COCO(_dataset(len(drawn), num_classes, annotations))
    found = [one for image, objects in enumerate(said) for one in _rows(image, objects)]
    if not found:
        return dict.fromkeys(NAMES, 0.0)
    evaluation: Any = module.COCOeval_faster(
        truth, truth.loadRes(found), iouType="bbox", print_function=_say_nothing
    )
    evaluation.run()
    return {name: float(evaluation.stats[place]) for name, place in NAMES.items()}


def _dataset(num_images: int, num_classes: int, annotations: list[dict[str, Any]]) -> Any:
    return {
        "info": {},
        "images": [{"id": image} for image in range(num_images)],
        "categories": [{"id": number, "name": str(number)} for number in range(num_classes)],
        "annotations": [{**one, "id": number + 1} for number, one in enumerate(annotations)],
    }


def _rows(image: int, objects: Said) -> list[dict[str, Any]]:
    rows = []
    for number, (x1, y1, x2, y2) in enumerate(objects.boxes_N4.tolist()):
        row: dict[str, Any] = {
            "image_id": image,
            "category_id": int(objects.classes_N[number]),
            "bbox": [x1, y1, x2 - x1, y2 - y1],
            "area": (x2 - x1) * (y2 - y1),
        }
        if objects.scores_N is not None:
            row["score"] = float(objects.scores_N[number])
        if objects.is_crowd_N is not None:
            row["iscrowd"] = int(objects.is_crowd_N[number])
        rows.append(row)
    return rows


def _say_nothing(*words: object) -> None:
    """What the library would print goes into the score."""
