"""What was measured on a machine, as records that plans, audits and diagnoses read.

A figure is never a single number: every repetition that counts is kept, with what was counted.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from filmgate.errors import UserError
from filmgate.machine.facts import Facts
from filmgate.machine.machine import Machine
from filmgate.records import Header, Record

PartName = Literal["storage", "decode", "memory", "precision", "sync", "feed"]
PARTS: tuple[PartName, ...] = ("storage", "decode", "memory", "precision", "sync", "feed")
Unit = Literal["bytes/s", "frames/s", "clips/s", "files/s", "operations/s", "FLOP/s", "s", "share"]
PartStatus = Literal["measured", "not present", "could not measure"]


class Measure(Record, frozen=True, kw_only=True):
    """One figure with every repetition that counts."""

    name: str
    """What it is of, lower case with dashes, unique in its part: ``sequential-read``."""
    unit: Unit
    """Of all its values."""
    values: list[float]
    """One for each repetition that counts, in the order in which they were measured."""
    median: float
    """Of the values."""
    low: float
    """The least of them."""
    high: float
    """The greatest of them; far from ``low``: the machine is noisy, measure longer."""
    definition: str
    """One sentence: what was counted over what time."""
    anchor: str
    """The public tool or rule that counts the same way, ``fio``; empty: filmgate's own."""
    warm_up: str
    """What was done first and does not count; empty: nothing."""
    conditions: dict[str, str] = {}
    """What the figure depends on, ``block`` -> ``1 MiB``."""
    notes: list[str] = []
    """What weakens the figure, a sentence each; empty: nothing that is known."""

    @property
    def repetitions(self) -> int:
        """How many values count."""
        return len(self.values)

    @property
    def spread(self) -> float:
        """Highest less lowest over the median; 0 where the median is 0."""
        return (self.high - self.low) / self.median if self.median else 0.0


def measure_of(
    name: str,
    unit: Unit,
    values: Sequence[float],
    *,
    definition: str,
    anchor: str = "",
    warm_up: str = "",
    conditions: dict[str, str] | None = None,
    notes: Sequence[str] = (),
) -> Measure:
    """The measure with its median and its ends; ``values`` holds at least one."""
    assert values, name
    return Measure(
        name=name,
        unit=unit,
        values=list(values),
        median=statistics.median(values),
        low=min(values),
        high=max(values),
        definition=definition,
        anchor=anchor,
        warm_up=warm_up,
        conditions=conditions or {},
        notes=list(notes),
    )


class BenchPart(Record, frozen=True, kw_only=True):
    """One part of a bench: its figures, or why there are none."""

    name: PartName
    """Which part."""
    status: PartStatus
    """``not present``: the machine has no such thing; ``could not measure``: it may have."""
    why: str = ""
    """Why there is no figure; empty where there are."""
    seconds: float = 0.0
    """How long it took."""
    measures: list[Measure] = []
    """In the order in which they are told."""
    facts: dict[str, str] = {}
    """What was found on the way and is no figure, ``filesystem`` -> ``ext4 on /dev/md0``."""
    says: list[str] = []
    """What the figures mean, a sentence each, the most telling first."""
    unknown: dict[str, str] = {}
    """Name of a measure that is not there -> why."""

    def measure(self, name: str) -> Measure | None:
        """The measure of that name; None where there is none, ``unknown`` may say why."""
        return next((one for one in self.measures if one.name == name), None)


class Identity(Facts, frozen=True, kw_only=True):
    """What machine it was, without any number that belongs to one copy of it alone."""

    product: str | None
    """As the firmware tells it."""
    cpu: str | None
    """Model of the processor."""
    num_cpus: int | None
    """Hardware threads of the machine."""
    usable_cores: int | None
    """Cores that this process may use."""
    memory_bytes: int | None
    """Main memory."""
    gpus: list[str]
    """Name of each GPU by index; ``unknown`` where it is not told."""
    is_virtual_machine: bool | None
    """Whether a hypervisor lay below."""
    kernel: str | None
    """Release."""
    driver_version: str | None
    """NVIDIA's kernel driver."""
    versions: dict[str, str]
    """Package or tool -> version, of those that did the measuring."""


class MachineMeasured(Record, frozen=True, kw_only=True):
    """What ``filmgate bench`` found on one machine: ``bench.json``."""

    header: Header
    """Its date is when the bench ended."""
    identity: Identity
    """Which machine."""
    is_quick: bool
    """Whether it was measured with ``--quick``: fewer and shorter repetitions."""
    parts: list[BenchPart]
    """In the order of ``PARTS``; what was not asked for is not there."""

    def part(self, name: PartName) -> BenchPart | None:
        """The part of that name; None where it was not asked for."""
        return next((one for one in self.parts if one.name == name), None)

    def measure(self, part: PartName, name: str) -> Measure | None:
        """A measure of a part; None where either is not there."""
        found = self.part(part)
        return found.measure(name) if found else None


def refuse_other_machine(record: MachineMeasured, machine: Machine, path: Path) -> None:
    """Raise UserError where the bench at ``path`` was measured on other hardware than ``machine``.

    What either does not tell is taken to be alike.
    """
    here = identity_of(machine, {})
    for name in ("product", "cpu", "num_cpus", "gpus"):
        there, now = getattr(record.identity, name), getattr(here, name)
        if there and now and there != now:
            raise UserError(
                f"{path} was measured on another machine: {name} is {there} there, {now} here",
                hint="measure this one: filmgate bench all --out bench.json",
            )


def identity_of(machine: Machine, versions: dict[str, str]) -> Identity:
    """What machine it is; ``versions`` are those of the tools that measure, beside its packages."""
    wanted = {
        "product": machine.bmc, "cpu": machine.cpu, "num_cpus": machine.cpu,
        "usable_cores": machine.limits, "memory_bytes": machine.memory,
        "is_virtual_machine": machine.cpu, "kernel": machine.software,
        "driver_version": machine.software,
    }  # fmt: skip
    theirs = {"cpu": "model", "memory_bytes": "total_bytes"}
    values = {name: getattr(facts, theirs.get(name, name)) for name, facts in wanted.items()}
    return Identity(
        **values,
        gpus=[gpu.name or "unknown" for gpu in machine.gpus],
        versions=machine.software.packages | versions,
        unknown={
            name: wanted[name].why(theirs.get(name, name))
            for name, value in values.items()
            if value is None
        },
    )
