"""``filmgate baseline`` on the command line."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Literal

import typer

from filmgate.app.cli_options import Json, Quiet
from filmgate.app.output import print_record
from filmgate.errors import UserError

baseline_app = typer.Typer(
    no_args_is_help=True, help="Run a fixed job under the clock; compare before and after a change."
)

Changed = Annotated[
    str | None,
    typer.Option(help="The one thing that was changed, such as torch, threads or 'power limit'."),
]
Force = Annotated[
    bool, typer.Option("--force", help="Compare although more differs, and mark the result.")
]
ClockOption = Annotated[
    Literal["wall", "cpu"],
    typer.Option(help="The time that the verdict is about; cpu minds other programs less."),
]


@baseline_app.command()
def run(
    out: Annotated[Path, typer.Option(help="File of the baseline.")] = Path("baseline.json"),
    job: Annotated[
        Literal["sample", "train"],
        typer.Option(help="A video diffusion transformer that is sampled, or a training run."),
    ] = "sample",
    command: Annotated[
        str | None, typer.Option(help="Your own command in place of a job, quoted as one word.")
    ] = None,
    against: Annotated[
        Path | None, typer.Option(help="An earlier baseline to compare with at once.")
    ] = None,
    changed: Changed = None,
    force: Force = False,
    clock: ClockOption = "wall",
    more: Annotated[
        bool, typer.Option("--more", help="Add starts to the baseline that --out holds.")
    ] = False,
    starts: Annotated[int, typer.Option(min=1, help="Fresh processes.")] = 5,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds that count in each.")] = 4,
    warm_up: Annotated[int, typer.Option(min=0, help="Rounds before them.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Of weights, noise and order.")] = 0,
    width: Annotated[int | None, typer.Option(min=16, help="Pixels; none: the job's own.")] = None,
    height: Annotated[int | None, typer.Option(min=16, help="Pixels; none: the job's own.")] = None,
    frames: Annotated[int | None, typer.Option(min=1, help="Frames of the clip.")] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Denoising steps or updates of a round.")
    ] = None,
    batch_size: Annotated[int | None, typer.Option(min=1, help="Clips at once.")] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="CPU threads; none: the cores that may be used.")
    ] = None,
    prompt: Annotated[str, typer.Option(help="Prompt of --job sample.")] = "a river at dawn",
    clips: Annotated[
        list[Path] | None,
        typer.Option(help="Catalog or video of --job train; none: clips that filmgate carries."),
    ] = None,
    uses: Annotated[
        list[str] | None, typer.Option(help="A package that your command imports; again for more.")
    ] = None,
    device: Annotated[
        Literal["auto", "cpu", "cuda"], typer.Option(help="Where it computes.")
    ] = "auto",
    deadline: Annotated[
        float, typer.Option(min=1, help="Seconds after which a start is ended.")
    ] = 600.0,
    probe: Annotated[
        bool, typer.Option("--probe/--no-probe", help="Golden probes in the environment.")
    ] = True,
    note: Annotated[str, typer.Option(help="What you want to remember of it.")] = "",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure a fixed job: duration, peak memory, utilisation; with --against, compare at once.

    A tuning step is two commands: one before it, one after it with --against and --changed.
    """
    from filmgate.app.baseline import Plan, read_baseline, run_baseline, write_baseline
    from filmgate.app.show_baseline import show_baseline, show_comparison
    from filmgate.app.terminal import Talk
    from filmgate.machine.baseline.compare import compare_baselines

    before = None if against is None else read_baseline(against)
    words = _words(command)
    plan = Plan(
        job="command" if words else job, command=words, uses=uses or [],
        prompt=prompt, clips=clips or [], seed=seed, device=device, starts=starts, rounds=rounds,
        warm_up=warm_up, deadline_seconds=deadline, note=note, probe=probe,
        settings={"width": width, "height": height, "frames": frames, "steps": steps,
                  "batch_size": batch_size, "threads": threads},
    )  # fmt: skip
    measured = run_baseline(
        plan, Talk(quiet=quiet, progress=not json), more=out if more else None,
        against=None if force else before, changed=changed,
    )  # fmt: skip
    write_baseline(out, measured)
    if before is None:
        print_record(measured) if json else show_baseline(measured, out)
        return
    found = compare_baselines(before, measured, changed=changed, clock=clock, force=force)
    print_record(found) if json else show_comparison(found)


@baseline_app.command()
def compare(
    before: Annotated[Path, typer.Argument(help="Baseline from before the change.")],
    after: Annotated[Path, typer.Argument(help="Baseline from after it.")],
    changed: Changed = None,
    force: Force = False,
    clock: ClockOption = "wall",
    json: Json = False,
) -> None:
    """Say how much two baselines differ, within which interval; refuse when they are not alike."""
    from filmgate.app.baseline import read_baseline
    from filmgate.app.show_baseline import show_comparison
    from filmgate.machine.baseline.compare import compare_baselines

    found = compare_baselines(
        read_baseline(before), read_baseline(after), changed=changed, clock=clock, force=force
    )
    print_record(found) if json else show_comparison(found)


def _words(command: str | None) -> list[str]:
    """The command and its arguments; none without a command."""
    if command is None:
        return []
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UserError(f"--command: {error}", hint="quote it as a shell would read it") from None
    if not words:
        raise UserError("--command is empty", hint='for example --command "python render.py"')
    return words
