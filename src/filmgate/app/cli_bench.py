"""``filmgate bench`` on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from filmgate.app.cli_options import Json, Quiet
from filmgate.app.output import print_record

if TYPE_CHECKING:
    from filmgate.bench.ask import Ask
    from filmgate.machine.measured import MachineMeasured, PartName

bench_app = typer.Typer(no_args_is_help=True, help="Measure what this machine really gives.")

Quick = Annotated[bool, typer.Option("--quick", help="Fewer and shorter repetitions.")]
Out = Annotated[
    Path | None, typer.Option(help="Write the record, for example bench.json; none: not kept.")
]
Page = Annotated[Path | None, typer.Option(help="Write the figures as an HTML page.")]
Device = Annotated[
    str | None, typer.Option(help="cpu, cuda or cuda:1; none: a GPU where there is one.")
]


QUICK_SECONDS = 3.0
"""Window of `bench feed --quick`."""


@bench_app.command()
def storage(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Files that are there, folders of them, or a catalog; they are only read. None: "
            "files are laid out in --dir."
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--dir", help="Where files are laid out and removed; none: this folder."),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(help="How much is laid out or read; none: 4GiB, or 1GiB with --quick."),
    ] = None,
    job: Annotated[
        Path | None,
        typer.Option("--for", help="Job file (TOML) whose loader's reads are replayed."),
    ] = None,
    catalog: Annotated[Path | None, typer.Option(help="Catalog of that job.")] = None,
    step_ms: Annotated[
        float | None,
        typer.Option(help="How long a training step of that job computes; none: not compared."),
    ] = None,
    quick: Quick = False,
    out: Out = None,
    page: Page = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure what storage reads past the page cache: in sequence, at random, as a loader does.

    With fio where it is installed. Folders in main memory (tmpfs) are refused.
    """
    from filmgate.app.bench_storage import storage_ask

    ask = storage_ask(
        paths or [], folder=folder, size=size, job=job, catalog=catalog, step_ms=step_ms,
        quick=quick,
    )  # fmt: skip
    _one("storage", ask, out, page, json, quiet)


@bench_app.command()
def decode(
    videos: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Catalog, folders or files of video; none: clips of each codec and size that are "
            "made here."
        ),
    ] = None,
    catalog: Annotated[
        Path | None, typer.Option(help="A catalog that is there already, in place of VIDEOS.")
    ] = None,
    device: Device = None,
    quick: Quick = False,
    out: Out = None,
    page: Page = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure how fast videos are decoded, by codec, size, number of cores, and by NVDEC."""
    from filmgate.bench.ask import Ask

    ask = Ask(quick=quick, videos=(*(videos or ()), *([catalog] if catalog else ())), device=device)
    _one("decode", ask, out, page, json, quiet)


@bench_app.command()
def memory(
    device: Device = None,
    quick: Quick = False,
    out: Out = None,
    page: Page = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure the bandwidth of main memory, of GPU memory, and between them."""
    from filmgate.bench.ask import Ask

    _one("memory", Ask(quick=quick, device=device), out, page, json, quiet)


