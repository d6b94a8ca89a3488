"""``filmgate bench sync``: all-reduce between ranks, and what a training step pays for it."""

from __future__ import annotations

import torch
from torch import distributed

from filmgate.bench.ask import Ask, Tell
from filmgate.bench.sync_figures import fit_sentence, predicted, sweep_fact, sweep_measures
from filmgate.bench.sync_model import bucket_sizes, even_buckets
from filmgate.bench.sync_rank import Backend
from filmgate.bench.sync_sweep import run_sweep
from filmgate.errors import UserError
from filmgate.machine.measured import BenchPart
from filmgate.units import format_bytes

MOST_RANKS = 64


def bench_sync(ask: Ask, tell: Tell) -> BenchPart:
    """Bus bandwidth by size, latency, and the predicted share of a step that exchanges gradients.

    Raises UserError for ranks or a device that cannot be, WorkError and DeadlineError for ranks
    that fail.
    """
    backends, unknown = choose_backends(ask)
    if not backends:
        return BenchPart(
            name="sync", status="not present", why="; ".join(unknown.values()), unknown=unknown
        )
    sweeps = [run_sweep(backend, ask, tell) for backend in backends]
    measures = [measure for sweep in sweeps for measure in sweep_measures(sweep)]
    facts = {f"{sweep.backend}": sweep_fact(sweep) for sweep in sweeps}
    says = [fit_sentence(sweep) for sweep in sweeps]
    buckets = _buckets(ask)
    if buckets:
        more_measures, more = predicted(sweeps[0], buckets, ask.step_seconds)
        measures += more_measures
        says = [*more, *says]
        facts["buckets"] = ", ".join(format_bytes(size) for size in buckets[:8]) + (
            f" and {len(buckets) - 8} more" if len(buckets) > 8 else ""
        )
        if ask.step_seconds is None:
            unknown["predicted-step-share"] = "how long a step computes was not told: --step-ms"
    else:
        unknown["predicted-step-share"] = "no gradient was told: --gradient-bytes or --for"
    return BenchPart(
        name="sync", status="measured", measures=measures, facts=facts, says=says, unknown=unknown
    )


def choose_backends(ask: Ask) -> tuple[list[Backend], dict[str, str]]:
    """What is measured, the one that trains first, and why the other one is not."""
    num_gpus = torch.cuda.device_count() if distributed.is_nccl_available() else 0
    if ask.ranks is not None and not 2 <= ask.ranks <= MOST_RANKS:
        raise UserError(f"{ask.ranks} ranks", hint=f"an exchange takes 2 to {MOST_RANKS}")
    if ask.device is not None and ask.device.partition(":")[0] not in ("cpu", "cuda"):
        raise UserError(f"no device {ask.device}", hint="give cpu or cuda, or leave --device out")
    ranks = ask.ranks or 2
    if ask.device is None or ask.device.startswith("cuda"):
        why = f"NCCL needs {ranks} GPUs, torch {torch.__version__} sees {num_gpus}"
        nccl: list[Backend] = ["nccl"] if num_gpus >= ranks else []
        unknown = {} if nccl else {"all-reduce-nccl": why}
        gloo: list[Backend] = ["gloo"] if ask.device is None else []
        return nccl + gloo, unknown
    return ["gloo"], {"all-reduce-nccl": f"device {ask.device} was asked for"}


def _buckets(ask: Ask) -> list[int]:
    if ask.parameter_bytes:
        return bucket_sizes(ask.parameter_bytes)
    return even_buckets(ask.gradient_bytes) if ask.gradient_bytes else []
