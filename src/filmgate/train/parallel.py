"""One model on many ranks: DDP and FSDP2, torch's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.nn.parallel import DistributedDataParallel

from filmgate.errors import UserError
from filmgate.spec import Job
from filmgate.train.ranks import Ranks
from filmgate.train.task import Task

Engine = Literal["none", "ddp", "fsdp2"]


def choose_engine(job: Job, ranks: Ranks) -> Engine:
    """What the job says, or DDP for several ranks. Raises UserError for what does not go."""
    wanted, several = job.train.parallel, ranks.world_size > 1
    if wanted == "auto":
        return "ddp" if several else "none"
    if wanted == "none" and several:
        raise UserError(
            f'parallel is "none" in [train], and there are {ranks.world_size} ranks',
            hint='leave it out, or set parallel = "ddp" or "fsdp2"',
        )
    if wanted == "fsdp2" and several and job.train.precision == "fp16":
        raise UserError(
            'precision "fp16" does not go with parallel = "fsdp2"',
            hint='set precision = "bf16" in [train], or parallel = "ddp"',
        )
    return wanted if several else "none"


def divided(task: Task, engine: Engine, device: torch.device, ranks: Ranks) -> nn.Module:
    """The module that stands for the task's on this rank; with FSDP2 its weights are divided."""
    if engine == "none":
        return task.module
    if engine == "ddp":
        places = [ranks.local_rank] if device.type == "cuda" else None
        return DistributedDataParallel(task.module, device_ids=places)
    mesh = init_device_mesh(device.type, (ranks.world_size,))
    for block in task.blocks():
        fully_shard(block, mesh=mesh)
    fully_shard(task.module, mesh=mesh)
    return task.module


@contextmanager
def exchanging(model: nn.Module, is_last: bool) -> Iterator[None]:
    """Gradients of the backward pass inside go to the other ranks only at the last micro-batch."""
    if isinstance(model, DistributedDataParallel) and not is_last:
        with model.no_sync():
            yield
        return
    if isinstance(model, FSDPModule):
        model.set_requires_gradient_sync(is_last)
    yield
