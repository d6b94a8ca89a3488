"""Model and optimizer of one run, and their way into a commit and back."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import torch
from torch import nn

from filmgate.errors import UserError
from filmgate.feed.failures import MAX_LISTED
from filmgate.feed.stats import FeedStats, Skipped
from filmgate.records import Record
from filmgate.spec import Job
from filmgate.train.models import build_model
from filmgate.train.repeatable import random_state, restore_random_state

WARM_UP_SHARE = 0.1
"""Share of the steps in which the learning rate climbs to its peak."""
FINAL_SHARE = 0.01
"""Learning rate of the last step as a share of the peak."""


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

    factory: str
    """Name that the model was made by, for messages."""
    num_classes: int
    """K: logits that the model gives for each clip."""
    model: nn.Module
    optimizer: torch.optim.Optimizer
    device: torch.device

    @property
    def num_parameters(self) -> int:
        """Trainable numbers."""
        return sum(p.numel() for p in self.model.parameters() if p.requires_grad)


def make_learner(job: Job, num_classes: int, device: torch.device) -> Learner:
    """A fresh model with AdamW. Raises UserError as ``build_model``."""
    factory = job.model.factory
    model = build_model(factory, job, num_classes).to(device)
    parameters = [p for p in model.parameters() if p.requires_grad]
    if not parameters:
        raise UserError(
            f"the model of {factory} has no parameter to train",
            hint="leave requires_grad on for at least one parameter",
        )
    optimizer = torch.optim.AdamW(
        parameters, lr=job.train.learning_rate, weight_decay=job.train.weight_decay
    )
    return Learner(
        factory=factory, num_classes=num_classes, model=model, optimizer=optimizer, device=device
    )


def learning_rate_at(step: int, job: Job) -> float:
    """The rate of update ``step`` (from 1): a line up to the peak, then half a cosine down.

    A pure function of the step, so there is no scheduler whose state could be lost.
    """
    steps, peak = job.train.steps, job.train.learning_rate
    warm_up = max(1, round(WARM_UP_SHARE * steps))
    if step <= warm_up:
        return peak * (step / warm_up)
    place = (step - warm_up) / (steps - warm_up)
    return peak * (FINAL_SHARE + (1 - FINAL_SHARE) * (1 + math.cos(math.pi * place)) / 2)


def pack(learner: Learner, progress: Progress) -> dict[str, bytes]:
    """The parts of a commit: file name -> content."""
    return {
        "model.pt": _encode(learner.model.state_dict()),
        "optimizer.pt": _encode(learner.optimizer.state_dict()),
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
    except (RuntimeError, ValueError) as error:
        raise UserError(
            f"the commit does not fit the model of {learner.factory}: {error}",
            hint="has its code changed since? restore it, or choose another run folder",
        ) from None
    restore_random_state(_decode(parts["random.pt"], torch.device("cpu")))
    return msgspec.json.decode(parts["progress.json"], type=Progress)


def _encode(value: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def _decode(content: bytes, device: torch.device) -> Any:
    # weights_only: tensors and plain values; a commit cannot run code.
    return torch.load(io.BytesIO(content), map_location=device, weights_only=True)
