"""One rank that times all-reduces: ``python -m filmgate.bench.sync_rank FOLDER RANK``."""

from __future__ import annotations

import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Literal

import torch
from torch import distributed

from filmgate.bench.processes import answer_file, request_file, tell_line
from filmgate.bench.sync_model import BUCKET_BYTES
from filmgate.records import Record, read_record, write_record

Backend = Literal["gloo", "nccl"]
FLOAT_BYTES = 4
PIECE_BYTES = 1 << 20
"""Of a gradient that is copied into a bucket."""
MOST_ITERATIONS = 20
ITERATION_BYTES = 64 << 20
"""About so much is exchanged in one repetition of a size."""


class SyncRequest(Record, frozen=True):
    """What ranks are to time."""

    backend: Backend
    """``nccl`` between GPUs, ``gloo`` between CPU processes."""
    num_ranks: int
    """Processes."""
    sizes: list[int]
    """Bytes, multiples of 4."""
    warm_up: int
    """All-reduces of a size before each of its repetitions."""
    repetitions: int
    """Of each size; sizes take turns."""
    threads: int
    """Of each rank's computing."""
    timeout_seconds: float
    """After which a rank gives up on the others."""


class SyncAnswer(Record, frozen=True):
    """What one rank found."""

    seconds: list[list[float]]
    """For each size, each repetition: of one all-reduce."""
    core_seconds: list[list[float]]
    """CPU time of this process likewise."""
    copy_seconds_per_byte: list[float]
    """For each repetition: gradients into a bucket, divided, and back."""
    wrong_sizes: list[int]
    """Sizes whose sums were not right."""
    device: str
    """What the tensors lay on."""


def main(folder: str, rank: int) -> None:
    """Time all sizes, and leave the answer."""
    request = read_record(request_file(Path(folder)), SyncRequest)
    torch.set_num_threads(request.threads)
    device = torch.device("cuda", rank) if request.backend == "nccl" else torch.device("cpu")
    if device.type == "cuda":
        torch.cuda.set_device(device)
    distributed.init_process_group(
        request.backend,
        init_method=f"file://{folder}/store",
        rank=rank,
        world_size=request.num_ranks,
        timeout=timedelta(seconds=request.timeout_seconds),
        device_id=device if device.type == "cuda" else None,
    )
    try:
        answer = measure(request, device)
    finally:
        distributed.destroy_process_group()
    write_record(answer_file(Path(folder), rank), answer)


def measure(request: SyncRequest, device: torch.device) -> SyncAnswer:
    """Check every size once, then time all of them in turns."""
    wrong = [size for size in request.sizes if not is_right(size, device)]
    seconds: list[list[float]] = [[] for _ in request.sizes]
    core_seconds: list[list[float]] = [[] for _ in request.sizes]
    copies: list[float] = []
    for _ in range(request.repetitions):
        for place, size in enumerate(request.sizes):
            wall, core = time_all_reduce(size, device, request.warm_up)
            seconds[place].append(wall)
            core_seconds[place].append(core)
            tell_line()
        distributed.barrier()
        copies.append(time_copies(device, request.num_ranks))
    return SyncAnswer(
        seconds=seconds,
        core_seconds=core_seconds,
        copy_seconds_per_byte=copies,
        wrong_sizes=wrong,
        device=torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
    )


def is_right(num_bytes: int, device: torch.device) -> bool:
    """Whether the sum over ranks is exact; small whole numbers leave no rounding."""
    rank, ranks = distributed.get_rank(), distributed.get_world_size()
    pattern = torch.arange(num_bytes // FLOAT_BYTES, device=device).remainder(7).float()
    summed = pattern + rank
    distributed.all_reduce(summed)
    return torch.equal(summed, pattern * ranks + ranks * (ranks - 1) / 2)


def time_all_reduce(num_bytes: int, device: torch.device, warm_up: int) -> tuple[float, float]:
    """Wall and CPU seconds of one, mean over several back to back, as nccl-tests times them."""
    iterations = max(2, min(MOST_ITERATIONS, ITERATION_BYTES // num_bytes))
    tensor = torch.zeros(num_bytes // FLOAT_BYTES, device=device)
    for _ in range(warm_up):
        distributed.all_reduce(tensor)
    distributed.barrier()
    _finish(device)
    wall, core = time.perf_counter(), time.process_time()
    for _ in range(iterations):
        distributed.all_reduce(tensor)
    _finish(device)
    wall, core = time.perf_counter() - wall, time.process_time() - core
    return wall / iterations, core / iterations


def time_copies(device: torch.device, num_ranks: int) -> float:
    """Seconds for each byte that DDP copies into a bucket, divides, and copies back.

    On a CPU in CPU time. A gradient was written just before, so it is written here as well.
    """
    count = BUCKET_BYTES // PIECE_BYTES
    gradients = [torch.ones(PIECE_BYTES // FLOAT_BYTES, device=device) for _ in range(count)]
    bucket = torch.ones(BUCKET_BYTES // FLOAT_BYTES, device=device)
    places = torch.split(bucket, PIECE_BYTES // FLOAT_BYTES)
    spent = 0.0
    for gradient, place in zip(gradients, places, strict=True):
        gradient.fill_(1.0)
        began = _clock(device)
        torch.mul(gradient, 1 / num_ranks, out=place)
        spent += _clock(device) - began
    began = _clock(device)
    for gradient, place in zip(gradients, places, strict=True):
        gradient.copy_(place)
    return (spent + _clock(device) - began) / BUCKET_BYTES


def _clock(device: torch.device) -> float:
    _finish(device)
    return time.perf_counter() if device.type == "cuda" else time.thread_time()


def _finish(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
