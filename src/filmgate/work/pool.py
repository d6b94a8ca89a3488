"""Worker processes of this machine, one call each at a time; a call that kills its worker costs
itself."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any

from filmgate.work.worker import start_worker

STOP_SECONDS = 5.0
"""How long a process may take to leave before it is killed, and to go once it is."""
REAP_SECONDS = 0.2
"""What a process that is dying anyway gets, so that it is known by its own exit code."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Return:
    """How one call ended: with a value, an exception, or the loss of its worker."""

    ticket: int
    """Number that the call was given."""
    value: Any = None
    """What it returned."""
    error: Exception | None = None
    """What it raised."""
    loss: str | None = None
    """One clause: the worker crashed or went past the deadline."""
    seconds: float
    """From handing it out to its end."""


@dataclass(kw_only=True)
class _Worker:
    process: subprocess.Popen[bytes]
    connection: Connection
    ticket: int | None = None
    """The call it is at; None when idle."""
    since: float = field(default_factory=time.monotonic)


class WorkerPool:
    """Processes, started when there is something for them to do."""

    def __init__(self, num_workers: int, deadline_seconds: float) -> None:
        self._num_workers = num_workers
        self._deadline_seconds = deadline_seconds
        self._workers: list[_Worker] = []
        self._lifeline = (-1, -1)

    def open(self) -> None:
        """Get ready; ``close`` has to follow."""
        self._lifeline = os.pipe()

    def has_room(self) -> bool:
        """Whether one more call would be begun at once."""
        return len(self._busy()) < self._num_workers

    def submit(self, ticket: int, function: Callable[[Any], object], item: object) -> None:
        """Begin a call, in an idle worker or a new one. Both are pickled.

        Raises ValueError for a function of the main script, which workers do not load.
        """
        if function.__module__ == "__main__":
            raise ValueError("the function has to stand in a module, not in the main script")
        worker = next((one for one in self._workers if one.ticket is None), None) or self._start()
        worker.ticket, worker.since = ticket, time.monotonic()
        # One that died while idle: the wait sees the closed pipe and answers for the call.
        with suppress(BrokenPipeError, ConnectionResetError):
            worker.connection.send((function, item))

    def wait(self, timeout_seconds: float) -> list[Return]:
        """Calls that have ended; none when the time is over."""
        busy = self._busy()
        due = [worker.since + self._deadline_seconds - time.monotonic() for worker in busy]
        timeout_seconds = max(0.0, min([timeout_seconds, *due]))
        ready = wait([worker.connection for worker in busy], timeout=timeout_seconds)
        late = time.monotonic() - self._deadline_seconds
        return [
            self._finish(worker)
            for worker in busy
            if worker.connection in ready or worker.since <= late
        ]

    def close(self) -> None:
        """End every worker, and what its calls have started."""
        for worker in self._workers:
            if worker.ticket is not None:
                _kill(worker)
            worker.connection.close()
        for worker in self._workers:
            try:
                worker.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                _kill(worker)
        self._workers = []
        for descriptor in self._lifeline:
            os.close(descriptor)

    def _busy(self) -> list[_Worker]:
        return [worker for worker in self._workers if worker.ticket is not None]

    def _start(self) -> _Worker:
        ours, theirs = Pipe()
        with theirs:
            process = start_worker(theirs, self._lifeline[0])
        worker = _Worker(process=process, connection=ours)
        self._workers.append(worker)
        return worker

    def _finish(self, worker: _Worker) -> Return:
        """What a worker has answered; one that gives no answer is ended."""
        ticket, worker.ticket = worker.ticket, None
        assert ticket is not None
        seconds = time.monotonic() - worker.since
        if not worker.connection.poll():
            self._end(worker)
            loss = f"took longer than {self._deadline_seconds:g} s"
            return Return(ticket=ticket, loss=loss, seconds=seconds)
        try:
            failed, value = worker.connection.recv()
        except (EOFError, ConnectionResetError, pickle.UnpicklingError):
            self._end(worker)
            loss = f"its worker died ({_cause_of_death(worker.process.returncode)})"
            return Return(ticket=ticket, loss=loss, seconds=seconds)
        if failed:
            return Return(ticket=ticket, error=value, seconds=seconds)
        return Return(ticket=ticket, value=value, seconds=seconds)

    def _end(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        with suppress(subprocess.TimeoutExpired):
            worker.process.wait(REAP_SECONDS)
        _kill(worker)
        worker.connection.close()


def _kill(worker: _Worker) -> None:
    """End a worker with everything it has started, which is its process group."""
    with suppress(ProcessLookupError):  # it has gone, and left nothing behind
        os.killpg(worker.process.pid, signal.SIGKILL)
    worker.process.wait(STOP_SECONDS)


def _cause_of_death(exit_code: int | None) -> str:
    if exit_code is None or exit_code >= 0:
        return f"exit code {exit_code}"
    return signal.Signals(-exit_code).name
