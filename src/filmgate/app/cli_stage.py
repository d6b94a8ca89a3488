"""``filmgate stage`` on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from filmgate.app.cli_options import Json, Quiet
from filmgate.app.output import print_record


def stage(
    catalog: Annotated[Path, typer.Argument(help="Catalog of videos, or pack, that is to be hot.")],
    to: Annotated[Path, typer.Option(help="Folder of the hot tier; opens as the same catalog.")],
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FOLDER|URL",
            help="Where the videos lie by their ids, or the pack, for example s3://bucket/folder; "
            "none: where the catalog says.",
        ),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(
            metavar="CONDITION",
            help="Only videos for which it holds, for example: "
            '\'label == "warm" and glob(video_id, "cam-1/*")\'.',
        ),
    ] = None,
    job: Annotated[
        Path | None,
        typer.Option("--for", help="Job file (TOML); its first epoch gives the order."),
    ] = None,
    budget: Annotated[
        str | None, typer.Option(help="Most of the hot tier, for example 500GB; none: the disk.")
    ] = None,
    rate: Annotated[
        str | None, typer.Option(help="Most per second, for example 200MB; none: no limit.")
    ] = None,
    parallel: Annotated[int, typer.Option(min=1, help="Files on their way at a time.")] = 4,
    chunk: Annotated[str, typer.Option(help="Size of what is asked for at once.")] = "16MiB",
    stall_seconds: Annotated[
        float, typer.Option(min=0.1, help="Without a byte for so long, a chunk is begun anew.")
    ] = 60.0,
    evict: Annotated[
        bool,
        typer.Option(
            "--evict", help="Remove files that are not wanted, where the wanted have no room."
        ),
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Read every wanted hot file whole first.")
    ] = False,
    pin: Annotated[
        bool | None,
        typer.Option("--pin/--unpin", help="Never evict these from now on, or let them go."),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Copy videos or packs from slow storage or an object store to a fast disk, verified.

    The same command again goes on from the last chunk. The feed reads each video where it is
    fastest.
    """
    from filmgate.app.stage import Wish, show_staged, stage_catalog
    from filmgate.app.terminal import Talk

    wish = Wish(
        source=source,
        where=where,
        job=job,
        budget=budget,
        rate=rate,
        parallel=parallel,
        chunk=chunk,
        stall_seconds=stall_seconds,
        evict=evict,
        check=check,
        pin=pin,
    )
    staged = stage_catalog(catalog, to, wish, Talk(quiet=quiet, progress=not json))
    print_record(staged) if json else show_staged(staged)
