"""One process from its start to its end, under the clock."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import psutil

from filmgate.errors import DeadlineError, UserError
from filmgate.machine.baseline.record import Answer, Round

LOOKED_AT_FROM_OUTSIDE = "a command is looked at from outside"


@dataclass(frozen=True, kw_only=True)
class Timed:
    """What a process took."""

    round: Round
    peak_bytes: int
    """Of its largest process."""
    others_cpu_share: float
    """Share of the machine's cores that others used meanwhile, 0 to 1."""


def time_process(command: Sequence[str], *, deadline_seconds: float) -> Timed:
    """Run a command to its end; what it prints goes to stderr.

    Raises UserError when it cannot be started or fails, DeadlineError when it takes too long: it is
    killed then, with all processes of its session.
    """
    busy, began = busy_seconds(), time.perf_counter()
    process = _start(command)
    late = threading.Event()

    def give_up() -> None:
        """Past the deadline."""
        late.set()
        _kill(process.pid)

    timer = threading.Timer(deadline_seconds, give_up)
    timer.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
    finally:
        timer.cancel()
        _kill(process.pid)
        if process.returncode is None:
            process.wait()
    if late.is_set():
        raise DeadlineError(
            f"{command[0]} took longer than {deadline_seconds:g} s", hint="raise --deadline"
        )
    if process.returncode != 0:
        raise UserError(
            f"{' '.join(command)}: exit code {process.returncode}",
            hint="it has to end with 0; what it printed is above",
        )
    cpu = usage.ru_utime + usage.ru_stime
    others = max(0.0, busy_seconds() - busy - cpu) / (wall * (os.cpu_count() or 1))
    return Timed(
        round=Round(wall_seconds=wall, cpu_seconds=cpu),
        peak_bytes=usage.ru_maxrss * 1024,
        others_cpu_share=min(1.0, others),
    )


def answer_of_command(timed: Timed) -> Answer:
    """A process of the user's as an answer of one round."""
    names = ("peak_device_bytes", "device_utilisation", "result")
    return Answer(
        rounds=[timed.round],
        peak_bytes=timed.peak_bytes,
        peak_device_bytes=None,
        device_utilisation=None,
        result=None,
        unknown=dict.fromkeys(names, LOOKED_AT_FROM_OUTSIDE),
    )


def _start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    # A session of its own, so that its children can be ended with it.
    talk = sys.__stderr__.fileno() if sys.__stderr__ is not None else subprocess.DEVNULL
    try:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=talk, stderr=talk, start_new_session=True
        )
    except OSError as error:
        raise UserError(
            f"{command[0]} cannot be started: {error.strerror}", hint="check its name and path"
        ) from None


def _kill(process_id: int) -> None:
    """End what is left of the session that the process leads."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process_id, signal.SIGKILL)


def busy_seconds() -> float:
    """CPU seconds that all programs of the machine have used since it started."""
    times = psutil.cpu_times()
    left_out = ("idle", "iowait", "guest", "guest_nice", "steal")
    return float(sum(times) - sum(getattr(times, name, 0.0) for name in left_out))
