from __future__ import annotations

import io
import pickle

import msgspec
import pytest
import torch
from torch.nn import functional

from filmgate.errors import UserError
from filmgate.spec import Job
from filmgate.train.learner import (
    Learner,
    Progress,
    make_learner,
    pack,
    unpack,
)

CPU = torch.device("cpu")
PROGRESS = Progress(
    step=7, feed={"next_sample": 56, "order_digest": "x"}, samples_digest="y", loss=0.1 + 0.2
)


def learn(learner: Learner, num_steps: int) -> list[float]:
    """Losses of a few updates on random clips, drawn from the global generator."""
    losses = []
    for _ in range(num_steps):
        loss = functional.cross_entropy(
            learner.model(torch.randn(2, 2, 3, 16, 16)), torch.randint(0, 3, (2,))
        )
        learner.optimizer.zero_grad()
        torch.autograd.backward(loss)
        learner.optimizer.step()
        losses.append(loss.item())
    return losses


def test_a_packed_learner_goes_on_exactly_as_the_one_that_was_packed() -> None:
    learner = make_learner(Job(), 3, CPU)
    learn(learner, 3)
    parts = pack(learner, PROGRESS)
    expected = learn(learner, 3)
    other = make_learner(Job(), 3, CPU)
    learn(other, 1)
    assert unpack(other, parts) == PROGRESS
    assert learn(other, 3) == expected


def test_parts_of_another_model_are_refused() -> None:
    parts = pack(make_learner(Job(), 3, CPU), PROGRESS)
    with pytest.raises(UserError, match="does not fit the model of filmgate"):
        unpack(make_learner(Job(), 4, CPU), parts)


def test_a_commit_cannot_run_code() -> None:
    learner = make_learner(Job(), 3, CPU)
    buffer = io.BytesIO()
    torch.save({"weights": print}, buffer)
    with pytest.raises(pickle.UnpicklingError, match="print"):
        unpack(learner, pack(learner, PROGRESS) | {"model.pt": buffer.getvalue()})


def frozen_model(job: Job, num_classes: int) -> torch.nn.Module:
    return torch.nn.Linear(1, num_classes).requires_grad_(False)


def test_a_model_with_nothing_to_train_is_refused() -> None:
    job = msgspec.structs.replace(
        Job(), model=msgspec.structs.replace(Job().model, factory=f"{__name__}:frozen_model")
    )
    with pytest.raises(UserError, match="no parameter to train"):
        make_learner(job, 3, CPU)
