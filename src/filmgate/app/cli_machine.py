"""``filmgate machine`` and ``filmgate audit`` on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from filmgate.app.cli_options import Json
from filmgate.app.output import print_record

machine_app = typer.Typer(
    no_args_is_help=True, help="What a machine is made of: this one, or one that was captured."
)

Capture = Annotated[
    Path | None,
    typer.Option(
        help="Another machine: what `machine capture` wrote, an hwloc XML file, a saved record, "
        "or a tree of /proc and /sys (folder or tar). None: this machine."
    ),
]


@machine_app.command(name="show")
def show_(
    capture: Capture = None,
    page: Annotated[
        Path | None, typer.Option(help="Write an HTML page with the drawing and all facts.")
    ] = None,
    svg: Annotated[Path | None, typer.Option(help="Write the drawing of the topology.")] = None,
    bench: Annotated[
        Path | None,
        typer.Option(help="Show below it the figures of this machine that `filmgate bench` wrote."),
    ] = None,
    json: Json = False,
) -> None:
    """Show GPUs, processors, memory, drives, network and software, and what hangs where.

    Nothing is measured. What could not be read is unknown, with the reason.
    """
    from filmgate.app.bench import read_bench
    from filmgate.app.machine_page import write_machine_page
    from filmgate.app.show_bench import show_bench
    from filmgate.app.show_machine import show_machine
    from filmgate.errors import UserError
    from filmgate.machine import open_machine
    from filmgate.machine.topology import topology_of
    from filmgate.machine.topology_svg import topology_svg
    from filmgate.records import write_file

    if bench is not None and json:
        raise UserError(
            "a machine's record holds nothing that was measured",
            hint="leave --bench or --json out; bench.json is a record of its own",
        )
    machine = open_machine(capture)
    measured = None if bench is None else read_bench(bench, machine)
    if page is not None:
        write_machine_page(page, machine, measured)
    if svg is not None:
        write_file(svg, topology_svg(topology_of(machine)).encode())
    print_record(machine) if json else show_machine(machine)
    if measured is not None:
        show_bench(measured)


@machine_app.command(name="capture")
def capture_(
    out: Annotated[Path, typer.Argument(help="File to write, for example machine.tar.gz.")],
    json: Json = False,
) -> None:
    """Write what the readers look at on this machine to a file, for a look at it elsewhere.

    It holds no serial numbers, no UUIDs, no MAC or IP addresses and no names of servers; mount
    points and names of interfaces stay.
    """
    from filmgate.app.show_machine import show_capture
    from filmgate.machine.capture import capture_machine

    capture = capture_machine(out)
    print_record(capture) if json else show_capture(capture, out)


def audit(
    capture: Capture = None,
    job: Annotated[
        Path | None,
        typer.Option("--for", help="Job file (TOML) whose needs count; none: the field's rules."),
    ] = None,
    dataset: Annotated[Path | None, typer.Option(help="Where the videos lie.")] = None,
    checkpoints: Annotated[Path | None, typer.Option(help="Where run folders lie.")] = None,
    second_copy: Annotated[
        Path | None, typer.Option(help="Where checkpoints and models are copied to.")
    ] = None,
    nodes: Annotated[int, typer.Option(min=1, help="Machines that train together.")] = 1,
    need_vram: Annotated[
        str | None, typer.Option(help="GPU memory that the job needs, for example 60GB.")
    ] = None,
    need_read: Annotated[
        str | None, typer.Option(help="Bytes a second that the loader asks, for example 2GB.")
    ] = None,
    measured_read: Annotated[
        str | None, typer.Option(help="Bytes a second that the storage was measured to give.")
    ] = None,
    bench: Annotated[
        Path | None,
        typer.Option(
            help="Figures of that machine that `filmgate bench` wrote; --need-read and "
            "--measured-read stand above them."
        ),
    ] = None,
    attest: Annotated[
        list[str] | None,
        typer.Option(help='What a person knows, "LINE=yes: note"; may be given again.'),
    ] = None,
    by: Annotated[str | None, typer.Option(help="Who attests.")] = None,
    ask: Annotated[
        bool, typer.Option("--ask", help="Ask on the terminal what the machine cannot know.")
    ] = False,
    attested: Annotated[
        Path | None,
        typer.Option(
            help="File that keeps the answers; none: attested.json here, for this machine only."
        ),
    ] = None,
    page: Annotated[Path | None, typer.Option(help="Write the report as an HTML page.")] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Warnings and unknown lines count as failed, too.")
    ] = False,
    json: Json = False,
) -> None:
    """Hold a machine against the deployment checklist; exit code 1 when a line fails.

    Every line is ok, warn, fail, unknown, not present or attested, with its evidence and the next
    step. Nothing is measured.
    """
    from filmgate.app.audit import Wish, audit_with, has_failed
    from filmgate.app.audit_page import write_audit_page
    from filmgate.app.show_machine import show_audit

    wish = Wish(
        capture=capture, job=job, dataset=dataset, checkpoints=checkpoints,
        second_copy=second_copy, nodes=nodes, need_vram=need_vram, need_read=need_read,
        measured_read=measured_read, bench=bench, attest=tuple(attest or ()), by=by, ask=ask,
        attested=attested,
    )  # fmt: skip
    record = audit_with(wish)
    if page is not None:
        write_audit_page(page, record)
    print_record(record) if json else show_audit(record)
    if has_failed(record, strict=strict):
        raise typer.Exit(1)
