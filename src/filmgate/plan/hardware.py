"""Cards ranked for one job: capacity first, then what the memory gives for its price."""

from __future__ import annotations

from filmgate.plan.cards import Card
from filmgate.plan.interval import Interval
from filmgate.plan.memory import MemoryEstimate, Verdict, verdict
from filmgate.plan.request import PlanRequest
from filmgate.plan.step_time import Rates, StepTime, rates_of, step_time
from filmgate.plan.step_work import StepWork
from filmgate.plan.sync import joins
from filmgate.records import Record

WASTED_SHARE = 0.5
"""Share of a card that the job cannot use, from which on it is a warning."""
TIERS = (
    (12, "8-12 GB", "small classifiers, and generation with quantised models"),
    (24, "16-24 GB", "adapters on models of some billion weights, short clips"),
    (48, "32-48 GB", "adapters on large models, full training of small ones"),
    (10**6, "80 GB and more", "full fine-tuning, long clips at high resolution"),
)
"""(largest size in GB, name, what people do with it): the rule of the field."""
_ORDER: dict[Verdict, int] = {"fits": 0, "cannot say": 1, "does not fit": 2}


class RankedCard(Record, frozen=True):
    """One card for this job. ``--json`` has one of these per card."""

    card: str
    """Its name."""
    tier: str
    """``8-12 GB``, ``16-24 GB``, ``32-48 GB``, ``80 GB and more``."""
    memory_bytes: int
    """Of the card."""
    allocated_bytes: int
    """Bytes of all tensors at the peak."""
    reserved_low_bytes: int
    """Least that the allocator will have taken."""
    reserved_high_bytes: int
    """Most that it will have taken."""
    verdict: Verdict
    """Whether the job fits, with 20 to 30 % of the card kept free."""
    step: StepTime | None
    """A step on it; None where the table knows no rate."""
    bandwidth_per_usd: Interval | None
    """Bytes a second of its memory for each US dollar; None where no price is known."""
    clips_per_usd_hour: Interval | None
    """Clips for each US dollar of rent; None where no rent or no step time is known."""
    precision_supported: bool | None
    """Whether the card computes in the job's precision; whether the installed software does shows a
    measurement alone (`filmgate bench`)."""
    has_ecc: bool | None
    """As the table tells."""
    power_watts: float | None
    """As the table tells."""
    notes: list[str]
    """What speaks against it, a sentence each."""


def rank_cards(
    cards: list[Card],
    estimate: MemoryEstimate,
    work: StepWork | None,
    request: PlanRequest,
    *,
    measured: dict[str, Rates] | None = None,
    sync: dict[str, Interval] | None = None,
) -> list[RankedCard]:
    """All cards, the best first.

    In this order: verdict, precision, bandwidth for the price (those without a price after them, by
    bandwidth), ECC, power. ``measured`` and ``sync`` are by the card's name.
    """
    known, sent = measured or {}, sync or {}
    pairs = [
        (card, _ranked(card, estimate, work, request, known.get(card.name), sent.get(card.name)))
        for card in cards
    ]
    pairs.sort(key=lambda pair: _key(*pair))
    return [ranked for _, ranked in pairs]


def tier_of(memory_bytes: int) -> tuple[str, str]:
    """Name of the tier, and what people do with such a card."""
    for most, name, use in TIERS:
        if memory_bytes <= most * 2**30:
            return name, use
    raise AssertionError("the last tier has no end")


def unused_share(memory_bytes: int, needed_bytes: float) -> float:
    """Share of a card that the job leaves free beyond the margin that it should leave."""
    return max(0.0, 1 - needed_bytes / 0.7 / memory_bytes)


def _ranked(
    card: Card,
    estimate: MemoryEstimate,
    work: StepWork | None,
    request: PlanRequest,
    measured: Rates | None,
    sync_seconds: Interval | None,
) -> RankedCard:
    rates = rates_of(card, precision=request.precision, measured=measured)
    step = None if work is None else step_time(work, rates, sync_seconds=sync_seconds)
    bandwidth = card.memory_bytes_per_second
    price = None
    if card.price_usd is not None and bandwidth is not None:
        price = Interval(low=bandwidth / card.price_usd.high, high=bandwidth / card.price_usd.low)
    rented = None
    if card.rent_usd_per_hour is not None and step is not None and work is not None:
        per_hour = Interval(low=work.clips * 3600.0, high=work.clips * 3600.0).over(step.seconds)
        rented = per_hour.over(card.rent_usd_per_hour)
    return RankedCard(
        card=card.name,
        tier=tier_of(card.memory_bytes)[0],
        memory_bytes=card.memory_bytes,
        allocated_bytes=estimate.allocated_bytes,
        reserved_low_bytes=estimate.reserved_low_bytes,
        reserved_high_bytes=estimate.reserved_high_bytes,
        verdict=verdict(estimate, card.memory_bytes),
        step=step,
        bandwidth_per_usd=price,
        clips_per_usd_hour=rented,
        precision_supported=_supports(card, request),
        has_ecc=card.has_ecc,
        power_watts=card.power_watts,
        notes=_notes(card, estimate, request),
    )


def _supports(card: Card, request: PlanRequest) -> bool | None:
    return card.supports_bf16 if request.precision.startswith("bf16") else True


def _notes(card: Card, estimate: MemoryEstimate, request: PlanRequest) -> list[str]:
    notes = []
    needed = estimate.reserved_high_bytes + estimate.context_high_bytes
    unused = unused_share(card.memory_bytes, needed)
    if unused >= WASTED_SHARE:
        notes.append(f"this job cannot use {unused:.0%} of its memory, the margin left aside")
    if _supports(card, request) is False:
        notes.append(f"it does not compute in {request.precision}")
    if card.has_ecc is False:
        notes.append("no ECC: a wrong bit in a long run goes unseen")
    if card.price_usd is None:
        notes.append("no price in the table")
    if request.gpus > 1 and not joins(card, cards=request.gpus):
        notes.append("cards talk through the host alone")
    return notes


def _key(card: Card, ranked: RankedCard) -> tuple[float, ...]:
    """Smaller is better. An unknown price is no reason to leave a card out, but none to lead."""
    price = ranked.bandwidth_per_usd
    return (
        _ORDER[ranked.verdict],
        ranked.precision_supported is False,
        price is None,
        -(price.middle if price else card.memory_bytes_per_second or 0.0),
        not card.has_ecc,
        card.power_watts or float("inf"),
    )
