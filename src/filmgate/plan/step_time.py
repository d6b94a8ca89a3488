"""How long a step takes, within bounds, and what bounds it.

Every rate is what was measured on the machine where there is such a figure, otherwise the table's,
and says which. Source of the shares: mamf-finder (stas00/ml-engineering) for matrices against the
printed rate, the FlashAttention papers for attention.
"""

from __future__ import annotations

from typing import Literal

from filmgate.plan.cards import Card
from filmgate.plan.interval import Basis, Interval, exactly
from filmgate.plan.step_work import StepWork
from filmgate.records import Record

Part = Literal["compute", "memory bandwidth", "host link", "gradient sync", "feed"]
PRINTED_TO_MATMUL = Interval(low=0.5, high=0.88)
"""Best measured rate of BF16 matrices over the printed one: MI300X 0.51, H100 0.80, A100 0.87."""
LINEAR_SHARE = Interval(low=0.6, high=0.95)
"""A model's matrix products over the best matrix product. Assumed: shapes and launches cost."""
ATTENTION_SHARE = Interval(low=0.4, high=0.9)
"""Attention over the best matrix product: 0.48 (FlashAttention-2 on H100), 0.7 to 0.8 (on A100),
0.72 to 0.93 (FlashAttention-3 on H100)."""
BANDWIDTH_SHARE = Interval(low=0.75, high=0.95)
"""Measured bandwidth over the printed one, as BabelStream and its like find it."""
HOST_SHARE = Interval(low=0.5, high=0.9)
"""Copies over the link's rate: pageable memory 0.5, pinned 0.9. Assumed."""
FP32_SLOWER = Interval(low=2.0, high=16.0)
"""BF16 over FP32: 2 with TF32, 16 without (A100: 312, 156, 19.5 TFLOP/s)."""


class Rate(Record, frozen=True):
    """A rate with its origin."""

    per_second: Interval
    """Operations or bytes."""
    basis: Basis
    """``measured``: on the machine that is planned for."""
    source: str
    """Who says so, or which shares were assumed."""


class Rates(Record, frozen=True):
    """What a card gives."""

    matmul: Rate | None
    """Largest rate of matrix products in the job's precision, operations a second."""
    memory: Rate | None
    """Bytes a second of its own memory."""
    host: Rate | None
    """Bytes a second between it and the host, each way."""


class StepPart(Record, frozen=True):
    """One thing that takes time."""

    name: Part
    """Which."""
    seconds: Interval
    """By itself, as if nothing else took time."""
    basis: Basis
    """Where its rate comes from."""
    source: str
    """In words."""


class StepTime(Record, frozen=True):
    """A step on one card."""

    seconds: Interval
    """Low: everything overlaps and the slowest part alone counts; high: nothing overlaps."""
    parts: list[StepPart]
    """The longest first, by the middle of its bounds."""
    binds: Part
    """The part that takes longest."""
    surely_binds: bool
    """Whether its lower bound lies above the others' upper ones."""
    basis: Basis
    """``measured`` where all rates were; ``told`` where it is calibrated on a published time."""
    unknown: dict[str, str]
    """Part that could not be computed -> why."""


def rates_of(card: Card, *, precision: str, measured: Rates | None = None) -> Rates:
    """Rates of a card: measured ones first, then the table's."""
    told = measured or Rates(matmul=None, memory=None, host=None)
    return Rates(
        matmul=told.matmul or _matmul(card, precision),
        memory=told.memory
        or _shared(card.memory_bytes_per_second, BANDWIDTH_SHARE, "printed bandwidth"),
        host=told.host or _shared(card.host_bytes_per_second, HOST_SHARE, "printed link rate"),
    )


