"""Augmented batches in the training loop."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from filmgate.catalog import Catalog
from filmgate.errors import Interrupted, UserError
from filmgate.feed import Batch, open_feed
from filmgate.train.inputs import augmented_inputs, to_device
from filmgate.train.learner import make_learner
from filmgate.train.run import train_run
from filmgate.train.update import Stopwatch, update
from tests.train.conftest import a_job
from tests.train.test_run import outcome, signal_at

CPU = torch.device("cpu")
AUGMENT = {
    "brightness": 0.4,
    "contrast": 0.4,
    "saturation": 0.4,
    "hue": 0.1,
    "erasing_probability": 0.5,
    "mixup_alpha": 0.8,
    "cutmix_alpha": 1.0,
}
STEPS = {"steps": 6, "commit_every_steps": 2}


def batch_of(hues: Catalog, **augment: float) -> Batch:
    with open_feed(a_job(augment=augment), hues, split="train") as feed:
        return next(feed)


def test_mixed_clips_have_soft_labels_and_frames_of_the_usual_scale(hues: Catalog) -> None:
    batch = batch_of(hues, **AUGMENT)
    assert batch.augmentation is not None
    frames_BTCHW, targets_BK = augmented_inputs(batch, batch.augmentation, 4)
    assert targets_BK.shape == (4, 4)
    assert torch.allclose(targets_BK.sum(dim=1), torch.ones(4))
    assert frames_BTCHW.min() >= -0.45 / 0.225 - 1e-5
    assert frames_BTCHW.max() <= 0.55 / 0.225 + 1e-5


def test_clips_that_are_not_mixed_keep_their_labels(hues: Catalog) -> None:
    batch = batch_of(hues, hue=0.1)
    assert batch.augmentation is not None
    _, targets = augmented_inputs(batch, batch.augmentation, 4)
    assert torch.equal(targets, batch.labels_B)


def test_a_mixture_of_nothing_is_the_plain_update(hues: Catalog) -> None:
    batch = batch_of(hues, mixup_alpha=1.0)
    assert batch.augmentation is not None
    still = replace(batch.augmentation, own_share_B=torch.ones(4))
    frames_BTCHW, targets_BK = augmented_inputs(batch, still, 4)
    plain_BTCHW, labels_B = to_device(batch, CPU)
    assert torch.allclose(frames_BTCHW, plain_BTCHW, atol=1e-5)
    assert torch.equal(targets_BK.argmax(dim=1), labels_B)
    losses = []
    for given in (replace(batch, augmentation=still), replace(batch, augmentation=None)):
        torch.manual_seed(0)
        losses.append(update(make_learner(a_job(), 4, CPU), given, 0.01, 1, Stopwatch(CPU)))
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)


def test_masked_clips_are_left_out_of_frames_and_targets(hues: Catalog) -> None:
    batch = batch_of(hues, **AUGMENT)
    assert batch.augmentation is not None
    valid_B = torch.tensor([True, True, False, True])
    frames_BTCHW, targets_BK = augmented_inputs(
        replace(batch, valid_B=valid_B), batch.augmentation, 4
    )
    assert len(frames_BTCHW) == len(targets_BK) == 3


def test_an_interrupted_run_with_augmentation_ends_as_an_uninterrupted_one(
    hues: Catalog, tmp_path: Path
) -> None:
    job = a_job(train=STEPS, augment=AUGMENT, clip={"crop": "random-resized"})
    for name in ("whole", "parts", "plain"):
        (tmp_path / name).mkdir()
    whole = train_run(job, hues, tmp_path / "whole")
    with pytest.raises(Interrupted):
        train_run(job, hues, tmp_path / "parts", on_progress=signal_at(3))
    assert outcome(train_run(job, hues, tmp_path / "parts")) == outcome(whole)
    plain = train_run(a_job(train=STEPS), hues, tmp_path / "plain")
    assert plain.samples_digest != whole.samples_digest


def test_a_run_is_not_resumed_with_other_augmentation(hues: Catalog, tmp_path: Path) -> None:
    job = a_job(train=STEPS, augment={"hue": 0.1})
    with pytest.raises(Interrupted):
        train_run(job, hues, tmp_path, on_progress=signal_at(3))
    with pytest.raises(UserError, match=r"augment.hue \(0.1 there, 0.2 now\)"):
        train_run(a_job(train=STEPS, augment={"hue": 0.2}), hues, tmp_path)


def test_weights_in_a_file_count_by_content(hues: Catalog, tmp_path: Path) -> None:
    ids = hues.column("video_id").to_pylist()
    for name, last in (("a.csv", 1), ("b.csv", 1), ("c.csv", 2)):
        lines = [*(f"{video},1" for video in ids[:-1]), f"{ids[-1]},{last}"]
        (tmp_path / name).write_text("\n".join(["video,weight", *lines]))
    jobs = [
        a_job(train=STEPS, data={"weights": str(tmp_path / name)})
        for name in ("a.csv", "b.csv", "c.csv")
    ]
    (tmp_path / "run").mkdir()
    first = train_run(jobs[0], hues, tmp_path / "run")
    assert first.never_shown_videos == 0
    assert train_run(jobs[1], hues, tmp_path / "run") == first
    with pytest.raises(UserError, match=r"data.weights"):
        train_run(jobs[2], hues, tmp_path / "run")
    (tmp_path / "a.csv").unlink()
    with pytest.raises(UserError, match="cannot be read"):
        train_run(jobs[0], hues, tmp_path / "run")
