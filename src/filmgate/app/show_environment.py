"""What `filmgate env` prints for a person."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from rich.table import Table
from rich.text import Text

from filmgate.app.show import print_rows, print_table
from filmgate.machine.environment.diff import Difference, EnvironmentDiff
from filmgate.machine.environment.facts import NONE, Environment
from filmgate.machine.environment.grades import IN_WORDS
from filmgate.machine.environment.lock import faults_of

LONGEST_VALUE = 60


def show_environment(environment: Environment) -> None:
    """The facts in groups, the packages that are needed, and what is wrong with it by itself."""
    rows = [
        (fact.name, fact.value if fact.value is not None else f"unknown: {fact.why_unknown}")
        for fact in environment.facts
        if not (fact.name.startswith("variable.") and fact.value == NONE)
    ]
    needed = [one for one in environment.packages if one.is_needed]
    rows += [
        ("needed packages", ", ".join(f"{one.name} {one.version}" for one in needed)),
        ("other packages", str(len(environment.packages) - len(needed))),
        *(
            (f"probe.{probe.name}", _short(probe.value or f"unknown: {probe.why_unknown}"))
            for probe in environment.probes
        ),
        *(("wrong", fault) for fault in faults_of(environment)),
    ]
    print_rows(rows)


def show_lock(environment: Environment, out: Path) -> None:
    """What was written."""
    needed = sum(one.is_needed for one in environment.packages)
    unknown = [fact for fact in environment.facts if fact.value is None]
    print_rows(
        [
            ("lock", str(out)),
            ("digest", environment.header.inputs["environment"]),
            ("facts", f"{len(environment.facts)}, {len(unknown)} of them unknown"),
            ("packages", f"{len(environment.packages)}, {needed} of them needed"),
            ("golden probes", str(len(environment.probes))),
            *((fact.name, f"unknown: {fact.why_unknown}") for fact in unknown),
            *(("wrong", fault) for fault in faults_of(environment)),
        ]
    )


def show_diff(diff: EnvironmentDiff) -> None:
    """A line for each difference, the worst first, then the sum of it."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("grade", no_wrap=True)
    for name in ("what", "first", "second", "why"):
        table.add_column(name, overflow="fold")
    for one in diff.differences:
        table.add_row(*map(Text, _cells(one)))
    if diff.differences:
        print_table(table)
    counts = Counter(one.grade for one in diff.differences)
    print_rows(
        [
            ("verdict", IN_WORDS[diff.grade]),
            ("differences", ", ".join(f"{n} {IN_WORDS[grade]}" for grade, n in counts.items())
             or "none"),
            ("identical", str(diff.num_identical)),
            ("golden probe", diff.probe_says),
            *(("not compared", reason) for reason in diff.not_compared),
        ]
    )  # fmt: skip


def _cells(one: Difference) -> list[str]:
    return [IN_WORDS[one.grade], one.name, _short(one.here), _short(one.there), one.why]


def _short(value: str | None) -> str:
    if not value:
        return "unknown" if value is None else "(empty)"
    return value if len(value) <= LONGEST_VALUE else value[: LONGEST_VALUE - 3] + "..."
