"""``filmgate soak``: a steady load, looked at until its time is over or somebody ends it."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from msgspec.structs import replace

from filmgate.app.baseline import clips_catalog
from filmgate.app.environment import environment_now
from filmgate.app.interrupt import Terminated
from filmgate.app.terminal import JobProgress, Talk
from filmgate.errors import DeadlineError, FilmgateError, UserError
from filmgate.machine.soak.gpu_pulse import GpuPulses
from filmgate.machine.soak.kernel_log import KernelLog
from filmgate.machine.soak.lines import DONE, Load, SoakEnd, SoakStart, SoakWriter
from filmgate.machine.soak.process import LoadProcess, Looker
from filmgate.machine.tree import FolderTree
from filmgate.records import Header, write_record
from filmgate.units import format_seconds
from filmgate.work.cores import num_usable_cores

LoadName = Literal["auto", "train", "products", "none"]
PROCESS = "filmgate.train.soak_process"
FIRST_STEP_SECONDS = 600.0
STALL_SECONDS = 120.0
"""Without any step: a GPU that hangs, a disk that is gone."""
TRAIN = {"width": 96, "height": 64, "frames": 4, "batch_size": 4}
STOPPED = "stopped by a signal"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is to be done, and for how long."""

    seconds: float
    interval_seconds: float
    load: LoadName = "auto"
    device: Literal["auto", "cpu", "cuda"] = "auto"
    batch_size: int | None = None
    threads: int | None = None
    clips: Sequence[Path] = ()
    note: str = ""
    seed: int = 0


