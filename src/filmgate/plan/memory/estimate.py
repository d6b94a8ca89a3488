"""The answer about memory, and the verdict on a card."""

from __future__ import annotations

from typing import Literal

from filmgate.plan.request import Assumption
from filmgate.records import Record

Verdict = Literal["fits", "does not fit", "cannot say"]
MARGIN = (0.20, 0.30)
"""Share of a card that has to stay free: below the first nothing is promised."""


class MemoryParts(Record, frozen=True):
    """GPU bytes at the peak, by what holds them; together they are ``allocated_bytes``."""

    weights: int
    """Of all models that are on the GPU."""
    gradients: int
    """Of what is trained."""
    optimizer: int
    """Optimizer state."""
    activations: int
    """What backward needs of forward, and the batch itself."""
    temporaries: int
    """Results in flight, copies in another precision, the optimizer's own."""
    communication: int
    """Buffers of DDP or FSDP."""


class MemoryEstimate(Record, frozen=True):
    """Peak GPU memory of one job on one GPU."""

    allocated_bytes: int
    """Bytes of all tensors at the peak, as the allocator counts them (``max_memory_allocated``)."""
    reserved_low_bytes: int
    """Least that the allocator will have taken from the card at the peak."""
    reserved_high_bytes: int
    """Most that it will have taken (``max_memory_reserved``); without the context."""
    context_low_bytes: int
    """Least outside the allocator: CUDA context, library workspaces, NCCL."""
    context_high_bytes: int
    """Most outside the allocator."""
    parts: MemoryParts
    """The allocated bytes by what holds them."""
    phase: str
    """When the peak is: ``load``, ``forward``, ``backward``, ``step`` or a stage's name."""
    method: Literal["traced", "formula"]
    """Whether the model itself was traced, or the formulas of its blocks were added up."""
    assumptions: tuple[Assumption, ...] = ()
    """What was assumed, with its source."""


def verdict(estimate: MemoryEstimate, card_bytes: int) -> Verdict:
    """Whether the job fits a card, with 20 to 30 % of the card kept free.

    ``fits``: the highest figure leaves 20 % of the card; ``does not fit``: the lowest figure is
    more than the card has; between them ``cannot say``.
    """
    if card_bytes < 1:
        raise ValueError(f"card_bytes is {card_bytes}; it is the bytes of a card, 1 or more")
    if estimate.reserved_high_bytes + estimate.context_high_bytes <= (1 - MARGIN[0]) * card_bytes:
        return "fits"
    if estimate.reserved_low_bytes + estimate.context_low_bytes > card_bytes:
        return "does not fit"
    return "cannot say"
