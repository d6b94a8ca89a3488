"""The processes that keep the machine busy, and the one who looks at all of it."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO

import msgspec

from filmgate.closing import Closing
from filmgate.machine.facts import Facts
from filmgate.machine.soak.gpu_pulse import GpuPulses
from filmgate.machine.soak.host_pulse import read_host_pulse
from filmgate.machine.soak.kernel_log import KernelLog
from filmgate.machine.soak.lines import LoadPulse, Sample
from filmgate.machine.tree import Tree
from filmgate.records import Record

END_SECONDS = 10.0


class Report(Record, frozen=True):
    """One line of a load process: how far it is."""

    steps: int
    """Finished, from the beginning."""
    at_monotonic_seconds: float
    """When the last of them was, on the clock that all processes of a machine share."""
    wrong: int | None
    """Products that came out otherwise; null where steps differ by themselves."""
    cpu_seconds: float
    """CPU time of the process."""


class LoadProcess(Closing):
    """One process that works until it is ended, and reports on its stdout, a line each time."""

    def __init__(self, device: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.device = device
        self.latest: Report | None = None
        """None before its first step."""
        self._command = list(command)
        self._environment = dict(environment)
        self._process: subprocess.Popen[bytes] | None = None
        self._said: IO[bytes] | None = None
        self._reader: threading.Thread | None = None

    def open(self) -> None:
        """Start it, in a session of its own: a Ctrl-C is for who looks on."""
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed in close()
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._said,
            env=self._environment, start_new_session=True,
        )  # fmt: skip
        self._reader = threading.Thread(target=self._read, daemon=True, name="filmgate load")
        self._reader.start()

    def why_ended(self) -> str | None:
        """Exit code and last words; None while it runs."""
        assert self._process is not None, "open() comes first"
        assert self._said is not None
        code = self._process.poll()
        if code is None:
            return None
        self._said.seek(0)
        words = self._said.read().decode(errors="replace").strip().splitlines()
        said = f": {words[-1]}" if words else ""
        return f"the load on {self.device} ended with exit code {code}{said}"

    def close(self) -> None:
        """End it and what it started."""
        if self._process is None:
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(END_SECONDS)
        if self._reader is not None:
            self._reader.join(END_SECONDS)
        if self._process.stdout is not None:
            self._process.stdout.close()
        if self._said is not None:
            self._said.close()
        self._process = None

    def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        decoder = msgspec.json.Decoder(Report)
        for line in self._process.stdout:
            if line.endswith(b"\n"):
                self.latest = decoder.decode(line)


class Looker(Closing):
    """Takes samples: of the load's processes, the GPUs, the host and the kernel's log."""

    def __init__(self, tree: Tree, gpus: GpuPulses, log: KernelLog) -> None:
        self.gpus = gpus
        self._tree = tree
        self._log = log

    def open(self) -> None:
        """Find what can be read; never raises."""
        self.gpus.open()
        self._log.open()

    def unknown(self) -> dict[str, str]:
        """What cannot be read now -> why, for the first line of a soak."""
        told = _reasons("host", read_host_pulse(self._tree))
        for gpu in self.gpus.read():
            told |= _reasons(f"GPU {gpu.index}", gpu)
        if self.gpus.why_none is not None:
            told["GPUs"] = self.gpus.why_none
        if self._log.why_unreadable is not None:
            told["Xid faults"] = self._log.why_unreadable
        return told

    def sample(self, load: Sequence[LoadProcess], origin: float) -> Sample:
        """Now; ``origin`` is 0 s on the monotonic clock."""
        return Sample(
            load=[_pulse(one, origin) for one in load if one.latest is not None],
            gpus=self.gpus.read(),
            host=read_host_pulse(self._tree),
            xids=self._log.xids(),
            seconds=time.monotonic() - origin,
        )

    def close(self) -> None:
        """Let driver and log go."""
        self.gpus.close()
        self._log.close()


def _reasons(subject: str, facts: Facts) -> dict[str, str]:
    return {f"{subject} {field.replace('_', ' ')}": why for field, why in facts.unknown.items()}


def _pulse(process: LoadProcess, origin: float) -> LoadPulse:
    report = process.latest
    assert report is not None
    return LoadPulse(
        device=process.device, steps=report.steps, wrong=report.wrong,
        at_seconds=report.at_monotonic_seconds - origin, cpu_seconds=report.cpu_seconds,
    )  # fmt: skip
