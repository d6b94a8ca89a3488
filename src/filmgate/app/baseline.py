"""``filmgate baseline``: run a fixed job under the clock, and compare two such runs."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import msgspec

from filmgate.app.environment import environment_now
from filmgate.app.index import index_with_progress
from filmgate.app.terminal import Talk
from filmgate.errors import UserError
from filmgate.machine.baseline.clock import answer_of_command, time_process
from filmgate.machine.baseline.compare import refuse
from filmgate.machine.baseline.like import unlike
from filmgate.machine.baseline.record import Answer, Baseline, Start, Workload, summarise
from filmgate.machine.environment.facts import Environment
from filmgate.machine.environment.golden import CLIPS
from filmgate.records import Header, digest_bytes, read_record, write_record
from filmgate.work.cores import num_usable_cores

JobName = Literal["sample", "train", "command"]
PROCESS = "filmgate.train.baseline_process"
CATALOG_FILE = "catalog.json"
OWN_CLIPS = ("h264", "hevc", "mpeg4", "vp9")
DEFAULTS = {
    "sample": {"width": 128, "height": 96, "frames": 8, "steps": 20, "batch_size": 1},
    "train": {"width": 96, "height": 64, "frames": 4, "steps": 8, "batch_size": 4},
}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is to be run, and how often."""

    job: JobName = "sample"
    command: Sequence[str] = ()
    """The user's own, with its arguments; it makes the job ``command``."""
    prompt: str = "a river at dawn"
    clips: Sequence[Path] = ()
    """A catalog or videos; none: clips that filmgate carries."""
    seed: int = 0
    settings: dict[str, int | None] | None = None
    """Width, height, frames, steps, batch_size, threads, where they are not the job's own."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    starts: int = 5
    rounds: int = 4
    """Rounds of each start that count."""
    warm_up: int = 1
    """Rounds before them; of a command, whole processes before the first."""
    deadline_seconds: float = 600.0
    note: str = ""
    uses: Sequence[str] = ()
    """Packages that a command of the user's own imports."""
    probe: bool = True
    """Whether golden probes stand in the environment."""


def run_baseline(
    plan: Plan,
    talk: Talk,
    *,
    more: Path | None = None,
    against: Baseline | None = None,
    changed: str | None = None,
) -> Baseline:
    """Run it, in a fresh process each start; with ``more``, after the starts of an earlier one.

    Raises UserError for a job that cannot be done, before anything is measured for ``more`` of
    another job or environment, or when more than ``changed`` differs from ``against``; and
    DeadlineError for a start that takes too long.
    """
    earlier = None if more is None else read_baseline(more)
    environment = environment_now(uses=plan.uses, probe=plan.probe)
    with (
        TemporaryDirectory(prefix="filmgate-baseline-") as folder,
        _catalog(plan, Path(folder), talk) as catalog,
    ):
        workload = workload_of(plan, catalog)
        for other, named in ((earlier, None), (against, changed)):
            if other is not None:
                _refuse_unlike(other, _baseline(plan, workload, environment, other.starts), named)
        starts = list(earlier.starts) if earlier else []
        run = (
            _command_runner(plan) if plan.command else _job_runner(plan, workload, catalog, folder)
        )
        with talk.job("baseline", "starts") as progress:
            for number in range(plan.starts):
                starts.append(run(number))
                progress(number + 1, plan.starts)
    return _baseline(plan, workload, environment, starts)


def _refuse_unlike(other: Baseline, this: Baseline, changed: str | None) -> None:
    surplus = [one for one in unlike(other, this, changed) if not one.is_named]
    if surplus:
        refuse(surplus, changed)


def read_baseline(path: Path) -> Baseline:
    """By its file. Raises UserError when it is none."""
    hint = f"make one with: filmgate baseline run --out {shlex.quote(str(path))}"
    return read_record(path, Baseline, missing_hint=hint)


