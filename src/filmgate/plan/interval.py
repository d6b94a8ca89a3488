"""A figure that is known only within bounds, and where it comes from."""

from __future__ import annotations

from typing import Literal

from filmgate.errors import UserError
from filmgate.records import Record

Basis = Literal["measured", "table", "assumed", "told", "derived"]
"""``measured``: by filmgate on a machine; ``table``: somebody's figure, with source and date;
``assumed``: nobody's figure, said so; ``told``: the user's; ``derived``: computed from others."""


class Interval(Record, frozen=True):
    """Lowest and highest value that a positive figure may have."""

    low: float
    """Lower bound; the unit stands in the field's name that holds the interval."""
    high: float
    """Upper bound, at least ``low``."""

    def times(self, other: Interval | float) -> Interval:
        """The product."""
        one = _interval(other)
        return Interval(low=self.low * one.low, high=self.high * one.high)

    def plus(self, other: Interval | float) -> Interval:
        """The sum."""
        one = _interval(other)
        return Interval(low=self.low + one.low, high=self.high + one.high)

    def over(self, other: Interval | float) -> Interval:
        """The quotient; the divisor lies above 0."""
        one = _interval(other)
        return Interval(low=self.low / one.high, high=self.high / one.low)

    @property
    def middle(self) -> float:
        """Geometric mean of the bounds, so that it lies as far from one as from the other."""
        return float((self.low * self.high) ** 0.5)


def exactly(value: float) -> Interval:
    """A figure that is known."""
    return Interval(low=value, high=value)


def interval_of(low: float, high: float, *, what: str, least: float = 0.0) -> Interval:
    """Checked bounds. Raises UserError where they are below ``least`` or in the wrong order."""
    if not (least <= low <= high < float("inf")):
        raise UserError(
            f"{what} is {low:g} to {high:g}; it has to be {least:g} or more, the lower bound first",
            hint="mend the figure; leave it out where it is unknown",
        )
    return Interval(low=low, high=high)


def _interval(value: Interval | float) -> Interval:
    return value if isinstance(value, Interval) else exactly(value)
