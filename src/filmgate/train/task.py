"""What is trained, as the loop knows it: a module, its loss, and how it is judged.

A model factory of a job returns a ``Task``, or a plain module that gives logits, of which
``filmgate.train.classification`` makes one.

B clips, T frames, C = 3, H, W.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from filmgate.catalog import Catalog
from filmgate.feed import Batch
from filmgate.records import digest_bytes


@dataclass(frozen=True, kw_only=True)
class Score:
    """What the held-out clips say of the model."""

    loss: float
    """Mean over the clips."""
    num_clips: int
    """Clips behind it, at least one."""
    metrics: dict[str, float] = field(default_factory=dict)
    """Name -> value of what else was measured, for example ``mAP``."""
    num_clips_K: list[int] | None = None
    """Clips of each class; None where clips have no class."""
    num_right_K: list[int] | None = None
    """How many of them were classified right; None likewise."""

    @property
    def accuracy(self) -> float | None:
        """Share classified right, 0..1."""
        return None if self.num_right_K is None else sum(self.num_right_K) / self.num_clips

    @property
    def chance(self) -> float | None:
        """Share of the most frequent class: what always guessing it would score."""
        return None if self.num_clips_K is None else max(self.num_clips_K) / self.num_clips


class Meter(ABC):
    """Judges the held-out clips, batch by batch; one for each evaluation and rank."""

    @abstractmethod
    def add(self, module: nn.Module, batch: Batch) -> None:
        """Judge the clips of a batch whose ``valid_B`` is set, one at least; no gradients."""

    @abstractmethod
    def found(self) -> Any:
        """What was found so far, as plain values and CPU tensors: it goes to the other ranks."""

    @abstractmethod
    def score(self, found: list[Any]) -> Score | None:
        """The score over what all ranks found, in the order of the ranks; None without clips."""


class Task(ABC):
    """A module, its loss, and how it is judged.

    ``name`` is the factory's, for messages. The optimizer gets the parameters of ``module`` that
    require gradients: freeze the others in the factory, as an adapter (LoRA) does.
    """

    keeps_frozen = True
    """Whether commits hold frozen parameters too. False where the factory reads them from a file
    again: commits are then as small as what is trained."""

    def __init__(self, name: str, module: nn.Module) -> None:
        self.name = name
        self.module = module

    @abstractmethod
    def inputs(self, batch: Batch) -> Any:
        """What ``loss`` takes, from a batch whose frames and labels are on the device.

        Only clips whose ``valid_B`` is set count, and there is one at least. A batch with an
        ``augmentation`` is to be augmented here.
        """

    @abstractmethod
    def loss(self, module: nn.Module, inputs: Any) -> torch.Tensor:
        """The mean loss over the clips, a scalar.

        ``module`` is that of the task, or what stands for it on many ranks: call it, once, and no
        method of it. Mixed precision is already on. Draw noise with ``generators``.
        """

    @abstractmethod
    def meter(self) -> Meter:
        """A new meter for one evaluation."""

    def begin(self, catalog: Catalog) -> None:  # noqa: B027 - most tasks need nothing
        """Called once on every rank, before the first batch: for what only the catalog knows."""

    def finish(self, folder: Path) -> list[Path]:
        """Write into the run folder what the model leaves beside the commits, and return its paths.

        Called once, on the first rank, after the evaluation, with the weights that were judged.
        """
        return []

    def blocks(self) -> list[nn.Module]:
        """Parts of the module that are computed again in the backward pass and divided over ranks
        one by one: the members of the longest list of alike modules in it."""
        lists = [
            list(part)
            for part in self.module.modules()
            if isinstance(part, nn.ModuleList | nn.Sequential)
        ]
        alike = [blocks for blocks in lists if len({type(block) for block in blocks}) == 1]
        return max(alike, key=len, default=[])


def generators(batch: Batch, seed: int) -> list[torch.Generator]:
    """(B,) CPU generators, each a pure function of the seed and the number of the clip's sample.

    What is drawn from them is the same for any number of ranks and micro-batches, and after a
    resume; the global generator's draws are not.
    """
    return [
        torch.Generator().manual_seed(_number(f"{seed} {number}"))
        for number in batch.sample_numbers
    ]


def _number(text: str) -> int:
    """A 60-bit number of a text."""
    return int(digest_bytes(text.encode()).removeprefix("blake3:")[:15], 16)
