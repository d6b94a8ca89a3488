"""``filmgate pack`` on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from filmgate.app.cli_options import Json, Quiet
from filmgate.app.output import print_record


def pack(
    folder: Annotated[Path, typer.Argument(help="Folder of images.")],
    out: Annotated[Path, typer.Option(help="Folder of the pack, a catalog like any other.")],
    frames: Annotated[
        bool,
        typer.Option("--frames", help="Each folder with images is a video, in order of numbers."),
    ] = False,
    annotations: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FORMAT:PATH",
            help="Boxes, masks, tracks: coco:FILE, yolo:FOLDER or data.yaml, masks:FOLDER, "
            "instances:FOLDER, cvat:FILE or folder; may be given more than once.",
        ),
    ] = None,
    outside: Annotated[
        Literal["keep", "clip", "drop"],
        typer.Option(help="Boxes that reach past the edge of their picture."),
    ] = "keep",
    drawn_on: Annotated[
        Literal["auto", "upright", "stored"],
        typer.Option(help="Which way up annotated pictures lay, where EXIF turns them."),
    ] = "auto",
    labels: Annotated[
        str,
        typer.Option(
            help="'folder' (name of the folder that an image or its frames lie in), 'none', or a "
            "CSV file with the columns path,label."
        ),
    ] = "folder",
    fps: Annotated[str, typer.Option(help="Frames a second of folders of frames.")] = "25",
    shard_size: Annotated[str, typer.Option(help="About how large shards become.")] = "128 MB",
    workers: Annotated[
        int | None, typer.Option(min=0, help="Processes; none: one per core.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Pack a folder of images into shards that `tar` can read, with one index.

    Run again, it writes only the shards whose images changed, and goes on where it was cut off.
    """
    from filmgate.app.pack import pack_with_progress, show_pack
    from filmgate.app.terminal import Talk
    from filmgate.pack.annotate import AnnotationRules

    header = pack_with_progress(
        folder,
        out,
        Talk(quiet=quiet, progress=not json),
        kind="frames" if frames else "images",
        labels="folder" if labels == "folder" else None if labels == "none" else Path(labels),
        annotations=annotations or [],
        rules=AnnotationRules(outside=outside, drawn_on=drawn_on),
        fps=fps,
        shard_size=shard_size,
        workers=workers,
    )
    if json:
        print_record(header)
    else:
        show_pack(header, out)
