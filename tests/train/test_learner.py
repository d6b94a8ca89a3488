from __future__ import annotations

import io
import pickle
from pathlib import Path

import msgspec
import pytest
import torch
from torch.nn import functional

from filmgate.errors import UserError
from filmgate.spec import Job, Train
from filmgate.train.classification import Classification
from filmgate.train.learner import (
    Learner,
    Progress,
    make_learner,
    pack,
    tensors_of,
    unpack,
)
from filmgate.train.models import SmallVideoClassifier
from filmgate.train.ranks import ALONE
from filmgate.train.storage import read_weights, save_tensors, tensor_sizes

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


def written(learner: Learner, folder: Path) -> dict[str, bytes]:
    folder.mkdir(exist_ok=True)
    save_tensors(folder, tensors_of(learner), ALONE)
    return pack(learner, PROGRESS)


def test_a_packed_learner_goes_on_exactly_as_the_one_that_was_packed(tmp_path: Path) -> None:
    job = Job(train=Train(average_decay=0.9))
    learner = make_learner(job, 3, CPU)
    learn(learner, 3)
    parts = written(learner, tmp_path)
    expected = learn(learner, 3)
    other = make_learner(job, 3, CPU)
    learn(other, 1)
    assert unpack(other, tmp_path, parts) == PROGRESS
    assert learn(other, 3) == expected


def test_parts_of_another_model_are_refused(tmp_path: Path) -> None:
    parts = written(make_learner(Job(), 3, CPU), tmp_path)
    with pytest.raises(UserError, match=r"does not fit the model of filmgate.*head"):
        unpack(make_learner(Job(), 4, CPU), tmp_path, parts)


def test_a_commit_cannot_run_code(tmp_path: Path) -> None:
    learner = make_learner(Job(), 3, CPU)
    parts = written(learner, tmp_path)
    buffer = io.BytesIO()
    torch.save({"weights": print}, buffer)
    with pytest.raises(pickle.UnpicklingError, match="print"):
        unpack(learner, tmp_path, parts | {"random-0.pt": buffer.getvalue()})
    (tmp_path / ".metadata").write_bytes(pickle.dumps({"weights": print}))
    with pytest.raises(pickle.UnpicklingError, match=r"builtins\.print has no place in a commit"):
        unpack(learner, tmp_path, parts)


def adapter(job: Job, num_classes: int) -> Classification:
    """Trains one layer of a model whose other weights are made again every time."""
    module = SmallVideoClassifier(num_classes)
    module.requires_grad_(False)
    module.head.requires_grad_(True)
    task = Classification("adapter", module, num_classes)
    task.keeps_frozen = False
    return task


def test_commits_of_an_adapter_hold_what_is_trained_alone(tmp_path: Path) -> None:
    job = msgspec.structs.replace(
        Job(), model=msgspec.structs.replace(Job().model, factory=f"{__name__}:adapter")
    )
    learner = make_learner(job, 3, CPU)
    learn(learner, 2)
    written(learner, tmp_path)
    names = {name for name in tensor_sizes(tmp_path) if name.startswith("model/")}
    assert names == {"model/head.weight", "model/head.bias"}
    weights = read_weights(tmp_path)
    assert set(weights) == {"head.weight", "head.bias"}
    assert torch.equal(weights["head.bias"], learner.model.state_dict()["head.bias"])


def frozen_model(job: Job, num_classes: int) -> torch.nn.Module:
    return torch.nn.Linear(1, num_classes).requires_grad_(False)


def test_a_model_with_nothing_to_train_is_refused() -> None:
    job = msgspec.structs.replace(
        Job(), model=msgspec.structs.replace(Job().model, factory=f"{__name__}:frozen_model")
    )
    with pytest.raises(UserError, match="no parameter to train"):
        make_learner(job, 3, CPU)
