"""What a sweep of all-reduces says, and what it predicts for a gradient."""

from __future__ import annotations

import statistics

from filmgate.bench.sync_model import StepShare, bus_bytes_per_second, fit_link, share_of_step
from filmgate.bench.sync_sweep import KIB, MIB, WARM_UP, Sweep
from filmgate.machine.measured import Measure, measure_of
from filmgate.units import format_bytes, format_seconds, format_share

ANCHOR = "nccl-tests, all_reduce_perf"


def sweep_measures(sweep: Sweep) -> list[Measure]:
    """Bus bandwidth at each size, the line through all of them, and the copies around."""
    prefix, ranks = f"all-reduce-{sweep.backend}", sweep.links[0].num_ranks
    warm_up = f"{WARM_UP} all-reduces of the size, and one whose sum is checked"
    conditions = {"ranks": str(ranks), "type": "float32", "between": sweep.device}
    by_size = zip(*(link.exchanges for link in sweep.links), strict=True)
    found = [
        measure_of(
            f"{prefix}-{size_name(turns[0].num_bytes)}", "bytes/s",
            [bus_bytes_per_second(one.num_bytes, one.seconds, ranks) for one in turns],
            definition="Bus bandwidth: bytes of the tensor / seconds * 2 (ranks - 1) / ranks, mean "
            "of up to 20 in a row, until the slowest rank is done.",
            anchor=ANCHOR, warm_up=warm_up, conditions=conditions,
        )
        for turns in by_size
    ]  # fmt: skip
    fits = [fit_link(link.exchanges) for link in sweep.links]
    worst = statistics.median(fit[2] for fit in fits)
    note = f"the line misses a measured size by up to {format_share(worst)}"
    latency = measure_of(
        f"{prefix}-fit-latency", "s", [fit[0] for fit in fits],
        definition="Of t = latency + bytes / rate; least squares of relative errors over sizes.",
        notes=[note], warm_up=warm_up, conditions=conditions,
    )  # fmt: skip
    rate = measure_of(
        f"{prefix}-fit-rate", "bytes/s", [fit[1] for fit in fits],
        definition="Of the same line: bytes of the tensor for each further second.",
        notes=[note], warm_up=warm_up, conditions=conditions,
    )  # fmt: skip
    copies = measure_of(
        f"bucket-copies-{sweep.backend}", "bytes/s",
        [1 / link.copy_seconds_per_byte for link in sweep.links],
        definition="Gradient bytes that one rank copies into a bucket, divides and copies back "
        "in a second, as DDP does; in CPU time where it is a CPU.",
        warm_up="the all-reduces of its repetition", conditions=conditions,
    )  # fmt: skip
    return [*found, latency, rate, copies]


def size_name(num_bytes: int) -> str:
    """``25-MiB``."""
    for unit, size in (("MiB", MIB), ("KiB", KIB)):
        if num_bytes >= size and num_bytes % size == 0:
            return f"{num_bytes // size}-{unit}"
    return f"{num_bytes}-B"


def sweep_fact(sweep: Sweep) -> str:
    """Between whom it was."""
    link = sweep.links[0]
    cores = (
        "" if link.num_cores is None else f", {link.num_cores} cores, {link.threads} threads each"
    )
    return f"{link.num_ranks} ranks on {sweep.device}{cores}; every sum was right"


def fit_sentence(sweep: Sweep) -> str:
    """The line, and how far it misses."""
    latency, rate, worst = fit_link(sweep.link.exchanges)
    return (
        f"{sweep.backend}: an all-reduce between {sweep.link.num_ranks} ranks takes about "
        f"{format_seconds(latency)} and then a second for each {format_bytes(rate)}; this line "
        f"misses single sizes by up to {format_share(worst)}"
    )


def predicted(
    sweep: Sweep, buckets: list[int], step_seconds: float | None
) -> tuple[list[Measure], list[str]]:
    """Figures for a gradient, one for each repetition's all-reduces, and what they mean."""
    total = format_bytes(sum(buckets))
    conditions = {"gradient": total, "backend": sweep.backend, "buckets": str(len(buckets))}
    if step_seconds is not None:
        conditions["computing"] = f"{format_seconds(step_seconds)} a step"
    shares = [share_of_step(link, buckets, step_seconds or 0.0) for link in sweep.links]
    found = [
        measure_of(
            "predicted-exchange", "s", [one.exchange_seconds for one in shares],
            definition="Predicted, not measured: all buckets of the gradient one after another, "
            "with the copies around them, nothing beside it.",
            conditions=conditions,
        )
    ]  # fmt: skip
    middle = share_of_step(sweep.link, buckets, step_seconds or 0.0)
    if step_seconds is None:
        took = format_seconds(middle.exchange_seconds)
        return found, [f"{sweep.backend}: exchanging {total} of gradients takes {took} a step"]
    found += _share_measures(shares, conditions)
    return found, [_share_sentence(sweep, middle, total)]


def _share_measures(shares: list[StepShare], conditions: dict[str, str]) -> list[Measure]:
    found = [
        measure_of(
            "predicted-step-share", "share", [one.share for one in shares],
            definition="Predicted: exchange over computing and exchange, nothing at once.",
            conditions=conditions,
        ),
        measure_of(
            "predicted-step-share-overlapped", "share", [one.overlapped_share for one in shares],
            definition="Predicted: what the exchange adds to a step where each bucket is sent "
            "while the backward pass goes on.",
            conditions=conditions,
        ),
    ]  # fmt: skip
    cores = [one.core_share for one in shares if one.core_share is not None]
    if cores:
        found.append(
            measure_of(
                "predicted-core-share", "share", cores,
                definition="Predicted: CPU time of the exchange over all CPU time of a step; on "
                "cores that are always busy, its share of the step.",
                conditions=conditions,
            )
        )  # fmt: skip
    return found


def _share_sentence(sweep: Sweep, share: StepShare, total: str) -> str:
    core = share.core_share
    of_cores = "" if core is None else f", and {format_share(core)} of its core time"
    return (
        f"{sweep.backend}: exchanging {total} of gradients is predicted to be "
        f"{format_share(share.share)} of a step when nothing hides it, "
        f"{format_share(share.overlapped_share)} beside the backward pass{of_cores}"
    )
