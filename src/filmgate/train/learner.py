"""Model and optimizer of one run, and their way into a commit and back."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import msgspec
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from filmgate.catalog.augmentation import is_mixed
from filmgate.errors import UserError
from filmgate.feed.failures import MAX_LISTED
from filmgate.feed.stats import FeedStats, Skipped
from filmgate.records import Record
from filmgate.spec import Job
from filmgate.train.average import WeightAverage
from filmgate.train.classification import Classification
from filmgate.train.models import build_model
from filmgate.train.repeatable import random_state, restore_random_state
from filmgate.train.task import Task
from filmgate.units import counted

Precision = Literal["fp32", "bf16", "fp16"]


class Progress(Record, frozen=True):
    """How far a run is: with weights, optimizer and generators, all that it goes on from."""

    step: int
    """Optimizer updates done."""
    feed: dict[str, int | str]
    """What the feed said of its place after the last batch that was used; empty at the start."""
    samples_digest: str
    """Digest over every sample so far, in order."""
    loss: float | None
    """Loss of the last step; None before the first."""
    num_skipped: int = 0
    """Attempts at a training clip that failed so far, steps that were done again counted once."""
    skipped: list[Skipped] = []
    """The first of them, at most 1000."""
    num_padded: int = 0
    """Training clips so far that the ``short`` rule padded, counted likewise."""

    def counts_and(self, stats: FeedStats) -> dict[str, Any]:
        """The three counts, with those of a feed that was opened here added."""
        return {
            "num_skipped": self.num_skipped + stats.num_skipped,
            "skipped": [*self.skipped, *stats.skipped][:MAX_LISTED],
            "num_padded": self.num_padded + stats.num_padded,
        }


@dataclass(frozen=True, kw_only=True)
class Learner:
    """What learns."""

    task: Task
    model: nn.Module
    """The task's module, or what stands for it on many ranks."""
    trained: list[nn.Parameter]
    """What the optimizer changes."""
    optimizer: torch.optim.Optimizer
    device: torch.device
    scaler: torch.amp.GradScaler
    """Scales the loss for 16-bit gradients; not enabled without ``fp16``."""
    average: WeightAverage | None
    """None where the job asks for none."""
    precision: Precision
    accumulation: int
    """Micro-batches of each rank in a step."""
    clip_norm: float
    """Longest gradient; 0 for any."""

    @property
    def num_parameters(self) -> int:
        """Trainable numbers."""
        return sum(parameter.numel() for parameter in self.trained)

    def autocast(self) -> torch.autocast:
        """What the forward pass runs in."""
        dtype = torch.float16 if self.precision == "fp16" else torch.bfloat16
        return torch.autocast(self.device.type, dtype, enabled=self.precision != "fp32")


def make_learner(job: Job, num_classes: int, device: torch.device) -> Learner:
    """A fresh model with AdamW. Raises UserError as ``make_task``."""
    train, task = job.train, make_task(job, num_classes)
    check_micro_batches(job)
    model = task.module.to(device)
    if train.checkpointing == "block":
        checkpoint_blocks(task)
    if train.compile:
        model.compile()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if not trained:
        raise UserError(
            f"the model of {task.name} has no parameter to train",
            hint="leave requires_grad on for at least one parameter",
        )
    return Learner(
        task=task,
        model=model,
        trained=trained,
        optimizer=torch.optim.AdamW(
            trained, lr=train.learning_rate, weight_decay=train.weight_decay
        ),
        device=device,
        scaler=torch.amp.GradScaler(device.type, enabled=train.precision == "fp16"),
        average=None
        if train.average_decay is None
        else WeightAverage(task.module, train.average_decay),
        precision=train.precision,
        accumulation=train.accumulation,
        clip_norm=train.clip_norm,
    )


def make_task(job: Job, num_classes: int) -> Task:
    """The task of the job's factory. Raises UserError as ``build_model``."""
    made = build_model(job.model.factory, job, num_classes)
    if isinstance(made, Task):
        return made
    return Classification(job.model.factory, made, num_classes)


def check_micro_batches(job: Job, world_size: int = 1) -> None:
    """Raise UserError unless every rank's part divides into micro-batches."""
    train, parts = job.train, job.train.accumulation * world_size
    if train.batch_size % parts:
        raise UserError(
            f"batch_size {train.batch_size} does not divide into {train.accumulation} micro-batches"
            f" on {counted(world_size, 'rank')}",
            hint=f"make batch_size in [train] a multiple of {parts}",
        )
    if is_mixed(job.augment) and train.batch_size // parts % 2:
        raise UserError(
            f"mixup and CutMix take clips in pairs, but a micro-batch is "
            f"{train.batch_size // parts} of batch_size {train.batch_size}",
            hint=f"make batch_size in [train] a multiple of {2 * parts}",
        )


def checkpoint_blocks(task: Task) -> None:
    """Have each block's activations computed again. Raises UserError where there is no block."""
    blocks = task.blocks()
    if not blocks:
        raise UserError(
            f"the model of {task.name} has no list of alike blocks to compute again",
            hint="leave checkpointing out of [train], or say which with `blocks` of its task",
        )
    for block in blocks:
        # The method of this one object, so that names in commits stay as they are.
        block.forward = partial(checkpoint, block.forward, use_reentrant=False)


def pack(learner: Learner, progress: Progress) -> dict[str, bytes]:
    """The parts of a commit: file name -> content."""
    return {
        "model.pt": _encode(learner.model.state_dict()),
        "optimizer.pt": _encode(learner.optimizer.state_dict()),
        "extra.pt": _encode(_extra(learner)),
        "random.pt": _encode(random_state()),
        "progress.json": msgspec.json.format(msgspec.json.encode(progress), indent=2),
    }


def unpack(learner: Learner, parts: Mapping[str, bytes]) -> Progress:
    """Put a commit's parts into ``learner`` and the generators; the progress they stand for.

    Raises UserError when they are of another model.
    """
    try:
        learner.model.load_state_dict(_decode(parts["model.pt"], learner.device))
        learner.optimizer.load_state_dict(_decode(parts["optimizer.pt"], learner.device))
        if "extra.pt" in parts:
            _put_extra(learner, _decode(parts["extra.pt"], learner.device))
    except (RuntimeError, ValueError) as error:
        raise UserError(
            f"the commit does not fit the model of {learner.task.name}: {error}",
            hint="has its code changed since? restore it, or choose another run folder",
        ) from None
    restore_random_state(_decode(parts["random.pt"], torch.device("cpu")))
    return msgspec.json.decode(parts["progress.json"], type=Progress)


def _extra(learner: Learner) -> dict[str, Any]:
    """What there is beside weights and optimizer."""
    average = learner.average
    return {
        "scaler": learner.scaler.state_dict(),
        "average": average.weights if average is not None else {},
    }


def _put_extra(learner: Learner, extra: dict[str, Any]) -> None:
    learner.scaler.load_state_dict(extra["scaler"])
    if learner.average is not None:
        for name, kept in learner.average.weights.items():
            kept.copy_(extra["average"][name])


def _encode(value: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def _decode(content: bytes, device: torch.device) -> Any:
    # weights_only: tensors and plain values; a commit cannot run code.
    return torch.load(io.BytesIO(content), map_location=device, weights_only=True)
