"""Outputs beside a run, and ``filmgate outputs``: what was handed on, and sending the rest."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filmgate.app.terminal import Talk
from filmgate.errors import UserError
from filmgate.outputs import OutputsRecord, OutputState
from filmgate.outputs.record import read_states
from filmgate.outputs.send import TELEMETRY
from filmgate.outputs.start import check_outputs, is_wanted, start_sender
from filmgate.records import Header
from filmgate.spec import Job, load_job
from filmgate.units import counted

PATIENCE_SECONDS = 10.0
"""How long the end of a run waits for its outputs; a server that is there takes them in one."""


@contextmanager
def sending(job: Job, run_folder: Path, talk: Talk) -> Iterator[None]:
    """Inside, a process hands the run's numbers on; whatever happens to it is only told."""
    if not is_wanted(job) or os.environ.get("RANK", "0") != "0":
        yield
        return
    try:
        sender = start_sender(run_folder)
    except OSError as error:
        talk.note(f"warning: no outputs: {error}; `filmgate outputs {run_folder}` sends them")
        yield
        return
    yield
    try:
        sender.wait(PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        # It leaves by itself; subprocess would warn of a child that nobody waited for.
        sender.returncode = 0
    for state in _read(run_folder):
        if not state.is_done and state.kind != "prometheus":
            talk.note(
                f"warning: {state.kind} has not taken everything yet "
                f"({counted(state.faults, 'fault')}"
                + (f", the last: {state.last_fault}" if state.last_fault else "")
                + f"); `filmgate outputs {run_folder}` sends the rest"
            )


def _read(run_folder: Path) -> list[OutputState]:
    try:
        return read_states(run_folder)
    except (UserError, OSError):
        return []


def send_rest(run_folder: Path, talk: Talk) -> OutputsRecord:
    """Hand on what is left of a run that is over, for as long as ``linger_minutes``.

    Raises UserError where there is no run, or it has no outputs.
    """
    if not (run_folder / TELEMETRY).exists():
        raise UserError(
            f"{run_folder} holds no telemetry", hint="name a run folder that `filmgate run` wrote"
        )
    job = load_job(run_folder / "job.toml")
    if not is_wanted(job):
        raise UserError(
            f"the run in {run_folder} has no outputs; allowed: tensorboard, mlflow, prometheus",
            hint="add an [outputs] table to its job.toml, for example with tensorboard = true",
        )
    check_outputs(job)
    sender = start_sender(run_folder.absolute(), follows=False)
    try:
        sender.wait()
    finally:
        sender.terminate()
        sender.wait()
    states = read_states(run_folder)
    for state in states:
        if state.last_fault and not state.is_done:
            talk.note(f"warning: {state.kind}: {state.last_fault}")
    return OutputsRecord(header=Header(schema="filmgate.outputs", schema_version=1), outputs=states)


def outputs_lines(record: OutputsRecord) -> str:
    """The record for a person."""
    return "".join(
        f"{state.kind:12} {counted(state.points, 'number')} to {state.target}, "
        + ("all of the run" if state.is_done else "not all of the run yet")
        + f", {counted(state.faults, 'fault')}\n"
        for state in record.outputs
    )
