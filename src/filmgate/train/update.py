"""One step of training: ordinary PyTorch, over micro-batches."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import replace

import torch
from torch.distributed.tensor import DTensor

from filmgate.errors import UserError
from filmgate.feed import Batch
from filmgate.train.inputs import moved
from filmgate.train.learner import Learner
from filmgate.train.models import blames
from filmgate.train.parallel import exchanging


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
    num_clips: int | None = None,
) -> float:
    """One optimizer update; its loss, the mean over the batch's usable clips.

    ``num_clips`` are those of all ranks; it may be left out where there is one.

    Raises UserError, with the weights as they were, when loss or gradient is not finite.
    """
    learner.model.train()
    learner.optimizer.zero_grad(set_to_none=True)
    loss = sum(learner.ranks.exchange(sum(_accumulate(learner, batch, watch, num_clips))))
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


def _accumulate(
    learner: Learner, batch: Batch, watch: Stopwatch, num_clips: int | None
) -> Iterator[float]:
    """Add the gradients of each micro-batch; yields its share of the mean loss."""
    ranks, parts = learner.ranks, micro_batches(batch, learner.accumulation)
    counts = [int(part.valid_B.sum()) for part in parts]
    num_clips = num_clips or sum(counts)
    if ranks.world_size == 1:
        parts = [part for part, count in zip(parts, counts, strict=True) if count]
        counts = [count for count in counts if count]
    for place, (part, count) in enumerate(zip(parts, counts, strict=True)):
        inputs = _inputs(learner, part if count else stand_in(part), watch)
        # The engine takes the mean over ranks, of which each has its own number of clips.
        share = count * ranks.world_size / num_clips
        with exchanging(learner.model, is_last=place == len(parts) - 1):
            with learner.autocast():
                loss = learner.task.loss(learner.model, inputs)
            watch.lap("forward")
            with blames(learner.task.name, "the backward pass"):
                torch.autograd.backward(learner.scaler.scale(loss if share == 1 else loss * share))
        watch.lap("backward")
        yield loss.item() * (count / num_clips) if count else 0.0


def micro_batches(batch: Batch, number: int) -> list[Batch]:
    """The batch in so many equal parts."""
    if number == 1:
        return [batch]
    size = len(batch.valid_B) // number
    return [batch.part(first, first + size) for first in range(0, len(batch.valid_B), size)]


def stand_in(batch: Batch) -> Batch:
    """A batch without one usable clip as one of black clips, for a pass that all ranks make."""
    return replace(
        batch,
        valid_B=torch.ones_like(batch.valid_B),
        labels_B=torch.zeros_like(batch.labels_B),
    )


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
    norm = torch.nn.utils.clip_grad_norm_(learner.trained, longest)
    # Where weights are divided over ranks, so is the sum under the root.
    return (norm.full_tensor() if isinstance(norm, DTensor) else norm).item()


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
