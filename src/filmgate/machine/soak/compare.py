"""Two soaks held against each other: the last window of each, before and after a change."""

from __future__ import annotations

from filmgate.machine.baseline.compare import refuse
from filmgate.machine.baseline.like import (
    Unlike,
    named_unlike,
    unlike_environments,
    unlike_settings,
)
from filmgate.machine.soak.lines import SoakStart
from filmgate.machine.soak.result import Soak
from filmgate.machine.soak.series import THROUGHPUT
from filmgate.machine.soak.windows import Curve, change_of, change_words, shown
from filmgate.records import Header, Record

NOT_SETTINGS = ("why", "unit")
FOLLOWS = {"batch_size": ("work_per_step",), "kind": ("work_per_step", "matrix_size",
           "number_type", "batch_size", "frames", "width", "height", "clips")}  # fmt: skip
"""Settings of the load that change by themselves when the named one is changed."""


class SoakChange(Record, frozen=True):
    """One curve at the end of both soaks."""

    name: str
    """Of the curve."""
    unit: str
    """Its unit."""
    before: float
    """In the last window of the first."""
    after: float
    """In the last window of the second."""
    change: float | None
    """Relative; of temperatures and shares a difference; null with too few samples."""
    low: float | None
    """Lower bound of its 95 % interval."""
    high: float | None
    """Upper bound."""
    says: str
    """In one sentence."""


class SoakComparison(Record, frozen=True):
    """What ``filmgate soak --compare`` found."""

    header: Header
    """Its inputs are the digests of both environments."""
    changed: str | None
    """What was named as changed."""
    verdict: str
    """The sentence to read."""
    changes: list[SoakChange]
    """Curves that both have, throughput first."""
    gone: list[str]
    """Findings that only the first has."""
    new: list[str]
    """Findings that only the second has."""
    unlike: list[Unlike]
    """Everything in which they differ and that may change throughput."""
    warnings: list[str]
    """What makes the figures weak."""


def refuse_unlike(before: SoakStart, after: SoakStart, changed: str | None) -> list[Unlike]:
    """Every difference of load and environment; raises UserError when more than ``changed``
    differs."""
    settings = [
        pair for pair in unlike_settings(before.load, after.load) if pair[0] not in NOT_SETTINGS
    ]
    environments = [
        pair for pair in unlike_environments(before.environment, after.environment)
        if not pair[0].startswith("git.")
    ]  # fmt: skip
    found = [
        one if one.name not in FOLLOWS.get(changed or "", ()) else _named(one)
        for one in named_unlike([*settings, *environments], changed)
    ]
    surplus = [one for one in found if not one.is_named]
    if surplus:
        refuse(surplus, changed, can_force=False)
    return found


def compare_soaks(
    before: Soak, after: Soak, unlike: list[Unlike], changed: str | None
) -> SoakComparison:
    """How the second differs from the first at its end."""
    others = {curve.name: curve for curve in after.curves}
    changes = [
        change
        for curve in before.curves
        if (other := others.get(curve.name)) is not None
        and other.unit == curve.unit
        and (change := _change(curve, other)) is not None
    ]
    kinds = [{f"{one.subject}: {one.kind}" for one in soak.findings} for soak in (before, after)]
    return SoakComparison(
        header=Header(
            schema="filmgate.soak-comparison",
            schema_version=1,
            inputs={
                "before_environment": before.header.inputs["environment"],
                "after_environment": after.header.inputs["environment"],
            },
        ),
        changed=changed,
        verdict=_verdict(changes),
        changes=changes,
        gone=sorted(kinds[0] - kinds[1]),
        new=sorted(kinds[1] - kinds[0]),
        unlike=unlike,
        warnings=_warnings(before, after, unlike, changed),
    )


def _named(one: Unlike) -> Unlike:
    return Unlike(name=one.name, before=one.before, after=one.after, is_named=True)


def _change(before: Curve, after: Curve) -> SoakChange | None:
    if before.last is None or after.last is None:
        return None
    change = low = high = None
    if min(len(before.last_blocks), len(after.last_blocks)) >= 2:
        change, low, high = change_of(before.last_blocks, after.last_blocks, before.unit)
    told = f"{shown(before.last, before.unit)} before, {shown(after.last, before.unit)} after"
    if change is not None and low is not None and high is not None:
        told = f"{change_words(change, low, high, before.unit)}: {told}"
    return SoakChange(
        name=before.name, unit=before.unit, before=before.last, after=after.last,
        change=change, low=low, high=high, says=told,
    )  # fmt: skip


def _verdict(changes: list[SoakChange]) -> str:
    throughput = next((one for one in changes if one.name == THROUGHPUT), None)
    if throughput is None:
        return "throughput is not known in both"
    return f"sustained throughput: {throughput.says}"


def _warnings(before: Soak, after: Soak, unlike: list[Unlike], changed: str | None) -> list[str]:
    told = [
        "the interval is that of time within each soak; what differs from start to start is not "
        "in it: soak again in turns, or use `filmgate baseline`"
    ]
    for side, one in (("first", before), ("second", after)):
        told += [f"the {side}: {warning}" for warning in one.warnings]
    if changed is not None and not any(one.is_named for one in unlike):
        told.append(f"{changed} was named as changed, and nothing recorded shows it")
    return told
