"""``filmgate prepare`` on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from filmgate.app.cli_options import Json, Quiet
from filmgate.app.output import print_record


def prepare(
    catalog: Annotated[Path, typer.Argument(help="Catalog that `filmgate index` wrote.")],
    out: Annotated[Path, typer.Option(help="Folder of the copies, a catalog like any other.")],
    job: Annotated[
        Path | None,
        typer.Option(help="Job file (TOML) with the clips and [prepare]; none: the defaults."),
    ] = None,
    measure: Annotated[
        bool, typer.Option("--measure", help="Only try the layouts and write the table of them.")
    ] = False,
    layout: Annotated[
        Literal["temporal", "short-gop", "intra", "jpeg", "decoded"] | None,
        typer.Option(help="How frames depend on each other; none here and in --codec: measured."),
    ] = None,
    codec: Annotated[
        Literal["h264", "hevc", "av1", "mpeg4", "jpeg", "raw"] | None,
        typer.Option(help="What compresses them; none: measured, or what suits the layout."),
    ] = None,
    quality: Annotated[
        int | None, typer.Option(min=0, max=63, help="CRF or quantiser; lower is better.")
    ] = None,
    key_every: Annotated[
        int | None, typer.Option(min=1, max=600, help="Frames between key frames; none: 16.")
    ] = None,
    reference_every: Annotated[
        int | None,
        typer.Option(min=1, max=16, help="Frames between references of layout temporal."),
    ] = None,
    short_side: Annotated[
        int | None, typer.Option(min=2, help="Pixels of the shorter side.")
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(
            metavar="WIDTHxHEIGHT",
            help="Size that copies cover, or 'source'; none here and in --short-side: the clip's.",
        ),
    ] = None,
    fps: Annotated[
        float | None, typer.Option(help="Frames per second; none: every frame at its time.")
    ] = None,
    interlaced: Annotated[
        Literal["deinterlace", "weave", "leave-out"] | None,
        typer.Option(help="Interlaced videos; none: deinterlace."),
    ] = None,
    hdr: Annotated[
        Literal["keep", "leave-out"] | None, typer.Option(help="HDR videos; none: keep.")
    ] = None,
    demand: Annotated[
        float | None, typer.Option(min=0.001, help="Clips per second that training takes.")
    ] = None,
    clips: Annotated[
        int | None,
        typer.Option(min=1, help="Clips that will be read, which have to pay for the copy."),
    ] = None,
    lowest_psnr: Annotated[
        float | None, typer.Option(help="Closeness to the scaled source, in dB; none: 38.")
    ] = None,
    largest_size: Annotated[
        float | None, typer.Option(help="Bytes of the copy over the source's; none: 0.7.")
    ] = None,
    cores: Annotated[
        int | None, typer.Option(min=1, help="Cores that may decode; none: all of this machine.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=0, help="Processes that encode; none: one per core.")
    ] = None,
    ray: Annotated[
        bool, typer.Option("--ray", help="Let Ray make the copies, on every node of its cluster.")
    ] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove copies that no source needs any more.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make a training copy: the same frames at the same times, laid out for cheap random clips.

    Without a layout, candidates are tried on some of your videos first and the table is kept.
    The same command again continues what was cut off, and follows sources that changed.
    """
    from filmgate.app.prepare import Wish, job_of, measure_catalog, prepare_catalog, refuse_copies
    from filmgate.app.show_copies import show_layouts, show_prepared
    from filmgate.app.terminal import Talk
    from filmgate.catalog import open_catalog

    told: dict[str, object] = {
        "layout": layout, "codec": codec, "quality": quality, "key_every": key_every,
        "reference_every": reference_every, "short_side": short_side, "size": size, "fps": fps,
        "interlaced": interlaced, "hdr": hdr, "lowest_psnr_db": lowest_psnr,
        "largest_size_share": largest_size,
    }  # fmt: skip
    wish = Wish(clips=clips, demand=demand, cores=cores, workers=workers, ray=ray, prune=prune)
    talk = Talk(quiet=quiet, progress=not json)
    effective = job_of(job, told)
    if measure:
        videos = open_catalog(catalog)
        refuse_copies(videos, out)
        layouts = measure_catalog(videos, out, effective, wish, talk)
        print_record(layouts) if json else show_layouts(layouts, out)
        return
    prepared, chosen = prepare_catalog(catalog, out, effective, wish, talk)
    print_record(prepared) if json else show_prepared(prepared, chosen)
