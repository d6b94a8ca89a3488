"""Precision, micro-batches, recomputed activations, averages: what may differ, and how little."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

from filmgate.catalog import Catalog
from filmgate.errors import UserError
from filmgate.feed import Batch, open_feed
from filmgate.feed.batch import samples_digest
from filmgate.spec import Job
from filmgate.train.evaluate import evaluate
from filmgate.train.learner import Learner, make_learner
from filmgate.train.repeatable import repeatable
from filmgate.train.task import Meter, Score, Task, generators
from filmgate.train.update import Stopwatch, micro_batches, update
from tests.train.conftest import a_job

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Threads that wait for each other on a busy machine take minutes over milliseconds."""
    with repeatable(0, 1, CPU):
        yield


@pytest.fixture(scope="module")
def batch(hues: Catalog) -> Batch:
    with open_feed(a_job(), hues, split="train") as feed:
        return next(iter(feed))


def learner_of(**train: Any) -> Learner:
    torch.manual_seed(0)
    return make_learner(a_job(train=train), 4, CPU)


def losses_of(learner: Learner, batch: Batch, num_steps: int = 4) -> list[float]:
    return [update(learner, batch, 0.01, step, Stopwatch(CPU)) for step in range(1, num_steps + 1)]


def masked(batch: Batch, rows: list[int]) -> Batch:
    valid_B, labels_B = batch.valid_B.clone(), batch.labels_B.clone()
    valid_B[rows], labels_B[rows] = False, -100
    return replace(batch, valid_B=valid_B, labels_B=labels_B)


@pytest.mark.parametrize("rows", [[], [0], [2, 3], [0, 1, 3]])
def test_micro_batches_give_the_losses_of_the_whole_batch(batch: Batch, rows: list[int]) -> None:
    given = masked(batch, rows)
    whole = losses_of(learner_of(), given)
    assert losses_of(learner_of(accumulation=2), given) == pytest.approx(whole, rel=1e-4)
    assert losses_of(learner_of(accumulation=4), given) == pytest.approx(whole, rel=1e-4)


def test_micro_batches_hold_the_samples_of_the_batch_in_order(batch: Batch) -> None:
    parts = list(micro_batches(batch, 2))
    assert [len(part.valid_B) for part in parts] == [2, 2]
    assert torch.equal(torch.cat([part.frames_BTCHW for part in parts]), batch.frames_BTCHW)
    assert sum((part.sample_numbers for part in parts), ()) == batch.sample_numbers == (0, 1, 2, 3)
    digests = sum((part.digest_parts for part in parts), ())
    assert samples_digest(digests) == batch.samples_digest
    assert parts[0].samples_digest != batch.samples_digest


def test_a_batch_that_does_not_divide_into_micro_batches_is_refused() -> None:
    with pytest.raises(UserError, match="batch_size 4 does not divide into 3 micro-batches"):
        learner_of(accumulation=3)
    job = a_job(train={"accumulation": 4}, augment={"mixup_alpha": 0.2})
    with pytest.raises(UserError, match="a micro-batch is 1 of batch_size 4") as raised:
        make_learner(job, 4, CPU)
    assert "multiple of 8" in raised.value.hint


def test_recomputed_activations_change_no_bit(batch: Batch) -> None:
    learner = learner_of(checkpointing="block")
    assert losses_of(learner, batch) == losses_of(learner_of(), batch)
    assert list(learner.model.state_dict()) == list(learner_of().model.state_dict())


@pytest.mark.parametrize(("precision", "dtype"), [("bf16", torch.bfloat16), ("fp16", torch.half)])
def test_lower_precision_learns_alike_with_weights_in_32_bits(
    batch: Batch, precision: str, dtype: torch.dtype
) -> None:
    learner = learner_of(precision=precision)
    seen = set()
    learner.model.head.register_forward_hook(lambda *given: seen.add(given[2].dtype))  # type: ignore
    losses = losses_of(learner, batch, 2)
    assert seen == {dtype}
    assert losses == pytest.approx(losses_of(learner_of(), batch, 2), abs=0.1)
    assert all(parameter.dtype == torch.float32 for parameter in learner.trained)
    assert learner.scaler.is_enabled() == (precision == "fp16")


