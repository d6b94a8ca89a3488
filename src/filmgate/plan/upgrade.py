"""A part for a machine that there is: whether it goes in, what it gains, where the next limit sits.

Lengths, connectors and air are not to be read anywhere: they are asked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from filmgate.errors import UserError
from filmgate.machine.machine import Machine
from filmgate.machine.pci import Link
from filmgate.plan.cards import Card, find_card
from filmgate.plan.demand import CORES_BESIDE, Demand
from filmgate.plan.interval import Interval
from filmgate.plan.step_time import StepTime, rates_of, step_time
from filmgate.plan.step_work import StepWork
from filmgate.records import Record
from filmgate.units import format_bytes, parse_bytes

LEAST_DRIVER = ((12.0, 570), (10.0, 570), (9.0, 520), (8.9, 520), (8.6, 455), (8.0, 450))
"""Compute capability -> NVIDIA driver branch from which on it works.

Source: release notes of CUDA 11.0, 11.1, 11.8 and 12.8, which brought them."""
Status = Literal["ok", "fail", "ask", "unknown"]


class Fit(Record, frozen=True):
    """One thing that has to go together."""

    aspect: str
    """``slot``, ``lanes``, ``power``, ``driver``, ``RAM``, ``clearance``, ``cooling``."""
    status: Status
    """``ask``: only a person can look; ``unknown``: the machine does not tell."""
    says: str
    """What was found, or what to look at, with figures."""


class Upgrade(Record, frozen=True):
    """One part for one machine."""

    part: str
    """As it was named."""
    machine: str
    """Where the machine was read from."""
    fits: list[Fit]
    """What has to go together; what fails first."""
    compatible: bool | None
    """False where something fails, None where nobody knows yet: questions are open."""
    step_before: Interval | None
    """Seconds of a step on the card that there is; None: none, or the table does not know it."""
    step_after: Interval | None
    """Seconds of a step with the part."""
    gain: Interval | None
    """Old step over new step; above 1 is faster."""
    next_limit: str
    """What holds the machine back once the part is in, in a sentence."""


class Part(Record, frozen=True):
    """What is to be added."""

    words: str
    """As it was named."""
    card: Card | None = None
    """A card."""
    ram_bytes: int | None = None
    """Main memory."""
    drives: int | None = None
    """NVMe drives."""


def parse_part(words: str, cards: list[Card]) -> Part:
    """``RTX 5090``, ``ram=256GB`` or ``nvme=4``. Raises UserError."""
    match = re.fullmatch(r"\s*(ram|nvme)\s*=\s*(.+)", words, re.IGNORECASE)
    if match is None:
        return Part(words=words, card=find_card(cards, words))
    try:
        if match[1].lower() == "ram":
            return Part(words=words, ram_bytes=_positive(parse_bytes(match[2])))
        return Part(words=words, drives=_positive(int(match[2])))
    except ValueError as error:
        raise UserError(f"--add {words}: {error}", hint="for example ram=256GB or nvme=4") from None


def upgrade_of(
    machine: Machine,
    part: Part,
    cards: list[Card],
    work: StepWork | None,
    demand: Demand | None,
    *,
    precision: str,
) -> Upgrade:
    """Whether the part goes into the machine, and what it gains for this job."""
    before = _step_on_present(machine, cards, work, precision)
    after = before
    if part.card is not None:
        after = None if work is None else step_time(work, rates_of(part.card, precision=precision))
    fits = sorted(_fits(machine, part), key=lambda fit: _ORDER.index(fit.status))
    gain = None
    if before is not None and after is not None:
        gain = _gain(before, after)
    return Upgrade(
        part=part.words,
        machine=machine.origin,
        fits=fits,
        compatible=_compatible(fits),
        step_before=before.seconds if before else None,
        step_after=after.seconds if after else None,
        gain=gain,
        next_limit=_next_limit(machine, part, after, demand, work),
    )


_ORDER: Sequence[Status] = ("fail", "ask", "unknown", "ok")


def _positive(number: int) -> int:
    if number < 1:
        raise ValueError(f"{number} is none")
    return number


def _gain(before: StepTime, after: StepTime) -> Interval:
    """Both are off in the same way, so that bounds are compared with bounds alike."""
    ends = (
        before.seconds.low / after.seconds.low,
        before.seconds.high / after.seconds.high,
    )
    return Interval(low=min(ends), high=max(ends))


def _step_on_present(
    machine: Machine, cards: list[Card], work: StepWork | None, precision: str
) -> StepTime | None:
    if work is None or not machine.gpus or machine.gpus[0].name is None:
        return None
    card = present_card(machine.gpus[0].name, cards)
    return None if card is None else step_time(work, rates_of(card, precision=precision))


def present_card(name: str, cards: list[Card]) -> Card | None:
    """The card that a driver calls so; the longest name of the table that it holds."""
    bare = _bare(name)
    found = [card for card in cards if all(_bare(word) in bare for word in card.name.split())]
    return max(found, key=lambda card: len(card.name)) if found else None


def _bare(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def _compatible(fits: list[Fit]) -> bool | None:
    if any(fit.status == "fail" for fit in fits):
        return False
    return None if any(fit.status in ("ask", "unknown") for fit in fits) else True


def _fits(machine: Machine, part: Part) -> list[Fit]:
    if part.card is not None:
        return _card_fits(machine, part.card)
    if part.ram_bytes is not None:
        told = machine.memory.total_bytes
        has = "unknown" if told is None else format_bytes(told)
        return [
            Fit(aspect="RAM", status="ask", says=f"the machine has {has}; look for free slots, "
                "the kind of module (registered or not) and the largest that the board takes"),
        ]  # fmt: skip
    drives = [drive for drive in machine.drives if drive.kind == "nvme"]
    return [
        Fit(aspect="slot", status="ask", says=f"{len(drives)} NVMe drives are there; "
            f"{part.drives} more need {4 * (part.drives or 0)} lanes and as many bays"),
        Fit(aspect="cooling", status="ask", says="drives of generation 5 want moving air"),
    ]  # fmt: skip


def _card_fits(machine: Machine, card: Card) -> list[Fit]:
    return [
        _slot(card),
        _lanes(machine, card),
        _power(machine, card),
        _driver(machine, card),
        _ram(machine, card),
        Fit(aspect="clearance", status="ask",
            says=f"do length, height and slots of {card.name} fit beside what is there?"),
        Fit(aspect="cooling", status="ask", says="can the case and the room take "
            + ("what it draws" if card.power_watts is None else f"{card.power_watts:.0f} W more?")),
    ]  # fmt: skip


def _slot(card: Card) -> Fit:
    if card.form is None:
        return Fit(aspect="slot", status="unknown", says="the table does not know its form")
    if card.form != "PCIe card":
        says = f"{card.name} is {card.form}: it needs a board made for it"
        return Fit(aspect="slot", status="fail", says=says)
    return Fit(aspect="slot", status="ok", says="a PCI Express card")


def _lanes(machine: Machine, card: Card) -> Fit:
    slots = [gpu.slot_max for gpu in machine.gpus if gpu.slot_max is not None]
    if not slots or card.pcie_generation is None or card.pcie_width is None:
        return Fit(aspect="lanes", status="unknown", says="no slot with a GPU tells its width")
    best = max(slots, key=lambda link: link.bytes_per_second)
    own = Link(generation=card.pcie_generation, width=card.pcie_width)
    got = Link(generation=min(own.generation, best.generation), width=min(own.width, best.width))
    says = f"the slot can {best}, the card {own}: {format_bytes(got.bytes_per_second)}/s each way"
    if got.width < own.width:
        return Fit(aspect="lanes", status="ask", says=f"{says}; is there a slot of all its lanes?")
    return Fit(aspect="lanes", status="ok", says=says)


def _power(machine: Machine, card: Card) -> Fit:
    if card.power_watts is None:
        return Fit(aspect="power", status="unknown", says="the table does not know what it draws")
    peak = 1.5 * card.power_watts
    says = f"has the power supply {card.power_watts:.0f} W to spare beside the {len(machine.gpus)} "
    says += f"cards that are there, {peak:.0f} W for milliseconds, and the connectors?"
    return Fit(aspect="power", status="ask", says=says)


def _driver(machine: Machine, card: Card) -> Fit:
    version, capability = machine.software.driver_version, card.compute_capability
    if capability is None or capability.startswith("gfx"):
        return Fit(aspect="driver", status="ask", says="does the driver of its maker run here?")
    least = next((driver for cc, driver in LEAST_DRIVER if float(capability) >= cc), None)
    if version is None or least is None:
        return Fit(aspect="driver", status="unknown", says=f"it needs branch {least} or later; "
                   f"{machine.software.why('driver_version')}")  # fmt: skip
    branch = re.match(r"\d+", version)
    enough = branch is not None and int(branch[0]) >= least
    says = f"driver {version}; {card.name} needs branch {least} or later"
    return Fit(aspect="driver", status="ok" if enough else "fail", says=says)


def _ram(machine: Machine, card: Card) -> Fit:
    total = machine.memory.total_bytes
    if total is None:
        return Fit(aspect="RAM", status="unknown", says=machine.memory.why("total_bytes"))
    there = sum(gpu.memory_bytes or 0 for gpu in machine.gpus)
    vram = there + card.memory_bytes
    says = f"{format_bytes(total)} for {format_bytes(vram)} of cards, the new one beside the old"
    return Fit(aspect="RAM", status="ok" if total >= 2 * vram else "ask",
               says=says if total >= 2 * vram else f"{says}: less than twice; what does the "
               "job itself need?")  # fmt: skip


def _next_limit(
    machine: Machine, part: Part, after: StepTime | None, demand: Demand | None,
    work: StepWork | None,
) -> str:  # fmt: skip
    """What comes next: the feed's cores where they give less than the step takes."""
    if after is None or demand is None or work is None:
        return "unknown: the table knows no rate of the card, or the model's operations"
    cores = machine.limits.usable_cores
    if cores is not None:
        supply = max(0, cores - CORES_BESIDE * max(1, len(machine.gpus)))
        wanted = work.clips / after.seconds.middle * demand.core_seconds_per_clip.middle
        if wanted > supply:
            return (
                f"the feed: {wanted:.0f} cores would keep up, {supply} are left beside training; "
                "a training copy needs fewer"
            )
    sure = "" if after.surely_binds else ", as far as the bounds tell"
    return f"{after.binds}{sure}"
