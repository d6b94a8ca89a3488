"""Figures that are measured in turns: one repetition of each a round.

A machine that is busy for a while slows a part of every figure, and not all of one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from filmgate.bench.ask import Tell
from filmgate.machine.measured import Measure, Unit, measure_of


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure to be measured once a round; what it says of itself is as in ``Measure``."""

    name: str
    unit: Unit
    run: Callable[[int], float]
    """The value of a round, which is told its number."""
    definition: str
    anchor: str
    conditions: dict[str, str] = field(default_factory=dict)
    warm_up: str = ""
    notes: tuple[str, ...] = ()


def measure_in_turns(figures: Sequence[Figure], rounds: int, tell: Tell) -> list[Measure]:
    """Every figure with a value of each round. Raises what a figure raises."""
    values: dict[str, list[float]] = {figure.name: [] for figure in figures}
    total = rounds * len(figures)
    for number in range(rounds):
        for place, figure in enumerate(figures):
            tell(number * len(figures) + place, total, figure.name)
            values[figure.name].append(figure.run(number))
    tell(total, total, "")
    return [
        measure_of(
            one.name, one.unit, values[one.name], definition=one.definition, anchor=one.anchor,
            warm_up=one.warm_up, conditions=one.conditions, notes=one.notes,
        )
        for one in figures
    ]  # fmt: skip
