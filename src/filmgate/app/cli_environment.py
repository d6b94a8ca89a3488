"""``filmgate env`` on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from filmgate.app.cli_options import Json
from filmgate.app.output import print_record

environment_app = typer.Typer(
    no_args_is_help=True, help="Pin what is installed and set, and grade what differs elsewhere."
)

Deep = Annotated[
    bool,
    typer.Option("--deep", help="Hold installed files against their hashes, not only their sizes."),
]
Probe = Annotated[
    bool,
    typer.Option(
        "--probe/--no-probe", help="Decode golden clips and do a tiny training step as well."
    ),
]
Uses = Annotated[
    list[str] | None,
    typer.Option(help="A package that your own code imports; may be given again."),
]
Container = Annotated[
    str | None,
    typer.Option(help="Digest of the container image, which nothing inside it can tell."),
]


@environment_app.command()
def lock(
    out: Annotated[Path, typer.Option(help="Folder of the lock.")] = Path("lock"),
    uses: Uses = None,
    container_digest: Container = None,
    probe: Probe = True,
    deep: Deep = False,
    json: Json = False,
) -> None:
    """Write environment.json, requirements.txt and a Containerfile: one lock for here and there.

    It holds no secret: of the environment variables only a list of harmless ones is read.
    """
    from filmgate.app.environment import environment_now, refuse_missing, write_lock
    from filmgate.app.show_environment import show_lock

    environment = environment_now(
        uses=uses or [], container_digest=container_digest, probe=probe, deep=deep
    )
    refuse_missing(environment)
    write_lock(environment, out)
    print_record(environment) if json else show_lock(environment, out)


@environment_app.command(name="show")
def show_(
    file: Annotated[
        Path | None, typer.Argument(metavar="LOCK", help="A lock; none: what is here now.")
    ] = None,
    probe: Probe = True,
    json: Json = False,
) -> None:
    """Show a lock, or what is installed and set here now."""
    from filmgate.app.environment import environment_now, read_lock
    from filmgate.app.show_environment import show_environment

    environment = environment_now(probe=probe) if file is None else read_lock(file)
    print_record(environment) if json else show_environment(environment)


@environment_app.command()
def diff(
    first: Annotated[Path, typer.Argument(help="A lock, for example of this machine.")],
    second: Annotated[Path, typer.Argument(help="Another lock, for example of the cloud.")],
    json: Json = False,
) -> None:
    """Grade every difference of two locks: cosmetic, performance, can change results, breaks."""
    from filmgate.app.environment import read_lock
    from filmgate.app.show_environment import show_diff
    from filmgate.machine.environment.diff import compare_environments

    found = compare_environments(read_lock(first), read_lock(second))
    print_record(found) if json else show_diff(found)


@environment_app.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="LOCK", help="The lock that has to hold here.")],
    allow: Annotated[
        Literal["identical", "cosmetic", "performance", "results"],
        typer.Option(help="The worst difference that may be."),
    ] = "performance",
    only: Annotated[
        list[str] | None,
        typer.Option(help="Area to look at, such as package or probe; may be given again."),
    ] = None,
    deep: Deep = False,
    json: Json = False,
) -> None:
    """Hold this machine against a lock; exit code 1 when a difference is worse than allowed."""
    from filmgate.app.environment import check_lock
    from filmgate.app.show_environment import show_diff
    from filmgate.machine.environment.grades import is_worse

    found = check_lock(file, only=only or [], deep=deep)
    print_record(found) if json else show_diff(found)
    if is_worse(found.grade, allow):
        raise typer.Exit(1)
