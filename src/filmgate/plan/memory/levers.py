"""What would lower the peak, by how much, and what it costs; and the largest batch for a card."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec.structs import replace

from filmgate.plan.memory.estimate import MemoryEstimate, verdict
from filmgate.plan.request import PlanRequest
from filmgate.records import Record

EstimateOf = Callable[[PlanRequest], MemoryEstimate]
MOST_BATCH = 4096
"""Where the search for a batch ends."""


class Lever(Record, frozen=True):
    """One change of the job and what it would do."""

    change: str
    """The keys of [plan] or [deliverable] to set."""
    saves_bytes: int
    """Allocated bytes less; never below 1, as what saves nothing is left out."""
    reserved_high_bytes: int
    """What the peak would be at most."""
    trades: str
    """What is given for it."""


def levers(request: PlanRequest, estimate_of: EstimateOf) -> list[Lever]:
    """Changes that save memory, the largest saving first."""
    now = estimate_of(request)
    found = []
    for change, trades, values in _changes(request):
        then = estimate_of(replace(request, **values))
        saves = now.allocated_bytes - then.allocated_bytes
        if saves > 0:
            found.append(
                Lever(
                    change=change, saves_bytes=saves, trades=trades,
                    reserved_high_bytes=then.reserved_high_bytes,
                )
            )  # fmt: skip
    return sorted(found, key=lambda lever: -lever.saves_bytes)


def largest_batch(request: PlanRequest, card_bytes: int, estimate_of: EstimateOf) -> int | None:
    """Most clips a pass with which the job still fits the card; None where not even one does."""
    if not _fits(request, 1, card_bytes, estimate_of):
        return None
    fits, misses = 1, 2
    while misses <= MOST_BATCH and _fits(request, misses, card_bytes, estimate_of):
        fits, misses = misses, 2 * misses
    while misses - fits > 1:
        middle = (fits + misses) // 2
        if _fits(request, middle, card_bytes, estimate_of):
            fits = middle
        else:
            misses = middle
    return fits


def _fits(request: PlanRequest, batch: int, card_bytes: int, estimate_of: EstimateOf) -> bool:
    return verdict(estimate_of(replace(request, batch=batch)), card_bytes) == "fits"


def _changes(request: PlanRequest) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(keys to set, what they cost, fields of the request)."""
    trains = request.mode != "generate"
    if trains and request.checkpointing == "none":
        yield (
            'checkpointing = "block"', "one forward pass more, about a third of the time",
            {"checkpointing": "block"},
        )  # fmt: skip
    if request.batch > 1:
        yield (
            f"batch = 1, accumulation = {request.batch * request.accumulation}",
            "smaller products, which the GPU computes less well",
            {"batch": 1, "accumulation": request.batch * request.accumulation},
        )
    if request.mode in ("train", "full"):
        yield 'mode = "lora"', "only adapters are trained", {"mode": "lora", "precision": "bf16"}
        if request.optimizer == "adamw" and request.offload == "none":
            yield (
                'optimizer = "adamw8bit"', "rounded optimizer state; needs bitsandbytes",
                {"optimizer": "adamw8bit"},
            )  # fmt: skip
        if request.offload == "none":
            yield (
                'offload = "optimizer+gradients"', "a slower step, and RAM for what moves there",
                {"offload": "optimizer+gradients"},
            )  # fmt: skip
        if request.precision.endswith("-mixed"):
            plain = request.precision.removesuffix("-mixed")
            yield (
                f'precision = "{plain}"', "small updates are lost to rounding",
                {"precision": plain},
            )  # fmt: skip
    if request.gpus > 1 and request.sharding in ("none", "ddp"):
        yield 'sharding = "fsdp2"', "weights travel twice a step", {"sharding": "fsdp2"}
    if request.resident == "all":
        yield (
            'resident = "stages"', "models are loaded one after the other",
            {"resident": "stages", "latents_precomputed": True},
        )  # fmt: skip
