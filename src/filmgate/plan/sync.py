"""What the cards send each other in a step, over which link, and what it costs of their speed.

Source of the factors: nccl-tests, ``doc/PERFORMANCE.md`` (a ring of n sends 2(n-1)/n of the buffer
for an all-reduce, (n-1)/n for an all-gather or a reduce-scatter).
"""

from __future__ import annotations

from filmgate.plan.cards import Card
from filmgate.plan.interval import Interval, exactly
from filmgate.plan.request import PlanRequest
from filmgate.plan.step_work import StepWork
from filmgate.records import Record

REACHED = Interval(low=0.6, high=0.9)
"""Bus bandwidth of NCCL over the link's rate, for buffers of tens of megabytes. Assumed."""
BACKWARD_SHARE = 0.6
"""Part of a step that gradients can be sent behind: backward, two thirds at most. Assumed."""


class Interconnect(Record, frozen=True):
    """A link between cards."""

    name: str
    """As people call it."""
    bytes_per_second: float
    """Each way, of one card."""
    source: str
    """Where the rate comes from."""


INTERCONNECTS = (
    Interconnect(name="PCIe 4.0 x16", bytes_per_second=31.5e9, source="PCI Express 4.0"),
    Interconnect(name="PCIe 5.0 x16", bytes_per_second=63e9, source="PCI Express 5.0"),
    Interconnect(name="NVLink 3", bytes_per_second=300e9, source="NVIDIA: A100, 600 GB/s in all"),
    Interconnect(name="NVLink 4", bytes_per_second=450e9, source="NVIDIA: H100, 900 GB/s in all"),
    Interconnect(name="NVLink 5", bytes_per_second=900e9, source="NVIDIA: B200, 1800 GB/s in all"),
    Interconnect(name="Ethernet 25 Gb/s", bytes_per_second=3.1e9, source="IEEE 802.3by"),
    Interconnect(name="Ethernet 100 Gb/s", bytes_per_second=12.5e9, source="IEEE 802.3"),
    Interconnect(name="InfiniBand 200 Gb/s", bytes_per_second=25e9, source="HDR, one port"),
    Interconnect(name="InfiniBand 400 Gb/s", bytes_per_second=50e9, source="NDR, one port"),
)
"""Links between cards of one machine, then between machines, one port for each card."""


class Scaling(Record, frozen=True):
    """Several cards over one interconnect."""

    interconnect: str
    """Its name."""
    sent_bytes: float
    """What each card sends in a step."""
    sync_seconds: Interval
    """Time that it takes."""
    efficiency: Interval
    """Speed of one card among others over its speed alone. High: sent behind backward, as far as
    it fits; low: nothing is."""


def sent_bytes(work: StepWork, request: PlanRequest, *, cards: int) -> float:
    """Bytes that each card sends in a step; 0 for one card and for generation."""
    if cards < 2 or not work.trained_weights:
        return 0.0
    part = (cards - 1) / cards
    if request.sharding in ("fsdp2", "zero3"):
        gathered = (3 if request.checkpointing == "block" else 2) * work.weight_bytes
        return part * (gathered * request.accumulation + work.gradient_bytes)
    return part * 2 * work.gradient_bytes


def scaling(
    work: StepWork,
    request: PlanRequest,
    step_seconds: Interval,
    link: Interconnect,
    *,
    cards: int,
) -> Scaling:
    """Time and efficiency of the sync over one link."""
    sent = sent_bytes(work, request, cards=cards)
    took = exactly(sent).over(exactly(link.bytes_per_second).times(REACHED))
    hidden = max(0.0, took.low - BACKWARD_SHARE * step_seconds.high)
    return Scaling(
        interconnect=link.name,
        sent_bytes=sent,
        sync_seconds=took,
        efficiency=Interval(
            low=step_seconds.low / (step_seconds.low + took.high),
            high=step_seconds.high / (step_seconds.high + hidden),
        ),
    )


def all_scalings(
    work: StepWork, request: PlanRequest, step_seconds: Interval, *, cards: int
) -> list[Scaling]:
    """Over every interconnect, those of one machine first."""
    return [scaling(work, request, step_seconds, link, cards=cards) for link in INTERCONNECTS]


def link_of(card: Card, *, cards: int) -> Interconnect | None:
    """The link of a card to its neighbours: its own, or through the host; None: not known.

    A bridge joins two cards; among more of them some pairs go through the host.
    """
    if joins(card, cards=cards) and card.link_bytes_per_second is not None:
        rate = card.link_bytes_per_second
        return Interconnect(name=str(card.link), bytes_per_second=rate, source="table")
    if card.host_bytes_per_second is None:
        return None
    return Interconnect(
        name="through the host", bytes_per_second=card.host_bytes_per_second, source="table"
    )


def joins(card: Card, *, cards: int) -> bool:
    """Whether the card's own link joins that many of them."""
    if card.link is None or card.link == "none":
        return False
    return cards <= 2 or "pair" not in card.link