def run_soak(plan: Plan, out: Path, talk: Talk) -> str:
    """Why it ended, ``done`` at the end of its time; the soak is in ``out``, line by line.

    A signal ends it and leaves a whole, shorter soak. Raises UserError for what cannot be done,
    and DeadlineError when the load does no first step.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="filmgate-soak-")))
        writer = SoakWriter(out)
        writer.open()
        stack.callback(_drop_empty, out)
        stack.enter_context(writer)
        load, processes = stack.enter_context(_load(plan, folder, talk))
        looker = stack.enter_context(Looker(FolderTree(), GpuPulses(), KernelLog()))
        looker.open()
        environment = environment_now(probe=False)
        origin = _await_first_steps(processes, talk)
        writer.write(
            SoakStart(
                header=Header(schema="filmgate.soak-line", schema_version=1), note=plan.note,
                load=load, planned_seconds=plan.seconds, interval_seconds=plan.interval_seconds,
                gpus=looker.gpus.gpus, environment=environment, unknown=looker.unknown(),
            )
        )  # fmt: skip
        with talk.job("soak", "s") as progress:
            why = _look_on(plan, writer, looker, processes, origin, progress)
        writer.write(SoakEnd(seconds=time.monotonic() - origin, why=why))
        return why


def _look_on(
    plan: Plan,
    writer: SoakWriter,
    looker: Looker,
    processes: Sequence[LoadProcess],
    origin: float,
    progress: JobProgress,
) -> str:
    """Samples at even times until something ends it; what."""
    last_step = time.monotonic()
    steps = -1
    try:
        for number in range(int(plan.seconds / plan.interval_seconds) + 1):
            due = origin + number * plan.interval_seconds
            time.sleep(max(0.0, due - time.monotonic()))
            sample = looker.sample(processes, origin)
            writer.write(sample)
            progress(int(sample.seconds), int(plan.seconds))
            if sample.seconds >= plan.seconds:
                break
            dead = [why for one in processes if (why := one.why_ended()) is not None]
            if dead:
                return dead[0]
            now, done = time.monotonic(), sum(one.steps for one in sample.load)
            if done != steps:
                steps, last_step = done, now
            elif processes and now - last_step > STALL_SECONDS:
                return f"no step for {format_seconds(now - last_step)}: does a device hang?"
    except (KeyboardInterrupt, Terminated):
        return STOPPED
    return DONE


def _await_first_steps(processes: Sequence[LoadProcess], talk: Talk) -> float:
    """When every process had done one, on the monotonic clock; now without any."""
    deadline = time.monotonic() + FIRST_STEP_SECONDS
    if processes:
        talk.note("waiting for the load's first step")
    while any(one.latest is None for one in processes):
        dead = [why for one in processes if (why := one.why_ended()) is not None]
        if dead:
            raise FilmgateError(dead[0], hint="a load of another kind: --load products")
        if time.monotonic() > deadline:
            raise DeadlineError(
                f"the load did no step within {FIRST_STEP_SECONDS:g} s",
                hint="is the machine busy? --load products is the lightest to start",
            )
        time.sleep(0.05)
    return time.monotonic()


def _drop_empty(path: Path) -> None:
    """A soak that did not begin leaves no file."""
    if path.exists() and path.stat().st_size == 0:
        path.unlink()


@contextmanager
def _load(plan: Plan, folder: Path, talk: Talk) -> Iterator[tuple[Load, list[LoadProcess]]]:
    """The load, and its processes at work."""
    from filmgate.train.soak_load import load_devices

    if plan.load == "none":
        nothing = Load(kind="none", why="asked for", devices=[], unit="", work_per_step=0)
        yield nothing, []
        return
    devices = load_devices(plan.device)
    catalog = None
    load = choose_load(plan, devices)
    with ExitStack() as stack:
        if load.kind == "train":
            from filmgate.train.baseline_jobs import clips_digest

            catalog = clips_catalog(plan.clips, folder, talk)
            load = replace(load, clips=clips_digest(catalog))
        processes = [
            stack.enter_context(_process(load, place, folder, catalog))
            for place in range(len(devices))
        ]
        for process in processes:
            process.open()
        yield load, processes


def choose_load(plan: Plan, devices: Sequence[str]) -> Load:
    """What keeps these devices busy. Raises UserError for options that do not go together."""
    from filmgate.train.soak_load import SIZES

    on_gpu = devices[0] != "cpu"
    kind, why = plan.load, "asked for"
    if kind == "auto":
        kind = "products" if on_gpu and not (plan.clips or plan.batch_size) else "train"
        why = (
            "a small model would leave a GPU cold" if kind == "products"
            else "a batch or clips were given" if on_gpu
            else "on processors training is the load that counts"
        )  # fmt: skip
    threads = plan.threads or max(1, num_usable_cores() // len(devices))
    common: dict[str, Any] = {
        "why": why, "devices": list(devices), "threads": threads, "seed": plan.seed
    }  # fmt: skip
    if kind == "train":
        settings = TRAIN | ({"batch_size": plan.batch_size} if plan.batch_size else {})
        common |= settings
        return Load(kind="train", unit="clips", work_per_step=settings["batch_size"], **common)
    if plan.batch_size or plan.clips:
        raise UserError("products of matrices have no batch and no clips", hint="add --load train")
    size, repeats = SIZES["cuda" if on_gpu else "cpu"]
    common |= {"matrix_size": size, "number_type": "bfloat16" if on_gpu else "float32"}
    return Load(kind="products", unit="products", work_per_step=repeats, **common)


def _process(load: Load, place: int, folder: Path, catalog: Path | None) -> LoadProcess:
    """The one on a device; it sees that GPU alone."""
    from filmgate.train.soak_load import SoakRequest

    device = load.devices[place]
    request = folder / f"request{place}.json"
    kind = "cpu" if device == "cpu" else "cuda"
    write_record(
        request,
        SoakRequest(load=load, device=kind, catalog=None if catalog is None else str(catalog)),
    )
    environment = dict(os.environ)
    if kind == "cuda":
        visible = [one for one in environment.get("CUDA_VISIBLE_DEVICES", "").split(",") if one]
        environment["CUDA_VISIBLE_DEVICES"] = visible[place] if visible else str(place)
    return LoadProcess(device, [sys.executable, "-m", PROCESS, str(request)], environment)


def exit_code(why: str) -> int:
    """0: done; 130: stopped by a signal; 1: the load failed."""
    return {DONE: 0, STOPPED: 128 + signal.SIGINT}.get(why, 1)
