"""One step of training: ordinary PyTorch, over micro-batches."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import torch

from filmgate.errors import UserError
from filmgate.feed import Batch
from filmgate.train.inputs import moved
from filmgate.train.learner import Learner
from filmgate.train.models import blames


class Stopwatch:
    """Seconds of each stage of a step; on a GPU it waits for the stage to be done."""

    def __init__(self, device: torch.device) -> None:
        self._is_cuda = device.type == "cuda"
        self.start()

    def start(self) -> None:
        """Begin a step."""
        self._started = self._lapped = time.perf_counter()
        self._seconds: dict[str, float] = {}

    def lap(self, stage: str) -> None:
        """End a stage."""
        if self._is_cuda:
            torch.cuda.synchronize()
        now = time.perf_counter()
        self._seconds[stage] = self._seconds.get(stage, 0.0) + now - self._lapped
        self._lapped = now

    def stop(self) -> dict[str, float]:
        """The fields of a telemetry step, and a new step begins."""
        fields = {f"{stage}_seconds": seconds for stage, seconds in self._seconds.items()}
        fields["total_seconds"] = self._lapped - self._started
        self._started = self._lapped
        self._seconds = {}
        return fields


def update(
    learner: Learner,
    batch: Batch,
    learning_rate: float,
    step: int,
    watch: Stopwatch,
) -> float:
    """One optimizer update; its loss, the mean over the batch's usable clips.

    Raises UserError, with the weights as they were, when loss or gradient is not finite.
    """
    learner.model.train()
    learner.optimizer.zero_grad(set_to_none=True)
    loss = sum(_accumulate(learner, batch, watch))
    norm = _clip(learner)
    if not math.isfinite(loss) or not (math.isfinite(norm) or learner.scaler.is_enabled()):
        raise _diverged(step, batch, loss, norm)
    for group in learner.optimizer.param_groups:
        group["lr"] = learning_rate
    learner.scaler.step(learner.optimizer)
    learner.scaler.update()
    if learner.average is not None:
        learner.average.update()
    watch.lap("optimizer")
    return loss


def _accumulate(learner: Learner, batch: Batch, watch: Stopwatch) -> Iterator[float]:
    """Add the gradients of each micro-batch; yields its share of the mean loss."""
    num_clips = int(batch.valid_B.sum())
    for part in micro_batches(batch, learner.accumulation):
        inputs = _inputs(learner, part, watch)
        with learner.autocast():
            loss = learner.task.loss(learner.model, inputs)
        share = int(part.valid_B.sum()) / num_clips
        watch.lap("forward")
        with blames(learner.task.name, "the backward pass"):
            torch.autograd.backward(learner.scaler.scale(loss if share == 1 else loss * share))
        watch.lap("backward")
        yield loss.item() * share


def micro_batches(batch: Batch, number: int) -> Iterator[Batch]:
    """The batch in so many equal parts; those without one usable clip are left out."""
    if number == 1:
        yield batch
        return
    size = len(batch.valid_B) // number
    for first in range(0, len(batch.valid_B), size):
        part = batch.part(first, first + size)
        if bool(part.valid_B.any()):
            yield part


def _inputs(learner: Learner, batch: Batch, watch: Stopwatch) -> object:
    """What the loss takes; changing clips on the device counts with the forward pass."""
    batch = moved(batch, learner.device)
    if batch.augmentation is not None:
        watch.lap("transfer")
    inputs: object = learner.task.inputs(batch)
    watch.lap("transfer" if batch.augmentation is None else "forward")
    return inputs


def _clip(learner: Learner) -> float:
    """The length of all gradients together, before they are shortened."""
    learner.scaler.unscale_(learner.optimizer)
    longest = learner.clip_norm or math.inf
    return torch.nn.utils.clip_grad_norm_(learner.trained, longest).item()


def _diverged(step: int, batch: Batch, loss: float, norm: float) -> UserError:
    clips = [
        f"{video_id} frames {int(indices_T[0])}..{int(indices_T[-1])}"
        for video_id, indices_T in zip(batch.video_ids, batch.frame_indices_BT, strict=True)
    ]
    return UserError(
        f"training diverged at step {step}: loss {loss}, gradient norm {norm};"
        f" samples: {'; '.join(clips)}; the commits are untouched",
        hint="lower learning_rate in [train], or look at the clips named above",
    )