def step_time(
    work: StepWork,
    rates: Rates,
    *,
    sync_seconds: Interval | None = None,
    supply_clips_per_second: Interval | None = None,
) -> StepTime | None:
    """The step's time; None where no rate of computing is known."""
    if rates.matmul is None:
        return None
    parts, unknown = [_compute(work, rates.matmul)], {}
    for name, rate, moved in (
        ("memory bandwidth", rates.memory, work.moved_bytes),
        ("host link", rates.host, exactly(work.host_bytes)),
    ):
        if rate is None:
            unknown[name] = "the table knows no rate of this card"
        elif moved.high > 0:
            parts.append(_part(name, moved.over(rate.per_second), rate))
    if sync_seconds is not None and sync_seconds.high > 0:
        parts.append(
            StepPart(name="gradient sync", seconds=sync_seconds, basis="derived", source="table")
        )
    ours = _together(parts)
    if supply_clips_per_second is not None:
        late = exactly(float(work.clips)).over(supply_clips_per_second)
        parts.append(StepPart(name="feed", seconds=late, basis="measured", source="feed bench"))
        ours = Interval(low=max(ours.low, late.low), high=max(ours.high, late.high))
    parts.sort(key=lambda part: part.seconds.middle, reverse=True)
    return StepTime(
        seconds=ours,
        parts=parts,
        binds=parts[0].name,
        surely_binds=all(part.seconds.high < parts[0].seconds.low for part in parts[1:]),
        basis=_basis(parts),
        unknown=unknown,
    )


def step_seconds_on(seconds_on_one: float, *, cards: int, efficiency: float) -> float:
    """A step of the same global batch divided over cards, at a given scaling efficiency."""
    return seconds_on_one / (cards * efficiency if cards > 1 else 1.0)


def compute_seconds(work: StepWork, matmul_per_second: Interval) -> Interval:
    """Computing alone: attention and the other products at their shares of the best rate."""
    linear = exactly(work.linear_flops).over(matmul_per_second.times(LINEAR_SHARE))
    if not work.attention_flops:
        return linear
    attention = exactly(work.attention_flops).over(matmul_per_second.times(ATTENTION_SHARE))
    return linear.plus(attention)


def _compute(work: StepWork, rate: Rate) -> StepPart:
    source = f"{rate.source}; products at {LINEAR_SHARE.low:g} to {LINEAR_SHARE.high:g}, "
    source += f"attention at {ATTENTION_SHARE.low:g} to {ATTENTION_SHARE.high:g} of it"
    return StepPart(
        name="compute",
        seconds=compute_seconds(work, rate.per_second),
        basis=rate.basis,
        source=source,
    )


def _part(name: str, seconds: Interval, rate: Rate) -> StepPart:
    part: Part = "host link" if name == "host link" else "memory bandwidth"
    return StepPart(name=part, seconds=seconds, basis=rate.basis, source=rate.source)


def _together(parts: list[StepPart]) -> Interval:
    return Interval(
        low=max(part.seconds.low for part in parts), high=sum(part.seconds.high for part in parts)
    )


def _basis(parts: list[StepPart]) -> Basis:
    found = {part.basis for part in parts if part.name != "gradient sync"}
    return found.pop() if len(found) == 1 else "derived"


def _matmul(card: Card, precision: str) -> Rate | None:
    if card.matmul_flops_per_second is not None:
        rate = exactly(card.matmul_flops_per_second)
        source = f"table: {card.figures['matmul_bf16'].source}"
    elif card.bf16_flops_per_second is not None:
        rate = exactly(card.bf16_flops_per_second).times(PRINTED_TO_MATMUL)
        share = f"{PRINTED_TO_MATMUL.low:g} to {PRINTED_TO_MATMUL.high:g}"
        source = f"table: {share} of the printed rate"
    else:
        return None
    if precision == "fp32":
        rate = rate.over(FP32_SLOWER)
        source += ", FP32 2 to 16 times slower than BF16"
    return Rate(per_second=rate, basis="table", source=source)


def _shared(printed: float | None, share: Interval, what: str) -> Rate | None:
    if printed is None:
        return None
    source = f"table: {share.low:g} to {share.high:g} of the {what}"
    return Rate(per_second=exactly(printed).times(share), basis="table", source=source)
