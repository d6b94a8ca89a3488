"""Model and optimizer of one run, and their way into a commit and back."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from filmgate.catalog.augmentation import is_mixed
from filmgate.errors import UserError
from filmgate.feed.batch import DigestPart
from filmgate.feed.failures import MAX_LISTED
from filmgate.feed.stats import Skipped
from filmgate.records import Record
from filmgate.spec import Job
from filmgate.train.average import WeightAverage
from filmgate.train.classification import Classification
from filmgate.train.models import build_model
from filmgate.train.parallel import Engine, choose_engine, divided
from filmgate.train.ranks import ALONE, Ranks
from filmgate.train.repeatable import random_state, restore_random_state
from filmgate.train.storage import load_tensors, tensor_sizes
from filmgate.train.task import Task
from filmgate.units import counted

Precision = Literal["fp32", "bf16", "fp16"]


@dataclass(frozen=True, kw_only=True)
class Taken:
    """What one rank tells the others of the batch that it is to learn from."""

    num_clips: int
    """Usable clips."""
    digest_parts: tuple[DigestPart, ...]
    """Of its clips, in order."""
    num_skipped: int
    """Attempts that failed since its feed was opened."""
    skipped: list[Skipped]
    """The first of them."""
    num_padded: int
    """Clips that were padded since then."""
    is_commit_due: bool
    """Whether it is time for a commit after this step; the first rank decides."""


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

    def counts_and(self, everyone: list[Taken]) -> dict[str, Any]:
        """The three counts, with those of the feeds that were opened from here on added."""
        listed = [one for taken in everyone for one in taken.skipped]
        return {
            "num_skipped": self.num_skipped + sum(taken.num_skipped for taken in everyone),
            "skipped": [*self.skipped, *listed][:MAX_LISTED],
            "num_padded": self.num_padded + sum(taken.num_padded for taken in everyone),
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
    engine: Engine
    """What several ranks do."""
    ranks: Ranks

    @property
    def num_parameters(self) -> int:
        """Trainable numbers."""
        return sum(parameter.numel() for parameter in self.trained)

    def autocast(self) -> torch.autocast:
        """What the forward pass runs in."""
        dtype = torch.float16 if self.precision == "fp16" else torch.bfloat16
        return torch.autocast(self.device.type, dtype, enabled=self.precision != "fp32")


def make_learner(job: Job, num_classes: int, device: torch.device, ranks: Ranks = ALONE) -> Learner:
    """A fresh model with AdamW, the same on every rank. Raises UserError as ``make_task``."""
    check_micro_batches(job, ranks.world_size)
    train, engine = job.train, choose_engine(job, ranks)
    task = make_task(job, num_classes)
    if engine == "fsdp2" and type(task).finish is not Task.finish:
        raise UserError(
            f'parallel = "fsdp2" does not go with {task.name}, which writes whole weights at the '
            "end of a run",
            hint='set parallel = "ddp" in [train]',
        )
    task.module.to(device)
    if train.checkpointing == "block":
        checkpoint_blocks(task)
    if train.compile:
        task.module.compile()
    if not any(parameter.requires_grad for parameter in task.module.parameters()):
        raise UserError(
            f"the model of {task.name} has no parameter to train",
            hint="leave requires_grad on for at least one parameter",
        )
    model = divided(task, engine, device, ranks)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
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
        engine=engine,
        ranks=ranks,
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


def tensors_of(learner: Learner) -> dict[str, torch.Tensor]:
    """Name -> every tensor that a commit holds: weights, optimizer, average; this rank's part."""
    module, optimizer = learner.task.module, learner.optimizer
    named = dict(module.named_parameters())
    frozen = set() if learner.task.keeps_frozen else _frozen(named)
    tensors = {
        f"model/{name}": value.detach()
        for name, value in module.state_dict().items()
        if isinstance(value, torch.Tensor) and name not in frozen
    }
    for name, parameter in named.items():
        for key, value in optimizer.state.get(parameter, {}).items():
            tensors[f"optimizer/{name}/{key}"] = value
    if learner.average is not None:
        tensors |= {f"average/{name}": value for name, value in learner.average.weights.items()}
    return tensors


def _frozen(named: Mapping[str, nn.Parameter]) -> set[str]:
    return {name for name, parameter in named.items() if not parameter.requires_grad}


def pack(learner: Learner, progress: Progress) -> dict[str, bytes]:
    """The small parts of a commit that this rank writes: file name -> content."""
    own = {f"random-{learner.ranks.rank}.pt": _encode(random_state())}
    if not learner.ranks.is_first:
        return own
    return own | {
        "scaler.pt": _encode(learner.scaler.state_dict()),
        "progress.json": msgspec.json.format(msgspec.json.encode(progress), indent=2),
    }


def unpack(learner: Learner, folder: Path, parts: Mapping[str, bytes]) -> Progress:
    """Put a commit into ``learner`` and the generators; the progress it stands for.

    ``folder`` holds the tensors, ``parts`` the rest, checked. With another number of ranks than it
    was made on, generators beside those of the samples are seeded anew. Raises UserError when it
    is of another model.
    """
    try:
        _make_optimizer_state(learner, folder)
        load_tensors(folder, tensors_of(learner), learner.ranks)
    except ValueError as error:
        raise UserError(
            f"the commit does not fit the model of {learner.task.name}: {error}",
            hint="has its code changed since? restore it, or choose another run folder",
        ) from None
    if learner.scaler.is_enabled():
        learner.scaler.load_state_dict(_decode(parts["scaler.pt"], learner.device))
    own = f"random-{learner.ranks.rank}.pt"
    if own in parts and f"random-{learner.ranks.world_size}.pt" not in parts:
        restore_random_state(_decode(parts[own], torch.device("cpu")))
    return msgspec.json.decode(parts["progress.json"], type=Progress)


def _make_optimizer_state(learner: Learner, folder: Path) -> None:
    """Tensors for what the commit has; an optimizer makes them at its first step."""
    named = dict(learner.task.module.named_parameters())
    for entry, size in tensor_sizes(folder).items():
        table, _, rest = entry.partition("/")
        name, _, key = rest.rpartition("/")
        if table != "optimizer" or name not in named:
            continue
        like = named[name]
        empty = torch.zeros_like(like) if size == tuple(like.shape) else torch.zeros(size)
        learner.optimizer.state[like][key] = empty


def _encode(value: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def _decode(content: bytes, device: torch.device) -> Any:
    # weights_only: tensors and plain values; a commit cannot run code.
    return torch.load(io.BytesIO(content), map_location=device, weights_only=True)
