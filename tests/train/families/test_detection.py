from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from filmgate.catalog import Catalog, open_catalog
from filmgate.errors import UserError
from filmgate.feed import open_feed
from filmgate.feed.targets import choose_targets
from filmgate.pack.make import pack_images
from filmgate.spec import Job
from filmgate.train.families.precision import Said, average_precision
from filmgate.train.families.segmentation import confusion, overlap
from filmgate.train.learner import make_task
from filmgate.train.run import train_run
from filmgate.work import LocalExecutor
from tests.pack.images import write_pixels
from tests.train.conftest import a_job
from tests.train.families.conftest import run_folder

pytest.importorskip("transformers", reason="the extra `video` is not installed")
pytest.importorskip("scipy", reason="the extra `detect` is not installed")
pytest.importorskip("faster_coco_eval", reason="the extra `detect` is not installed")
_BACKBONE = {"embedding_size": 16, "layer_type": "basic"}
CONFIGS: dict[str, dict[str, Any]] = {
    "detection:detr": {
        "d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 64,
        "decoder_ffn_dim": 64, "encoder_attention_heads": 2, "decoder_attention_heads": 2,
        "num_queries": 5,
        "backbone_config": {"model_type": "resnet", **_BACKBONE, "hidden_sizes": [16, 32],
                            "depths": [1, 1], "out_features": ["stage2"]},
    },
    "detection:rt_detr": {
        "d_model": 32, "encoder_hidden_dim": 32, "encoder_in_channels": [16, 32, 32],
        "encoder_ffn_dim": 64, "encoder_attention_heads": 2, "decoder_in_channels": [32, 32, 32],
        "decoder_ffn_dim": 64, "decoder_layers": 1, "decoder_attention_heads": 2,
        "num_queries": 10, "num_denoising": 4,
        "backbone_config": {"model_type": "rt_detr_resnet", **_BACKBONE,
                            "hidden_sizes": [16, 16, 32, 32], "depths": [1, 1, 1, 1],
                            "out_features": ["stage2", "stage3", "stage4"]},
    },
    "segmentation:segformer": {
        "num_encoder_blocks": 2, "depths": [1, 1], "sr_ratios": [2, 1], "hidden_sizes": [16, 32],
        "patch_sizes": [3, 3], "strides": [2, 2], "num_attention_heads": [1, 2],
        "mlp_ratios": [2, 2], "decoder_hidden_size": 32, "classifier_dropout_prob": 0.0,
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """Grey images with one or two bright rectangles, red or green, their boxes and masks."""
    folder = tmp_path_factory.mktemp("marked")
    drawn = np.random.default_rng(0)
    images, annotations = [], []
    for number in range(24):
        pixels = np.full((64, 64, 3), 90, np.uint8)
        for kind in range(1 + number % 2):
            x, y = (drawn.integers(0, 32, 2) // [1, 2] + [0, 32 * kind]).tolist()
            y = min(y, 40)
            pixels[y : y + 20, x : x + 28] = ((230, 20, 20), (20, 230, 20))[kind]
            annotations.append(
                {"id": len(annotations), "image_id": number, "category_id": kind,
                 "bbox": [x, y, 28, 20],
                 "segmentation": [[x, y, x + 28, y, x + 28, y + 20, x, y + 20]]}
            )  # fmt: skip
        write_pixels(folder / "images" / f"{number:02}.png", pixels)
        images.append({"id": number, "file_name": f"{number:02}.png", "width": 64, "height": 64})
    categories = [{"id": 0, "name": "red"}, {"id": 1, "name": "green"}]
    file = {"images": images, "annotations": annotations, "categories": categories}
    (folder / "coco.json").write_text(json.dumps(file))
    pack_images(
        folder / "images", folder / "pack", labels=None, executor=LocalExecutor(workers=0),
        annotations=[f"coco:{folder / 'coco.json'}"],
    )  # fmt: skip
    return open_catalog(folder / "pack")


def _job(name: str, **train: Any) -> Job:
    steps = train.get("steps", 4)
    return a_job(
        model={"factory": f"filmgate.train.families.{name}", "config": CONFIGS[name]},
        clip={"frames": 1, "stride": 1, "height": 64, "width": 64, "crop": "centre"},
        data={"target": "annotations", "eval_clips_per_video": 1},
        train={"batch_size": 8, "commit_every_steps": steps, **train},
    )  # fmt: skip


def test_segmentation_learns_masks_of_a_pack(marked: Catalog, tmp_path: Path) -> None:
    job = _job("segmentation:segformer", steps=60, learning_rate=5e-3)
    result = train_run(job, marked, tmp_path)
    assert result.metrics["mIoU"] > 0.5
    assert result.class_names == ["red", "green"]
    assert result.accuracy is None


@pytest.mark.parametrize("name", ["detection:detr", "detection:rt_detr"])
def test_detectors_train_on_a_pack_and_are_judged_by_average_precision(
    name: str, marked: Catalog, tmp_path: Path
) -> None:
    result = train_run(_job(name, steps=30, learning_rate=2e-3), marked, run_folder(tmp_path, "r"))
    assert set(result.metrics) == {"mAP", "mAP at IoU 0.5", "mAP at IoU 0.75"}
    assert 0 <= result.metrics["mAP"] <= result.metrics["mAP at IoU 0.5"] <= 1
    task = make_task(_job(name), 2)
    assert result.holdout_loss is not None
    assert result.holdout_loss < _untrained_loss(task, marked, name)


def _untrained_loss(task: Any, catalog: Catalog, name: str) -> float:
    task.begin(catalog)
    meter = task.meter()
    with open_feed(_job(name), catalog, split="holdout") as feed, torch.no_grad():
        for batch in feed:
            meter.add(task.module.eval(), batch)
    loss: float = meter.score([meter.found()]).loss
    return loss


def test_boxes_stay_on_their_objects_when_images_are_mirrored(marked: Catalog) -> None:
    task: Any = make_task(_job("detection:detr"), 2)
    task.begin(marked)
    with open_feed(_job("detection:detr"), marked) as feed:
        inputs = task.inputs(next(iter(feed)))
    for image_CHW, label in zip(inputs.images_FCHW, inputs.labels, strict=True):
        for (x, y, width, height), kind in zip(
            label["boxes"].tolist(), label["class_labels"].tolist(), strict=True
        ):
            at = image_CHW[:, int(y * 64), int(x * 64)]
            assert int(at.argmax()) == kind
            assert (width, height) == pytest.approx((28 / 64, 20 / 64), abs=0.01)


def test_average_precision_is_that_of_the_boxes() -> None:
    boxes = torch.tensor([[0.0, 0, 10, 10], [20, 20, 30, 30]])
    drawn = [Said(boxes, torch.tensor([0, 1]), None, torch.tensor([False, False]))]
    right = [Said(boxes, torch.tensor([0, 1]), torch.tensor([0.9, 0.8]), None)]
    assert average_precision(drawn, right, 2) == pytest.approx(
        {"mAP": 1, "mAP at IoU 0.5": 1, "mAP at IoU 0.75": 1}
    )
    moved = [right[0]._replace(boxes_N4=boxes + torch.tensor([0, 0, 0, 4.0]))]
    found = average_precision(drawn, moved, 2)
    assert found["mAP at IoU 0.5"] == pytest.approx(1)
    assert found["mAP at IoU 0.75"] == 0
    assert found["mAP"] == pytest.approx(0.5, abs=0.01), "an IoU of 10/14 passes 0.5 to 0.7"
    none = [Said(boxes[:0], torch.zeros(0), torch.zeros(0), None)]
    assert average_precision(drawn, none, 2)["mAP"] == 0
    assert average_precision(none, right, 2) == {}


def test_overlap_is_both_over_either() -> None:
    drawn = torch.tensor([[0, 0, 1, 1]])
    said = torch.tensor([[0, 1, 1, 1]])
    pixels_KK = confusion(drawn, said, 3)
    assert overlap(pixels_KK) == pytest.approx(
        {"mIoU": (1 / 2 + 2 / 3) / 2, "pixel accuracy": 0.75}
    )


def test_detection_without_annotations_is_refused(kinds: Catalog) -> None:
    with pytest.raises(UserError, match="no pack") as raised:
        choose_targets("annotations", kinds)
    assert "filmgate pack" in raised.value.hint
    job = a_job(model={"factory": "filmgate.train.families.detection:detr"})
    with pytest.raises(UserError, match=r'target in .data. is "source"'):
        make_task(job, 2)
