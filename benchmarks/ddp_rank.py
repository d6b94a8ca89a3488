"""One rank of a real DDP run, timed with and without its exchange: what predictions are held to.

    python -m benchmarks.ddp_rank FOLDER RANK

Steps with the exchange and steps under ``no_sync`` take turns, after a few of each that do not
count, because the second step of DDP builds its buckets anew.
"""

from __future__ import annotations

import contextlib
import sys
import time
from datetime import timedelta
from pathlib import Path

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

from filmgate.bench.processes import answer_file, request_file
from filmgate.records import Record, read_record, write_record

WARM_UP = 3


class DdpRequest(Record, frozen=True):
    """A model of linear layers, and how long it is timed."""

    num_ranks: int
    width: int
    depth: int
    batch: int
    steps: int
    """Of each kind, that count."""
    timeout_seconds: float = 120.0


class DdpAnswer(Record, frozen=True):
    """Seconds of each step, with the exchange and without, on both clocks."""

    gradient_bytes: int
    wall_with: list[float]
    wall_without: list[float]
    core_with: list[float]
    """CPU time of this rank's process."""
    core_without: list[float]


def main(folder: str, rank: int) -> None:
    """Time the steps, and leave the answer."""
    request = read_record(request_file(Path(folder)), DdpRequest)
    torch.set_num_threads(1)
    distributed.init_process_group(
        "gloo",
        init_method=f"file://{folder}/store",
        rank=rank,
        world_size=request.num_ranks,
        timeout=timedelta(seconds=request.timeout_seconds),
    )
    try:
        answer = measure(request)
    finally:
        distributed.destroy_process_group()
    write_record(answer_file(Path(folder), rank), answer)


def measure(request: DdpRequest) -> DdpAnswer:
    """Both kinds of steps, in turns."""
    torch.manual_seed(0)
    layers = [
        layer
        for _ in range(request.depth)
        for layer in (nn.Linear(request.width, request.width), nn.GELU())
    ]
    model = DistributedDataParallel(nn.Sequential(*layers))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    inputs = torch.randn(request.batch, request.width)
    times: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    for _ in range(WARM_UP + request.steps):
        for exchanges in (True, False):
            distributed.barrier()
            wall, core = time.perf_counter(), time.process_time()
            with contextlib.nullcontext() if exchanges else model.no_sync():
                optimizer.zero_grad(set_to_none=True)
                torch.autograd.backward(model(inputs).square().mean())
                optimizer.step()
            times[exchanges].append((time.perf_counter() - wall, time.process_time() - core))
    counted = {kind: found[WARM_UP:] for kind, found in times.items()}
    return DdpAnswer(
        gradient_bytes=sum(p.numel() * p.element_size() for p in model.parameters()),
        wall_with=[wall for wall, _ in counted[True]],
        wall_without=[wall for wall, _ in counted[False]],
        core_with=[core for _, core in counted[True]],
        core_without=[core for _, core in counted[False]],
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
