from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from filmgate.catalog import Catalog
from filmgate.errors import UserError
from filmgate.feed import Batch, open_feed
from filmgate.train.evaluate import evaluate
from filmgate.train.inputs import to_device
from filmgate.train.learner import make_learner
from filmgate.train.update import Stopwatch, update
from tests.train.conftest import a_job

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def batch(hues: Catalog) -> Batch:
    with open_feed(a_job(), hues, split="train") as feed:
        return next(iter(feed))


def masked(batch: Batch, keep: int) -> Batch:
    """The batch with its clips after the first ``keep`` masked and overwritten."""
    frames_BTCHW, valid_B = batch.frames_BTCHW.clone(), batch.valid_B.clone()
    frames_BTCHW[keep:] = 255
    valid_B[keep:] = False
    return replace(batch, frames_BTCHW=frames_BTCHW, valid_B=valid_B)


def first(batch: Batch, keep: int) -> Batch:
    """The batch as if it had only its first ``keep`` clips."""
    return replace(
        batch,
        frames_BTCHW=batch.frames_BTCHW[:keep],
        labels_B=batch.labels_B[:keep],
        valid_B=batch.valid_B[:keep],
    )


def test_frames_reach_the_model_as_normalised_floats(batch: Batch) -> None:
    frames_BTCHW, labels_B = to_device(batch, CPU)
    assert frames_BTCHW.dtype == torch.float32 and torch.equal(labels_B, batch.labels_B)
    expected_BTCHW = (batch.frames_BTCHW / 255 - 0.45) / 0.225
    assert torch.allclose(frames_BTCHW, expected_BTCHW, atol=1e-5)


def test_masked_clips_change_neither_the_loss_nor_the_update(batch: Batch) -> None:
    outcomes = []
    for given in (masked(batch, 2), first(batch, 2)):
        torch.manual_seed(0)
        learner = make_learner(a_job(), 4, CPU)
        loss = update(learner, given, 0.01, 1, Stopwatch(CPU))
        outcomes.append((loss, torch.cat([p.flatten() for p in learner.model.parameters()])))
    assert outcomes[0][0] == outcomes[1][0]
    assert torch.equal(outcomes[0][1], outcomes[1][1])


def test_masked_clips_are_not_scored(batch: Batch) -> None:
    learner = make_learner(a_job(), 4, CPU)
    score = evaluate(learner, [masked(batch, 3), masked(batch, 0)])
    alone = evaluate(learner, [first(batch, 3)])
    assert score == alone
    assert score is not None and score.num_clips == 3
    assert evaluate(learner, [masked(batch, 0)]) is None


def test_a_loss_that_is_no_number_leaves_the_weights_alone(batch: Batch) -> None:
    learner = make_learner(a_job(), 4, CPU)
    with torch.no_grad():
        next(learner.model.parameters()).fill_(torch.inf)
    before = [p.clone() for p in learner.model.parameters()]
    with pytest.raises(UserError, match="diverged at step 3"):
        update(learner, batch, 0.01, 3, Stopwatch(CPU))
    after = list(learner.model.parameters())
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))


def test_the_same_steps_give_bit_equal_losses(hues: Catalog, tmp_path: Path) -> None:
    losses = []
    for _ in range(2):
        torch.manual_seed(0)
        learner = make_learner(a_job(), 4, CPU)
        with open_feed(a_job(), hues, split="train") as feed:
            batches = zip(range(1, 4), feed, strict=False)
            losses.append([update(learner, b, 0.01, step, Stopwatch(CPU)) for step, b in batches])
    assert losses[0] == losses[1]


def test_a_stopwatch_gives_the_seconds_of_each_stage() -> None:
    watch = Stopwatch(CPU)
    for stage in ("data_wait", "forward", "forward"):
        watch.lap(stage)
    fields = watch.stop()
    assert set(fields) == {"data_wait_seconds", "forward_seconds", "total_seconds"}
    assert fields["total_seconds"] == pytest.approx(
        fields["data_wait_seconds"] + fields["forward_seconds"]
    )
    assert watch.stop() == {"total_seconds": 0.0}


def test_a_held_out_clip_that_comes_again_is_scored_once(batch: Batch) -> None:
    learner = make_learner(a_job(), 4, CPU)
    once, twice = evaluate(learner, [batch]), evaluate(learner, [batch, batch])
    assert once == twice
    windows = evaluate(learner, [batch, batch], windows_per_clip=2)
    assert once is not None and windows is not None
    assert windows.num_clips == 2 * once.num_clips
