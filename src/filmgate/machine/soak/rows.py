"""What findings are, and the rows that they stand on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from filmgate.machine.soak.counted import Count, Event
from filmgate.machine.soak.windows import Curve
from filmgate.records import Record

Grade = Literal["fault", "slows", "note"]
WORST_FIRST: tuple[Grade, ...] = ("fault", "slows", "note")
FELL = 0.03
"""A loss of throughput or clock from which it is worth a word."""


class Finding(Record, frozen=True):
    """One thing that the soak shows."""

    kind: str
    """For example ``heat``, ``power cap``, ``link``, ``errors``."""
    subject: str
    """``GPU 0``, ``processor``, ``host``, ``load``."""
    grade: Grade
    """``fault``: something is broken; ``slows``: it costs throughput; ``note``: good to know."""
    says: str
    """In a sentence."""
    because: list[str]
    """Names of the curves, events and counts that it stands on."""
    advice: list[str]
    """What to try, the cheapest first; nothing is changed by filmgate."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """The rows of a soak by name."""

    load_kind: str
    curves: dict[str, Curve] = field(default_factory=dict)
    events: dict[str, Event] = field(default_factory=dict)
    counts: dict[str, Count] = field(default_factory=dict)
    default_watts: dict[int, float] = field(default_factory=dict)
    """GPU -> the power limit that it was sold with."""
    gpus: Sequence[int] = ()

    def fell(self, name: str) -> bool:
        """Whether a curve is lower at the end, by more than chance and by what is worth a word."""
        curve = self.curves.get(name)
        if curve is None or curve.change is None:
            return False
        return bool(curve.is_different) and curve.change <= -FELL

    def last(self, name: str) -> float | None:
        """A curve's value at the end."""
        curve = self.curves.get(name)
        return curve.last if curve else None

    def rows(self, *names: str) -> list[str]:
        """Those of the names that there are."""
        return [
            one for one in names if one in self.curves or one in self.events or one in self.counts
        ]

    def share(self, name: str) -> float:
        """Of the samples in which an event was so; 0 where it never was."""
        return self.events[name].share if name in self.events else 0.0

    def worse(self, name: str) -> float:
        """The larger one of both windows of a curve; 0 where it is not known."""
        curve = self.curves.get(name)
        windows = (curve.first, curve.last) if curve else ()
        return max((one for one in windows if one is not None), default=0.0)
