"""Published measurements against what filmgate predicts of them: memory and step times."""

from __future__ import annotations

from pathlib import Path

from filmgate.plan.calibrate import TimeScore
from filmgate.plan.validate import Validation, validate_rows
from filmgate.plan.validate_times import validate_times
from filmgate.records import Header


class PlanValidation(Validation, frozen=True, kw_only=True):
    """A file of published rows, predicted: memory, and step times beside it."""

    header: Header
    """Who predicted, and when."""
    times: TimeScore
    """Every row with a step time, and the score; no results where no row has one."""


def validate(path: Path) -> PlanValidation:
    """Predict every row. Raises UserError for a file that is no such table."""
    memory = validate_rows(path)
    return PlanValidation(
        **{name: getattr(memory, name) for name in memory.__struct_fields__},
        header=Header(schema="filmgate.plan-validation", schema_version=1),
        times=validate_times(path),
    )