def test_an_overflow_in_16_bits_leaves_the_weights_and_lowers_the_scale(batch: Batch) -> None:
    learner = learner_of(precision="fp16")
    before, scale = [p.clone() for p in learner.trained], learner.scaler.get_scale()
    learner.trained[0].register_hook(lambda gradient: gradient * torch.inf)
    losses_of(learner, batch, 1)
    assert all(torch.equal(a, b) for a, b in zip(before, learner.trained, strict=True))
    assert learner.scaler.get_scale() < scale


def test_gradients_are_shortened_to_the_norm_of_the_job(batch: Batch) -> None:
    lengths = []
    for clip_norm in (0.01, 0):
        learner = learner_of(clip_norm=clip_norm)
        losses_of(learner, batch, 1)
        lengths.append(torch.nn.utils.get_total_norm([p.grad for p in learner.trained]).item())
    assert lengths[0] == pytest.approx(0.01, rel=1e-3) and lengths[1] > 0.02


def test_the_average_follows_the_weights_and_is_what_is_evaluated(batch: Batch) -> None:
    learner = learner_of(average_decay=0.5)
    assert learner.average is not None
    expected = [p.detach().clone() for p in learner.trained]
    for _ in range(3):
        losses_of(learner, batch, 1)
        expected = [
            0.5 * a + 0.5 * p.detach() for a, p in zip(expected, learner.trained, strict=True)
        ]
    weights = list(learner.average.weights.values())
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(expected, weights, strict=True))
    trained = [p.detach().clone() for p in learner.trained]
    score = evaluate(learner, [batch])
    assert all(torch.equal(a, b) for a, b in zip(trained, learner.trained, strict=True))
    with learner.average.in_use():
        other = make_learner(a_job(), 4, CPU)
        other.model.load_state_dict(learner.model.state_dict())
    assert evaluate(other, [batch]) == score


class Brightness(Task):
    """Tells how bright a clip is, noise added: a task that is no classification."""

    def inputs(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        noise_B = torch.stack([torch.rand((), generator=g) for g in generators(batch, 1)])
        means_B = batch.frames_BTCHW.float().mean(dim=(1, 2, 3, 4)) / 255
        return (means_B + 0.01 * noise_B)[batch.valid_B], means_B[batch.valid_B]

    def loss(self, module: nn.Module, inputs: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        shown_B, wanted_B = inputs
        return nn.functional.mse_loss(module(shown_B[:, None])[:, 0], wanted_B)

    def meter(self) -> Meter:
        return BrightnessMeter(self)


class BrightnessMeter(Meter):
    def __init__(self, task: Brightness) -> None:
        self.task = task
        self.losses: list[float] = []

    def add(self, module: nn.Module, batch: Batch) -> None:
        self.losses.append(self.task.loss(module, self.task.inputs(batch)).item())

    def found(self) -> list[float]:
        return self.losses

    def score(self, found: list[list[float]]) -> Score | None:
        losses = [loss for losses in found for loss in losses]
        mean = sum(losses) / len(losses)
        return Score(loss=mean, num_clips=len(losses), metrics={"rmse": mean**0.5})


def brightness(job: Job, num_classes: int) -> Task:
    return Brightness("brightness", nn.Linear(1, 1))


def test_a_task_of_ones_own_trains_and_is_judged_by_its_own_measure(batch: Batch) -> None:
    job = a_job(model={"factory": f"{__name__}:brightness"})
    learner = make_learner(job, 4, CPU)
    losses = losses_of(learner, batch, 30)
    assert losses[-1] < losses[0]
    score = evaluate(learner, [batch])
    assert score is not None and score.accuracy is None
    assert score.metrics["rmse"] == pytest.approx(score.loss**0.5)


def test_a_clips_draws_depend_on_its_number_alone(batch: Batch) -> None:
    whole = [torch.rand((), generator=g).item() for g in generators(batch, 7)]
    parts = [
        torch.rand((), generator=g).item()
        for part in micro_batches(batch, 4)
        for g in generators(part, 7)
    ]
    assert whole == parts and len(set(whole)) == 4
    assert whole != [torch.rand((), generator=g).item() for g in generators(batch, 8)]


def test_recomputing_a_model_without_blocks_is_refused() -> None:
    job = a_job(
        model={"factory": "tests.train.test_run:narrow_model"}, train={"checkpointing": "block"}
    )
    with pytest.raises(UserError, match="no list of alike blocks"):
        make_learner(job, 4, CPU)
