"""Numbers of a telemetry line, each under the name that it has there."""

from __future__ import annotations

import math
from dataclasses import dataclass

import msgspec

from filmgate.records.telemetry import AnyLine

_NOT_NUMBERS = ("unix_seconds", "attempt", "step", "header")


@dataclass(frozen=True, kw_only=True)
class Point:
    """One number of one step."""

    key: str
    """``kind/field``, for example ``step/loss``."""
    value: float
    step: int
    unix_seconds: float
    """When it was measured."""


def points_of(line: AnyLine) -> list[Point]:
    """Every finite number of a line; what is unknown is left out, and never 0."""
    kind = msgspec.to_builtins(line)["kind"]
    found = []
    for field in line.__struct_fields__:
        value = getattr(line, field)
        if field in _NOT_NUMBERS or isinstance(value, bool) or not isinstance(value, int | float):
            continue
        if math.isfinite(value):
            found.append(
                Point(
                    key=f"{kind}/{field}",
                    value=float(value),
                    step=line.step,
                    unix_seconds=line.unix_seconds,
                )
            )
    return found
