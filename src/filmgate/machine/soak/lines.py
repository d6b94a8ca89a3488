"""What a soak writes while it goes on: one append-only JSON Lines file, readable at any time."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from filmgate.closing import Closing
from filmgate.errors import UserError
from filmgate.machine.environment.facts import Environment
from filmgate.machine.nvml import NvmlGpu
from filmgate.machine.soak.gpu_pulse import GpuPulse
from filmgate.machine.soak.host_pulse import HostPulse
from filmgate.records import Header, Record


class Load(Record, frozen=True):
    """What kept the machine busy: a change of any field is another load."""

    kind: str
    """``train``: updates of a small model fed from fixed clips; ``products``: products of two
    matrices; ``none``: only looked, while something else ran."""
    why: str
    """Why this kind."""
    devices: list[str]
    """``cpu``, or each GPU as torch names it; one process each."""
    unit: str
    """What is counted: ``clips`` or ``products``; empty for ``none``."""
    work_per_step: int
    """Of that unit."""
    threads: int | None = None
    """CPU threads of each process."""
    seed: int | None = None
    """Of weights, order and matrices."""
    batch_size: int | None = None
    """Clips of a step."""
    frames: int | None = None
    """Frames of a clip."""
    width: int | None = None
    """Pixels of a clip."""
    height: int | None = None
    """Pixels of a clip."""
    clips: str | None = None
    """Digest of the clips."""
    matrix_size: int | None = None
    """Rows and columns of each matrix."""
    number_type: str | None = None
    """Of a matrix: ``bfloat16`` on GPUs, ``float32`` on CPUs."""


class LoadPulse(Record, frozen=True):
    """How far the load on one device was."""

    device: str
    """As in the load's ``devices``."""
    steps: int
    """Finished, from the beginning."""
    at_seconds: float
    """When the last of them was finished, on the clock of ``Sample.seconds``."""
    wrong: int | None
    """Products that differed from the first one by more than rounding; null where steps differ by
    themselves."""
    cpu_seconds: float
    """CPU time that the process used, from its beginning."""


class SoakStart(Record, frozen=True, tag_field="kind", tag="start"):
    """The first line."""

    header: Header
    note: str
    """What the user says of it."""
    load: Load
    """What kept the machine busy."""
    planned_seconds: float
    """How long it was to go on."""
    interval_seconds: float
    """Between two samples."""
    gpus: list[NvmlGpu]
    """The GPUs before the load, as NVML told them."""
    environment: Environment
    """What was installed and set."""
    unknown: dict[str, str]
    """What could not be read at all -> why."""


class Sample(Record, frozen=True, tag_field="kind", tag="sample"):
    """One moment."""

    seconds: float
    """Since the load's first step."""
    load: list[LoadPulse]
    """A process each."""
    gpus: list[GpuPulse]
    """By index."""
    host: HostPulse
    """Processors, sensors, counters."""
    xids: list[str] | None
    """Faults that the NVIDIA driver wrote into the kernel's log since the last sample,
    ``79 at 0000:65:00``; null where the log cannot be read."""


class SoakEnd(Record, frozen=True, tag_field="kind", tag="end"):
    """The last line."""

    seconds: float
    """Since the load's first step."""
    why: str
    """``done``, or what ended it before its time."""


Line = SoakStart | Sample | SoakEnd
DONE = "done"


class SoakWriter(Closing):
    """Appends lines; each is one write, so that a reader never sees a mixed line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._encoder = msgspec.json.Encoder()
        self._descriptor: int | None = None

    def open(self) -> None:
        """Begin the file. Raises UserError when it exists or cannot be written."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
            self._descriptor = os.open(self.path, flags, 0o644)
        except FileExistsError:
            raise UserError(
                f"{self.path} exists, and a soak is not written over",
                hint="give another name with --out, or read it with --read",
            ) from None
        except OSError as error:
            raise self._cannot(error) from None

    def write(self, line: Line) -> None:
        """Append one line. Raises UserError when the disk does not take it."""
        assert self._descriptor is not None, "open() comes first"
        try:
            os.write(self._descriptor, self._encoder.encode(line) + b"\n")
        except OSError as error:
            raise self._cannot(error) from None

    def close(self) -> None:
        """Flush to disk."""
        if self._descriptor is not None:
            os.fsync(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None

    def _cannot(self, error: OSError) -> UserError:
        return UserError(
            f"{self.path} cannot be written: {error.strerror or error}",
            hint="free some space there or name another place with --out",
        )


def read_lines(path: Path) -> tuple[SoakStart, list[Sample], SoakEnd | None]:
    """Everything in the file so far; the torn last line of one that is being written is left.

    Raises UserError when it is missing or no soak.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise UserError(f"{path} does not exist", hint="name what --out of a soak wrote") from None
    whole = content[: content.rfind(b"\n") + 1].splitlines()
    decoder = msgspec.json.Decoder(Line)
    try:
        lines = [decoder.decode(line) for line in whole]
    except msgspec.DecodeError as error:
        raise UserError(
            f"{path} is no soak: {error}", hint="was it written by another version of filmgate?"
        ) from None
    if not lines or not isinstance(lines[0], SoakStart):
        raise UserError(f"{path} has no beginning of a soak", hint="name what --out of one wrote")
    ends = [line for line in lines if isinstance(line, SoakEnd)]
    samples = [line for line in lines if isinstance(line, Sample)]
    return lines[0], samples, ends[0] if ends else None
