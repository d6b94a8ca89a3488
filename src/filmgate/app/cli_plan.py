"""``filmgate plan`` on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from filmgate.app.cli_options import Json, Quiet
from filmgate.app.output import print_record
from filmgate.errors import UserError

if TYPE_CHECKING:
    from filmgate.plan.validate import Validation


def plan(
    job: Annotated[
        Path | None,
        typer.Argument(help="Job file (TOML); or the word validate, followed by a file of rows."),
    ] = None,
    rows: Annotated[
        Path | None,
        typer.Argument(help="With validate: published measurements (CSV) to be predicted."),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Work back from the deliverable to GPU memory: what the job needs, and which cards hold it.

    `filmgate plan validate ROWS.csv` predicts published measurements and prints the score.
    """
    if job is not None and job.name == "validate" and not job.exists():
        found = _validated(rows)
        print_record(found) if json else _show_validation(found)
        return
    if rows is not None:
        raise UserError(
            f"one job file is planned at a time, got also {rows}",
            hint="filmgate plan job.toml, or filmgate plan validate ROWS.csv",
        )
    from filmgate.app.plan_cards import plan_cards
    from filmgate.app.plan_memory import requested
    from filmgate.app.show_plan_memory import show_memory_plan

    record = plan_cards(requested(job))
    print_record(record) if json else show_memory_plan(record, quiet=quiet)


def _validated(rows: Path | None) -> Validation:
    if rows is None:
        raise UserError("validate needs a file of rows", hint="filmgate plan validate ROWS.csv")
    from filmgate.plan.validate import validate_rows

    return validate_rows(rows)


def _show_validation(found: Validation) -> None:
    from filmgate.app.show_plan_memory import show_validation

    show_validation(found)
