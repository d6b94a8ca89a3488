"""Memory of a job held against every card of the table."""

from __future__ import annotations

from msgspec.structs import replace

from filmgate.app.plan_memory import Requested
from filmgate.plan.cards import read_cards
from filmgate.plan.memory import MemoryEstimate, Verdict, verdict
from filmgate.plan.memory.levers import Lever, largest_batch, levers
from filmgate.plan.request import PlanRequest
from filmgate.records import Header, Record


class CardMemory(Record, frozen=True):
    """Memory of the job on one card."""

    card: str
    """Product name."""
    memory_bytes: int
    """What the card has."""
    allocated_bytes: int
    """Bytes of all tensors at the peak."""
    reserved_low_bytes: int
    """Least that the allocator takes."""
    reserved_high_bytes: int
    """Most that it takes; the context comes on top."""
    verdict: Verdict
    """Whether it fits with 20 to 30 % to spare."""
    largest_batch: int | None
    """Most clips a pass that still fit; looked for on the smallest cards that hold the job, None
    on the others."""


class MemoryPlan(Record, frozen=True):
    """What `filmgate plan` says of memory."""

    header: Header
    """Who made it, and when."""
    request: PlanRequest
    """What was planned for, with everything that was assumed."""
    estimate: MemoryEstimate
    """Peak memory of one GPU."""
    cards: list[CardMemory]
    """Every card of the table, the smallest first."""
    levers: list[Lever]
    """What would lower the peak, the largest saving first."""


def plan_cards(asked: Requested) -> MemoryPlan:
    """Estimate the job and hold it against every card. Raises UserError as the estimate does."""
    estimate = asked.estimate_of(asked.request)
    cards = [
        CardMemory(
            card=card.name,
            memory_bytes=card.memory_bytes,
            allocated_bytes=estimate.allocated_bytes,
            reserved_low_bytes=estimate.reserved_low_bytes,
            reserved_high_bytes=estimate.reserved_high_bytes,
            verdict=verdict(estimate, card.memory_bytes),
            largest_batch=None,
        )
        for card in sorted(read_cards(), key=lambda card: (card.memory_bytes, card.name))
    ]
    return MemoryPlan(
        header=Header(schema="filmgate.plan.memory", schema_version=1),
        request=asked.request,
        estimate=estimate,
        cards=_with_batch(asked, cards),
        levers=levers(asked.request, asked.estimate_of) if asked.facts is not None else [],
    )


def _with_batch(asked: Requested, cards: list[CardMemory]) -> list[CardMemory]:
    """The largest batch on the smallest cards that hold the job."""
    least = min((card.memory_bytes for card in cards if card.verdict == "fits"), default=None)
    if least is None or asked.facts is None:
        return cards
    batch = largest_batch(asked.request, least, asked.estimate_of)
    return [
        replace(card, largest_batch=batch) if card.memory_bytes == least else card for card in cards
    ]
