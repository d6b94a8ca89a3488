"""All-reduces of rising sizes between ranks of this machine, each rank a process of its own."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from filmgate.bench.ask import Ask, Tell
from filmgate.bench.processes import run_together
from filmgate.bench.sync_model import Exchange, Link
from filmgate.bench.sync_rank import Backend, SyncAnswer, SyncRequest
from filmgate.errors import UserError
from filmgate.units import format_bytes
from filmgate.work.cores import num_usable_cores

KIB, MIB = 1 << 10, 1 << 20
SIZES = (8, 512, 32 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB, 25 * MIB, 64 * MIB)
GPU_SIZES = (*SIZES, 256 * MIB)
WARM_UP = 5
REPETITIONS, QUICK_REPETITIONS = 10, 5
DEADLINE_SECONDS = 600.0
TIMEOUT_SECONDS = 120.0
RANK = "filmgate.bench.sync_rank"
LOOPBACK = {"GLOO_SOCKET_IFNAME": "lo", "NCCL_SOCKET_IFNAME": "lo"}
"""Ranks of one machine meet on its loopback interface, whatever its name resolves to."""


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """All-reduces of rising sizes on one backend."""

    backend: Backend
    device: str
    links: list[Link]
    """One for each repetition."""

    @property
    def link(self) -> Link:
        """Of the medians."""
        return _median_link(self.links)


def run_sweep(backend: Backend, ask: Ask, tell: Tell) -> Sweep:
    """Start the ranks and put their answers together. Raises as ``run_together``, ``sweep_of``."""
    ranks = ask.ranks or (torch.cuda.device_count() if backend == "nccl" else 2)
    sizes = GPU_SIZES if backend == "nccl" else SIZES
    cores = num_usable_cores()
    threads = max(1, cores // ranks)
    repetitions = QUICK_REPETITIONS if ask.quick else REPETITIONS
    request = SyncRequest(
        backend=backend, num_ranks=ranks, sizes=list(sizes), warm_up=WARM_UP,
        repetitions=repetitions, threads=threads, timeout_seconds=TIMEOUT_SECONDS,
    )  # fmt: skip
    answers = run_together(
        RANK,
        request,
        SyncAnswer,
        num_processes=ranks,
        deadline_seconds=DEADLINE_SECONDS,
        environment=LOOPBACK,
        on_lines=lambda lines: tell(lines, len(sizes) * repetitions, f"all-reduce, {backend}"),
    )
    return sweep_of(request, answers, cores)


def sweep_of(request: SyncRequest, answers: Sequence[SyncAnswer], num_cores: int) -> Sweep:
    """The ranks' answers together: an exchange ends with its slowest rank.

    Raises UserError when a sum was wrong: figures of such an exchange mean nothing.
    """
    wrong = sorted({size for answer in answers for size in answer.wrong_sizes})
    if wrong:
        raise UserError(
            f"{request.backend} summed wrongly at {', '.join(map(format_bytes, wrong))}",
            hint="gradients would be wrong as well; check driver, network and torch",
        )
    on_cpu = request.backend == "gloo"
    links = [
        Link(
            num_ranks=request.num_ranks,
            exchanges=[
                Exchange(
                    num_bytes=size,
                    seconds=max(answer.seconds[place][turn] for answer in answers),
                    core_seconds=statistics.mean(a.core_seconds[place][turn] for a in answers)
                    if on_cpu
                    else 0.0,
                )
                for place, size in enumerate(request.sizes)
            ],
            copy_seconds_per_byte=max(answer.copy_seconds_per_byte[turn] for answer in answers),
            num_cores=num_cores if on_cpu else None,
            threads=request.threads,
        )
        for turn in range(request.repetitions)
    ]
    return Sweep(backend=request.backend, device=answers[0].device, links=links)


def _median_link(links: Sequence[Link]) -> Link:
    middle = statistics.median
    first = links[0]
    return Link(
        num_ranks=first.num_ranks,
        exchanges=[
            Exchange(
                num_bytes=turns[0].num_bytes,
                seconds=middle(one.seconds for one in turns),
                core_seconds=middle(one.core_seconds for one in turns),
            )
            for turns in zip(*(link.exchanges for link in links), strict=True)
        ],
        copy_seconds_per_byte=middle(link.copy_seconds_per_byte for link in links),
        num_cores=first.num_cores,
        threads=first.threads,
    )