@bench_app.command()
def precision(
    device: Device = None,
    quick: Quick = False,
    out: Out = None,
    page: Page = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure what matrix multiplication reaches in each number format that works here."""
    from filmgate.bench.ask import Ask

    _one("precision", Ask(quick=quick, device=device), out, page, json, quiet)


@bench_app.command()
def sync(
    gradient_bytes: Annotated[
        str | None, typer.Option(help="What a rank exchanges in a step, for example 2.8GB.")
    ] = None,
    job: Annotated[
        Path | None,
        typer.Option("--for", help="Job file (TOML) whose model's gradients are exchanged."),
    ] = None,
    step_ms: Annotated[
        float | None,
        typer.Option(help="How long a rank computes in a step; none: the job's is measured."),
    ] = None,
    ranks: Annotated[
        int | None, typer.Option(help="Processes; none: one for each GPU, 2 on a CPU.")
    ] = None,
    device: Device = None,
    quick: Quick = False,
    out: Out = None,
    page: Page = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure how fast ranks sum gradients (NCCL between GPUs, gloo between CPU processes).

    With a gradient and a step time it predicts the share of the step that is exchange.
    """
    from filmgate.app.bench_job import ask_for_sync

    ask = ask_for_sync(
        quick=quick, device=device, ranks=ranks, gradient_bytes=gradient_bytes, job_file=job,
        step_ms=step_ms,
    )  # fmt: skip
    _one("sync", ask, out, page, json, quiet)


@bench_app.command()
def feed(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(help="A catalog, or folders or files of video; none: four demo clips."),
    ] = None,
    job: Annotated[Path | None, typer.Option(help="Job file (TOML); none: the defaults.")] = None,
    step_ms: Annotated[
        float | None,
        typer.Option(help="How long a training step computes; none: the job's model is measured."),
    ] = None,
    demand_share: Annotated[
        float | None,
        typer.Option(
            help="Demand as a share of the supply just measured, for example 0.85, in place of "
            "a step time."
        ),
    ] = None,
    step: Annotated[
        str | None,
        typer.Option(
            help="Your own step, module:function, called with each batch, in place of the job's "
            "model."
        ),
    ] = None,
    seconds: Annotated[float, typer.Option(help="Length of each window.")] = 10.0,
    workers: Annotated[
        int | None,
        typer.Option(min=0, max=1024, help="Feed worker processes; none: as the job says."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Windows of at most 3 s.")] = False,
    out: Out = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure what the feed can give, what training takes, and what a clip costs.

    Nothing is trained and nothing is kept.
    """
    from filmgate.app.bench import machine_measured
    from filmgate.app.bench_feed import part_of_feed
    from filmgate.app.feed_bench import Demand, measure_feed
    from filmgate.app.terminal import Talk
    from filmgate.records import write_record

    record = measure_feed(
        paths or [],
        job,
        seconds=min(seconds, QUICK_SECONDS) if quick else seconds,
        demand=Demand(
            step_seconds=None if step_ms is None else step_ms / 1000,
            supply_share=demand_share,
            step=step,
        ),
        workers=workers,
        talk=Talk(quiet=quiet, progress=not json),
    )
    if out is not None:
        write_record(out, machine_measured([part_of_feed(record)], quick=quick))
    if json:
        print_record(record)
    else:
        from filmgate.app.show import show_feed_bench

        show_feed_bench(record)


@bench_app.command(name="all")
def all_(
    folder: Annotated[
        Path | None, typer.Argument(help="Where storage is measured; none: this folder.")
    ] = None,
    quick: Quick = False,
    out: Out = None,
    page: Page = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure every part, each in a process of its own; one that fails is named and the rest go on.

    The record (bench.json) is what plan and audit read.
    """
    from filmgate.app.bench import Given, measure_all
    from filmgate.app.terminal import Talk

    given = Given(
        words={
            "storage": ("--dir", str(folder)) if folder else (), "decode": (), "memory": (),
            "precision": (), "sync": (), "feed": (),
        }
    )  # fmt: skip
    record = measure_all(given, Talk(quiet=quiet, progress=not json), quick=quick)
    _tell(record, out, page, json=json)


def _one(
    name: PartName, ask: Ask, out: Path | None, page: Path | None, json: bool, quiet: bool
) -> None:
    from filmgate.app.bench import measure_part
    from filmgate.app.terminal import Talk

    _tell(measure_part(name, ask, Talk(quiet=quiet, progress=not json)), out, page, json=json)


def _tell(record: MachineMeasured, out: Path | None, page: Path | None, *, json: bool) -> None:
    from filmgate.app.bench_page import write_bench_page
    from filmgate.app.show_bench import show_bench
    from filmgate.records import write_record

    if out is not None:
        write_record(out, record)
    if page is not None:
        write_bench_page(page, record)
    print_record(record) if json else show_bench(record)
