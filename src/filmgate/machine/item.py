"""One line of the checklist, and the whole of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from filmgate.machine.attested import Attestation
from filmgate.machine.needs import Needs
from filmgate.records import Header, Record

Status = Literal["ok", "warn", "fail", "unknown", "not present", "attested"]
Topic = Literal["data", "compute", "memory", "network", "operations"]
WORST_FIRST: tuple[Status, ...] = ("fail", "warn", "unknown", "attested", "ok", "not present")


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What a check found."""

    status: Status
    evidence: str
    """What was seen, with its numbers; for ``unknown`` why it could not be."""
    next_step: str = ""
    """What to do about it; empty where there is nothing to do."""
    bar: str = ""
    """What was asked for; empty where nothing was compared."""
    bar_from: Literal["job", "rules", "command line", "bench"] | None = None
    """Where the bar comes from."""


class Item(Record, frozen=True):
    """One line of the checklist with its verdict."""

    name: str
    """Lower case, dashes."""
    topic: Topic
    """Which part of the checklist."""
    line: str
    """What ought to hold."""
    status: Status
    """``unknown``: it could not be read; ``not present``: the machine, or the job, has no such
    thing; ``attested``: a person says so."""
    evidence: str
    """What was seen, with its numbers; for ``unknown`` why it could not be."""
    next_step: str
    """What to do about it; empty where there is nothing to do."""
    bar: str
    """What was asked for; empty where nothing was compared."""
    bar_from: str | None
    """``job``, ``command line``, ``bench`` or ``rules``, with the rule's source."""
    attestation: Attestation | None
    """What a person said, where it was asked; a machine's own verdict stands above it."""


class Audit(Record, frozen=True):
    """The checklist over one machine."""

    header: Header
    machine: str
    """Where the machine was read from."""
    product: str | None
    """What machine it is, as its firmware tells."""
    needs: Needs
    """What it was held against."""
    items: list[Item]
    """In the order of the checklist."""

    def count(self, status: Status) -> int:
        """Items with that status."""
        return sum(item.status == status for item in self.items)


def worst(findings: list[Finding]) -> Finding:
    """One finding for several things of a kind: the worst status, what was seen of all of those."""
    status = min((one.status for one in findings), key=WORST_FIRST.index)
    of_it = [one for one in findings if one.status == status]
    return Finding(
        status=status,
        evidence="; ".join(_grouped([one.evidence for one in of_it])),
        next_step=of_it[0].next_step,
        bar=of_it[0].bar,
        bar_from=of_it[0].bar_from,
    )


def _grouped(evidences: list[str]) -> list[str]:
    """``GPU 0 and 3 others: why`` where several things say the same of themselves."""
    groups: dict[str, list[str]] = {}
    for evidence in evidences:
        name, colon, said = evidence.partition(": ")
        groups.setdefault(said if colon else evidence, []).append(name if colon else "")
    grouped = []
    for said, names in groups.items():
        others = f" and {len(names) - 1} others" if len(names) > 2 else ""
        two = f" and {names[1]}" if len(names) == 2 else ""
        grouped.append(f"{names[0]}{others or two}: {said}" if names[0] else said)
    return grouped
