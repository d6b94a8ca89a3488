"""``filmgate soak`` on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from filmgate.app.cli_options import Json, Quiet
from filmgate.app.output import print_record
from filmgate.errors import UserError


def soak(
    minutes: Annotated[float, typer.Option(min=0.05, help="How long; 30 is the custom.")] = 30.0,
    out: Annotated[
        Path, typer.Option(help="File that grows line by line; it must not exist.")
    ] = Path("soak.jsonl"),
    load: Annotated[
        Literal["auto", "train", "products", "none"],
        typer.Option(
            help="train: updates of a small model fed from fixed clips; products: products of "
            "matrices, checked; none: only look, while your own job runs; auto: products on "
            "GPUs, train on processors."
        ),
    ] = "auto",
    device: Annotated[
        Literal["auto", "cpu", "cuda"], typer.Option(help="cuda: all GPUs that torch sees.")
    ] = "auto",
    batch_size: Annotated[int | None, typer.Option(min=1, help="Clips of a step.")] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="CPU threads; none: the cores that may be used.")
    ] = None,
    clips: Annotated[
        list[Path] | None,
        typer.Option(help="Catalog or video to train on; none: clips that filmgate carries."),
    ] = None,
    every: Annotated[
        float, typer.Option(min=0.1, max=600, help="Seconds between two samples.")
    ] = 1.0,
    read: Annotated[
        Path | None,
        typer.Option(help="Sum up this soak in place of a new one; it may still be growing."),
    ] = None,
    compare: Annotated[
        Path | None, typer.Option(help="An earlier soak to compare with at the end.")
    ] = None,
    changed: Annotated[
        str | None,
        typer.Option(help="The one thing that was changed, such as 'power limit' or batch_size."),
    ] = None,
    page: Annotated[Path | None, typer.Option(help="Write the curves as an HTML page.")] = None,
    note: Annotated[str, typer.Option(help="What you want to remember of it.")] = "",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Keep the machine busy for long and watch clocks, heat, power, slow-downs and errors.

    Ctrl-C ends it with a whole, shorter result. No setting is ever changed; exit code 1 when the
    load itself failed.
    """
    from filmgate.app.show_soak import show_soak, show_soak_comparison
    from filmgate.app.soak import Plan, exit_code, run_soak
    from filmgate.app.soak_page import write_soak_page
    from filmgate.app.terminal import Talk
    from filmgate.machine.soak.compare import compare_soaks, refuse_unlike
    from filmgate.machine.soak.lines import read_lines
    from filmgate.machine.soak.result import read_soak, summed_up

    before = None if compare is None else read_lines(compare)
    if changed is not None and before is None:
        raise UserError("--changed is for --compare", hint="name the earlier soak with --compare")
    if read is None:
        plan = Plan(
            seconds=minutes * 60, interval_seconds=every, load=load, device=device,
            batch_size=batch_size, threads=threads, clips=clips or [], note=note,
        )  # fmt: skip
        code = exit_code(run_soak(plan, out, Talk(quiet=quiet, progress=not json)))
    else:
        code = 0
    found = read_soak(read or out)
    if page is not None:
        write_soak_page(page, found)
    if before is None:
        print_record(found) if json else show_soak(found, read or out)
    else:
        unlike = refuse_unlike(before[0], read_lines(read or out)[0], changed)
        comparison = compare_soaks(summed_up(*before), found, unlike, changed)
        print_record(comparison) if json else show_soak_comparison(comparison)
    if code:
        raise typer.Exit(code)
