"""Predictions of published step times: each model, code and card calibrated on its first row."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from filmgate.errors import UserError
from filmgate.plan.calibrate import TimedRow, TimeScore, score_times
from filmgate.plan.memory import estimate_memory
from filmgate.plan.models import find_model
from filmgate.plan.step_work import work_of
from filmgate.plan.validate import read_rows, request_from_row

SECONDS = "sec_per_step"


def validate_times(path: Path) -> TimeScore:
    """All rows of a file that have a time. Raises UserError for a file that is none."""
    rows = [row for row in read_rows(path) if (row.get(SECONDS) or "").strip()]
    return score_times([_timed(row) for row in rows])


def _timed(row: Mapping[str, str]) -> TimedRow:
    name, said = row.get("id", ""), row[SECONDS].strip()
    try:
        seconds = float(said)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise UserError(f"row {name}: {SECONDS} is {said!r}", hint="seconds of a step, above 0")
    request = request_from_row(row)
    facts = find_model(request.model)
    group = ", ".join(row.get(column) or "unknown" for column in ("model", "framework", "gpu"))
    return TimedRow(
        name=name,
        group=group,
        work=work_of(facts, request, estimate_memory(request)),
        seconds=seconds,
        num_gpus=request.gpus if request.mode == "generate" else 1,
    )