def write_baseline(path: Path, baseline: Baseline) -> None:
    """Keep it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_record(path, baseline)


def workload_of(plan: Plan, catalog: Path | None) -> Workload:
    """The fixed job. Raises UserError for a size that it cannot do."""
    if plan.command:
        text = "\0".join(plan.command)
        return Workload(job="command", command=digest_bytes(text.encode()))
    from filmgate.train.baseline_jobs import clips_digest
    from filmgate.train.repeatable import choose_device

    told = {key: value for key, value in (plan.settings or {}).items() if value is not None}
    settings = {"threads": num_usable_cores(), **DEFAULTS[plan.job], **told}
    if plan.job == "sample" and (settings["width"] % 16 or settings["height"] % 16):
        raise UserError(
            f"{settings['width']}x{settings['height']} is no size that the transformer can make",
            hint="give width and height as multiples of 16",
        )
    is_sample = plan.job == "sample"
    fields = {
        "job": plan.job,
        "seed": plan.seed,
        "device": choose_device(plan.device).type,
        "prompt": digest_bytes(plan.prompt.encode()) if is_sample else None,
        "clips": None if catalog is None else clips_digest(catalog),
    }
    return msgspec.convert(fields | settings, Workload)


def _baseline(
    plan: Plan, workload: Workload, environment: Environment, starts: list[Start]
) -> Baseline:
    inputs = {
        "workload": digest_bytes(msgspec.json.encode(workload)),
        "environment": environment.header.inputs["environment"],
    }
    return Baseline(
        header=Header(schema="filmgate.baseline", schema_version=1, inputs=inputs),
        note=plan.note,
        workload=workload,
        environment=environment,
        starts=starts,
        summary=summarise(starts, num_usable_cores()),
    )


@contextmanager
def _catalog(plan: Plan, folder: Path, talk: Talk) -> Iterator[Path | None]:
    """The catalog of a training run's clips; None for another job."""
    if plan.job != "train" or plan.command:
        yield None
    else:
        yield clips_catalog(plan.clips, folder, talk)


def clips_catalog(clips: Sequence[Path], folder: Path, talk: Talk) -> Path:
    """A catalog as it is, or one of the videos, or of clips that filmgate carries, made inside
    ``folder``."""
    if len(clips) == 1 and (clips[0] / CATALOG_FILE).exists():
        return clips[0].absolute()
    paths = list(clips) or [CLIPS[codec] for codec in OWN_CLIPS]
    index_with_progress(paths, folder / "catalog", None, talk, 0)
    return folder / "catalog"


def _job_runner(
    plan: Plan, workload: Workload, catalog: Path | None, folder: str
) -> Callable[[int], Start]:
    from filmgate.train.baseline_jobs import Request

    request_file, answer_file = Path(folder) / "request.json", Path(folder) / "answer.json"
    write_record(
        request_file,
        Request(
            workload=workload, prompt=plan.prompt, rounds=plan.warm_up + plan.rounds,
            catalog=None if catalog is None else str(catalog),
        ),
    )  # fmt: skip
    command = [sys.executable, "-m", PROCESS, str(request_file), str(answer_file)]

    def run(number: int) -> Start:
        """One process of filmgate's own."""
        del number
        timed = time_process(command, deadline_seconds=plan.deadline_seconds)
        return Start(
            answer=read_record(answer_file, Answer),
            num_warm_up=plan.warm_up,
            others_cpu_share=timed.others_cpu_share,
        )

    return run


def _command_runner(plan: Plan) -> Callable[[int], Start]:
    def run(number: int) -> Start:
        """One process of the user's; before the first, those that warm up the page cache."""
        for _ in range(plan.warm_up if number == 0 else 0):
            time_process(plan.command, deadline_seconds=plan.deadline_seconds)
        timed = time_process(plan.command, deadline_seconds=plan.deadline_seconds)
        return Start(
            answer=answer_of_command(timed), num_warm_up=0, others_cpu_share=timed.others_cpu_share
        )

    return run
