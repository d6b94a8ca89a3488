"""The command line: one command per job, the record on stdout, talk on stderr.

Heavy rooms are imported inside the commands that need them, so that ``--help`` answers at once.
"""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer.exceptions import TyperException

from filmgate import __version__
from filmgate.app.cli_baseline import baseline_app
from filmgate.app.cli_bench import bench_app, feed
from filmgate.app.cli_environment import environment_app
from filmgate.app.cli_launch import launch_app
from filmgate.app.cli_machine import audit, machine_app
from filmgate.app.cli_options import Json, Quiet
from filmgate.app.cli_outputs import outputs
from filmgate.app.cli_pack import pack
from filmgate.app.cli_plan import plan
from filmgate.app.cli_prepare import prepare
from filmgate.app.cli_soak import soak
from filmgate.app.cli_stage import stage
from filmgate.app.interrupt import Terminated, answer_signals, ignore_repeats
from filmgate.app.output import discard_stdout, print_record, print_text
from filmgate.errors import FilmgateError, UserError

if TYPE_CHECKING:
    from filmgate.app.failure import Failure
    from filmgate.catalog import CatalogSummary

app = typer.Typer(
    name="filmgate",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Keeps GPUs fed with video: index, feed, train, explain.",
)
catalog_app = typer.Typer(no_args_is_help=True, help="Look into a catalog that `index` made.")
app.add_typer(catalog_app, name="catalog")
feed_app = typer.Typer(no_args_is_help=True, help="Look at the feed that training draws from.")
app.add_typer(feed_app, name="feed")
app.add_typer(environment_app, name="env")
app.add_typer(machine_app, name="machine")
app.add_typer(baseline_app, name="baseline")
app.add_typer(bench_app, name="bench")
app.add_typer(launch_app, name="launch")
feed_app.command(name="bench")(feed)

Labels = Annotated[
    str,
    typer.Option(
        help="Where labels come from: 'folder' (name of the folder a video lies in), "
        "'none', or a CSV file with the columns path,label."
    ),
]


def main() -> None:
    """Run the command line and exit with its code: 0 done, 2 mend the input, 1 failed otherwise."""
    answer_signals()
    code = run_command_line(sys.argv[1:])
    ignore_repeats()
    sys.exit(code)


def run_command_line(arguments: list[str]) -> int:
    """The exit code; foreseen errors are printed as ``error:`` and ``hint:`` lines.

    With ``--json`` they are on stdout as well, as a ``Failure``.
    """
    is_json = "--json" in arguments
    try:
        code = app(arguments, standalone_mode=False, prog_name="filmgate") or 0
        # How typer says KeyboardInterrupt; no command ends with this code by itself.
        return _stopped(signal.SIGINT, is_json=is_json) if code == 128 + signal.SIGINT else code
    except TyperException as error:
        if not error.format_message():  # no command at all: the help was printed
            return 2
        return _report(_misused(error), is_json=is_json)
    except FilmgateError as error:
        return _report(error, is_json=is_json)
    except BrokenPipeError:
        discard_stdout()
        return 1
    except OSError as error:
        return _report(_mendable(error), is_json=is_json)
    except Terminated as signalled:
        return _stopped(signalled.number, is_json=is_json)
    except (KeyboardInterrupt, typer.Abort):
        return _stopped(signal.SIGINT, is_json=is_json)


def _misused(error: TyperException) -> UserError:
    """The error as one of ours, with what was given, which pydantic leaves out of its sentences."""
    message, context = error.format_message(), getattr(error, "ctx", None)
    if errors := getattr(error.__cause__, "errors", None):
        message += f"; it is {errors()[0]['input']!r}"
    if context is None or context.parent is None:
        return UserError(message, hint="filmgate --help lists the commands")
    return UserError(message, hint=f"{context.command_path} --help lists what is allowed")


def _mendable(error: OSError) -> UserError:
    """The error as one that the user can mend; one that tells neither place nor cause is raised."""
    if error.filename is not None:
        hint = "check the path, its free space and your rights"
        return UserError(f"{error.filename}: {error.strerror}", hint=hint)
    try:
        Path.cwd()
    except OSError:
        return UserError("the current folder is gone", hint="change to a folder that exists")
    raise error


def _report(error: FilmgateError, *, is_json: bool) -> int:
    from filmgate.app.failure import failure_of
    from filmgate.app.terminal import Talk

    Talk().error(error)
    failure = failure_of(error)
    if is_json:
        _print_failure(failure)
    return failure.exit_code


def _stopped(number: int, *, is_json: bool) -> int:
    from filmgate.app.failure import stopped_by

    failure = stopped_by(number)
    if is_json:
        _print_failure(failure)
    return failure.exit_code


def _print_failure(failure: Failure) -> None:
    """Where stdout is what failed, stderr has said it."""
    with suppress(UserError, BrokenPipeError):
        print_record(failure)


