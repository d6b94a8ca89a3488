"""How far each output is, as ``outputs.json`` in the run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from filmgate.records import Header, Record, read_record

OUTPUTS_FILE = "outputs.json"
Kind = Literal["tensorboard", "mlflow", "prometheus"]


class OutputState(Record, frozen=True, kw_only=True):
    """One output."""

    kind: Kind
    """``tensorboard``, ``mlflow`` or ``prometheus``."""
    target: str
    """Folder, address of the server, or address of the endpoint."""
    telemetry_bytes: int = 0
    """So much of the telemetry has been handed over."""
    last_steps: dict[str, int] = {}
    """Kind of telemetry line -> newest step handed over; a step that was done again is not."""
    points: int = 0
    """Numbers handed over."""
    is_unsure: bool = False
    """Whether a request is on its way whose fate is not known; the next one asks first."""
    run_id: str | None = None
    """Of MLflow's run; None before it is made, and elsewhere."""
    faults: int = 0
    """Attempts that failed."""
    last_fault: str | None = None
    """What the newest of them was; None without any."""
    is_done: bool = False
    """Whether the whole run was handed over."""


class OutputsRecord(Record, frozen=True):
    """All outputs of a run."""

    header: Header
    """Without inputs: the telemetry grows."""
    outputs: list[OutputState]
    """Those that the job names."""


def read_states(run_folder: Path) -> list[OutputState]:
    """What a sender left; empty before the first. Raises UserError for another file."""
    path = run_folder / OUTPUTS_FILE
    return read_record(path, OutputsRecord).outputs if path.exists() else []
