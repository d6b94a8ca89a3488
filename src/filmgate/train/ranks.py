"""The processes that train together, and what they tell each other beside gradients."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import torch
from torch import distributed

from filmgate.errors import UserError
from filmgate.train.rank_lines import RENDEZVOUS

T = TypeVar("T")
WAIT_SECONDS = 600.0
"""The longest that a rank waits for the others; one that is dead is noticed at once on gloo."""


class Ranks:
    """One rank's view of all of them; without others everything is its own."""

    def __init__(
        self,
        rank: int = 0,
        world_size: int = 1,
        local_rank: int = 0,
        group: distributed.ProcessGroup | None = None,
    ) -> None:
        self.group = group
        """What they talk over; None: that of the gradients."""
        self.rank = rank
        self.world_size = world_size
        self.local_rank = local_rank

    @property
    def is_first(self) -> bool:
        """Whether this is the rank that writes."""
        return self.rank == 0

    def exchange(self, value: T) -> list[T]:
        """What every rank gave, in the order of the ranks: plain values and CPU tensors."""
        if self.world_size == 1:
            return [value]
        given: list[Any] = [None] * self.world_size
        distributed.all_gather_object(given, value, group=self.group)
        return given

    def apart(self) -> Ranks:
        """The same ranks with a line of their own, for a thread beside training; all make it."""
        if self.world_size == 1:
            return self
        group = distributed.new_group(
            backend="gloo", timeout=timedelta(seconds=WAIT_SECONDS), use_local_synchronization=False
        )
        return Ranks(self.rank, self.world_size, self.local_rank, group)

    def from_first(self, value: T) -> T:
        """What rank 0 gave; the others' is not looked at."""
        return self.exchange(value)[0]


ALONE = Ranks()


def ranks_of(environment: Mapping[str, str]) -> Ranks:
    """As torchrun or ``filmgate run --ranks`` says it; one rank where nobody does.

    Raises UserError for numbers that do not fit together.
    """
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK")
    found = {name: environment[name] for name in names if name in environment}
    if "WORLD_SIZE" not in found or found["WORLD_SIZE"] == "1":
        return ALONE
    try:
        rank, world_size, local_rank = (int(found[name]) for name in names)
    except (KeyError, ValueError):
        rank, world_size, local_rank = -1, 0, 0
    if not 0 <= rank < world_size:
        raise UserError(
            f"the environment says {found}, which is no rank of several",
            hint="start with `filmgate run --ranks N` or with torchrun",
        )
    return Ranks(rank, world_size, local_rank)


@contextmanager
def open_ranks(device: str) -> Iterator[Ranks]:
    """Meet the other ranks, and part from them at the end; gloo on CPU, NCCL beside it on GPUs.

    Raises UserError for a device that several ranks cannot share, and as ``ranks_of``.
    """
    ranks = ranks_of(os.environ)
    if ranks.world_size == 1:
        yield ranks
        return
    is_cuda = device != "cpu" and torch.cuda.is_available()
    if is_cuda:
        if torch.cuda.device_count() <= ranks.local_rank:
            raise UserError(
                f"rank {ranks.rank} wants GPU {ranks.local_rank}, and there are "
                f"{torch.cuda.device_count()}",
                hint="start as many ranks as there are GPUs on each machine",
            )
        torch.cuda.set_device(ranks.local_rank)
    distributed.init_process_group(
        "cpu:gloo,cuda:nccl" if is_cuda else "gloo",
        init_method=os.environ.get(RENDEZVOUS, "env://"),
        rank=ranks.rank,
        world_size=ranks.world_size,
        timeout=timedelta(seconds=WAIT_SECONDS),
    )
    yield ranks
    # After an error the process ends without: torch 2.13 waits here for ever while the error's
    # frames still hold the model.
    distributed.destroy_process_group()
