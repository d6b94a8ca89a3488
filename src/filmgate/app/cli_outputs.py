"""``filmgate outputs`` on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from filmgate.app.cli_options import Json, Quiet
from filmgate.app.output import print_record, print_text


def outputs(
    run_folder: Annotated[Path, typer.Argument(help="Folder that `filmgate run` wrote.")],
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Hand a run's numbers to what its [outputs] name: whatever was not handed over before."""
    from filmgate.app.outputs import outputs_lines, send_rest
    from filmgate.app.terminal import Talk

    record = send_rest(run_folder, Talk(quiet=quiet, progress=not json))
    print_record(record) if json else print_text(outputs_lines(record))