@app.callback(invoke_without_command=True)
def _top(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        print_text(f"{__version__}\n")
        raise typer.Exit


@app.command()
def run(
    videos: Annotated[
        list[Path] | None,
        typer.Argument(help="A catalog, or folders or files of video; none: four demo clips."),
    ] = None,
    job: Annotated[Path | None, typer.Option(help="Job file (TOML); none: the defaults.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Run folder; none: a numbered one under runs/.")
    ] = None,
    labels: Labels = "folder",
    ranks: Annotated[
        int, typer.Option(min=1, help="Training processes on this machine, a GPU each.")
    ] = 1,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Walk the road: index, feed, train, evaluate, diagnose; ends with a verdict and a report.

    The same command again continues a run that was cut off.
    """
    from filmgate.app.run import walk
    from filmgate.app.terminal import Talk

    talk = Talk(quiet=quiet, progress=not json)
    record = walk(videos or [], job, out, _labels(labels), talk, num_ranks=ranks)
    if json:
        print_record(record)
    else:
        from filmgate.app.show import show_run

        show_run(record, record.verdict, Path(record.report))


@app.command()
def index(
    paths: Annotated[list[Path], typer.Argument(help="Folders or files of video.")],
    out: Annotated[Path, typer.Option(help="Folder of the catalog.")],
    labels: Labels = "folder",
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes; none: one per core.")
    ] = None,
    ray: Annotated[
        bool, typer.Option("--ray", help="Let Ray read the files, on every node of its cluster.")
    ] = False,
    retry: Annotated[
        bool, typer.Option("--retry", help="Try files again that were left out.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find and probe videos; write their frame tables, digests and labels as a catalog.

    Run again, it goes on where it was cut off, and reads only files that are new or changed.
    """
    from filmgate.app.index import executor_of, index_with_progress
    from filmgate.app.terminal import Talk
    from filmgate.catalog import summarise

    talk = Talk(quiet=quiet, progress=not json)
    executor = executor_of(ray=ray, workers=workers)
    catalog = index_with_progress(
        paths, out, _labels(labels), talk, workers, executor=executor, retry_left_out=retry
    )
    _show_catalog(summarise(catalog), json=json)


app.command()(prepare)
app.command()(stage)
app.command()(audit)
app.command()(soak)
app.command()(pack)
app.command()(plan)
app.command()(outputs)


@catalog_app.command()
def show(
    catalog: Annotated[Path, typer.Argument(help="Folder that `filmgate index` wrote.")],
    json: Json = False,
) -> None:
    """Summarise a catalog, and warn of what makes training slow or wrong."""
    from filmgate.catalog import open_catalog, summarise

    _show_catalog(summarise(open_catalog(catalog)), json=json)


@app.command()
def frames(
    file: Annotated[Path, typer.Argument(help="One video file.")],
    md5: Annotated[
        bool, typer.Option("--md5", help="Hash the native pixels of each frame, as framemd5 does.")
    ] = False,
    order: Annotated[
        Literal["sequential", "random"],
        typer.Option(help="random: fetch the frames one by one in random order; same output."),
    ] = "sequential",
    seed: Annotated[int, typer.Option(min=0, help="Of the random order.")] = 0,
    json: Json = False,
) -> None:
    """List the displayed frames of a file: index, time in seconds and, with --md5, pixel hash."""
    from filmgate.app.frames import list_frames
    from filmgate.app.terminal import Talk

    talk = Talk(progress=not json)
    record = list_frames(file, md5=md5, order=order, seed=seed, talk=talk)
    lost = [frame for frame in record.frames if frame.fault is not None]
    if lost:
        talk.note(
            f"{len(lost)} of {len(record.frames)} frames do not come out and have no md5; "
            f"frame {lost[0].index}: {lost[0].fault}"
        )
    if json:
        print_record(record)
        return
    rows = [
        [str(frame.index), f"{frame.seconds:.6f}", *([frame.md5] if frame.md5 else [])]
        for frame in record.frames
    ]
    print_text("".join("\t".join(row) + "\n" for row in rows))


@app.command()
def diagnose(
    run_folder: Annotated[Path, typer.Argument(help="Folder that `filmgate run` wrote.")],
    json: Json = False,
) -> None:
    """Say from a run's telemetry what held it back, and what to change first."""
    from filmgate.app.show import show_verdict
    from filmgate.diagnose import diagnose as explain

    verdict = explain(run_folder)
    if json:
        print_record(verdict)
    else:
        show_verdict(verdict)


def _labels(text: str) -> Literal["folder"] | Path | None:
    if text == "folder":
        return "folder"
    return None if text == "none" else Path(text)


def _show_catalog(summary: CatalogSummary, *, json: bool) -> None:
    if json:
        print_record(summary)
    else:
        from filmgate.app.show import show_catalog

        show_catalog(summary)
