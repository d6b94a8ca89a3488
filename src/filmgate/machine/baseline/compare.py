"""Two baselines held against each other, or refused because more than one thing differs."""

from __future__ import annotations

from typing import Literal

from filmgate.errors import UserError
from filmgate.machine.baseline.figure import Figure, cpu_time, figure_of, peak_memory, wall_time
from filmgate.machine.baseline.like import Unlike, unlike
from filmgate.machine.baseline.record import Baseline
from filmgate.records import Header, Record
from filmgate.units import format_share

Clock = Literal["wall", "cpu"]
MAX_NAMED = 6
ENOUGH_STARTS = 4
BUSY_SHARE = 0.1
"""Above it, what other programs did is worth a warning."""


class Comparison(Record, frozen=True):
    """What ``filmgate baseline compare`` found."""

    header: Header
    """Its inputs are the digests of both baselines' workloads and environments."""
    changed: str | None
    """What was named as changed."""
    clock: str
    """Which time the verdict is about: ``wall`` or ``cpu``."""
    verdict: str
    """The sentence to read."""
    figures: list[Figure]
    """The figure of the clock first."""
    same_result: bool | None
    """Whether both computed the same to the last bit; null where it was not looked at."""
    unlike: list[Unlike]
    """Everything in which they differ and that may change times."""
    forced: list[str]
    """Names that should have refused the comparison; empty when it is like for like."""
    warnings: list[str]
    """What makes the figures weak."""


def compare_baselines(
    before: Baseline,
    after: Baseline,
    *,
    changed: str | None = None,
    clock: Clock = "wall",
    force: bool = False,
) -> Comparison:
    """How the second differs from the first.

    Raises UserError, with names, when more differs than what was named as changed, unless forced;
    and when one has fewer than two starts.
    """
    found = unlike(before, after, changed)
    surplus = [one for one in found if not one.is_named]
    if surplus and not force:
        refuse(surplus, changed)
    _refuse_single(before, after)
    times = [
        figure_of("wall time", wall_time, before, after),
        figure_of("CPU time", cpu_time, before, after),
    ]
    if clock == "cpu":
        times.reverse()
    mark = f"NOT LIKE FOR LIKE ({', '.join(one.name for one in surplus)}): " if surplus else ""
    return Comparison(
        header=_header(before, after),
        changed=changed,
        clock=clock,
        verdict=mark + times[0].says,
        figures=[*times, figure_of("peak memory", peak_memory, before, after)],
        same_result=_same_result(before, after),
        unlike=found,
        forced=[one.name for one in surplus],
        warnings=_warnings(before, after, clock, changed, found),
    )


def refuse(surplus: list[Unlike], changed: str | None, *, can_force: bool = True) -> None:
    """Raises UserError that names what differs beyond what was named."""
    lines = "; ".join(
        f"{one.name}: {_shown(one.before)} and {_shown(one.after)}" for one in surplus[:MAX_NAMED]
    )
    more = f"; and {len(surplus) - MAX_NAMED} more" if len(surplus) > MAX_NAMED else ""
    what = "the two are not alike" if changed is None else f"more than {changed} differs"
    if changed is None and len(surplus) == 1:
        hint = f"if that is what you tried, name it: --changed {surplus[0].name}"
    else:
        hint = "name the one thing that you tried with --changed, and keep the rest as it was"
    force = "; --force compares all the same, and marks it" if can_force else ""
    raise UserError(f"{what}: {lines}{more}", hint=hint + force)


def _refuse_single(before: Baseline, after: Baseline) -> None:
    for side, one in (("first", before), ("second", after)):
        if len(one.starts) < 2:
            raise UserError(
                f"the {side} baseline has one start, and one value has no spread",
                hint="run it with --starts 5, or add starts to it with --more",
            )


def _header(before: Baseline, after: Baseline) -> Header:
    sides = (("before", before), ("after", after))
    return Header(
        schema="filmgate.baseline-comparison",
        schema_version=1,
        inputs={
            f"{side}_{name}": digest
            for side, one in sides
            for name, digest in one.header.inputs.items()
        },
    )


def _same_result(before: Baseline, after: Baseline) -> bool | None:
    results = {start.answer.result for one in (before, after) for start in one.starts}
    return None if None in results else len(results) == 1


def _warnings(
    before: Baseline, after: Baseline, clock: Clock, changed: str | None, found: list[Unlike]
) -> list[str]:
    warnings = []
    shares = (before.summary.others_cpu_share, after.summary.others_cpu_share)
    if max(shares) > BUSY_SHARE:
        advice = "" if clock == "cpu" else "; CPU time (--clock cpu) minds that less"
        warnings.append(
            f"other programs used {format_share(shares[0])} and {format_share(shares[1])} of the "
            f"machine's cores meanwhile{advice}; measure in turns with --more"
        )
    if min(len(before.starts), len(after.starts)) < ENOUGH_STARTS:
        warnings.append("fewer than 4 starts: the interval is wide, and hangs on each of them")
    if changed is not None and not any(one.is_named for one in found):
        warnings.append(f"{changed} was named as changed, and nothing recorded shows it")
    return warnings


def _shown(value: str | None) -> str:
    return "none" if value is None else value[:40]
