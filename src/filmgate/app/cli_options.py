"""Options that many commands have."""

from __future__ import annotations

from typing import Annotated

import typer

Json = Annotated[
    bool,
    typer.Option(
        "--json", help="Print the record as JSON, and nothing else; an error is a record, too."
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no notes.")]
