"""Attempts in worker processes of this machine; one that kills its worker costs itself."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe, wait
from typing import cast

from filmgate.work.attempt import Answer, Order, attempt, lost
from filmgate.work.cores import num_usable_cores
from filmgate.work.worker import start_worker

STOP_SECONDS = 5.0
"""How long a process may take to leave before it is killed, and to go once it is."""
REAP_SECONDS = 0.2
"""What a process that is dying anyway gets, so that it is known by its own exit code."""


@dataclass(kw_only=True)
class _Worker:
    process: subprocess.Popen[bytes]
    connection: Connection
    order: Order | None = None
    """What it is at; None when idle."""
    since: float = field(default_factory=time.monotonic)


class LocalExecutor:
    """``workers`` processes, started when there is something for them to do."""

    def __init__(self, workers: int | None = None) -> None:
        """One worker for each usable core by default. With 0, attempts are made here: no process,
        no deadline, no shelter from a crash."""
        self._num_workers = num_usable_cores() if workers is None else workers
        self._deadline_seconds = 0.0
        self._workers: list[_Worker] = []
        self._here: deque[Order] = deque()
        self._lifeline = (-1, -1)

    def open(self, deadline_seconds: float) -> None:
        """Get ready; an attempt may take ``deadline_seconds``."""
        self._deadline_seconds = deadline_seconds
        self._lifeline = os.pipe()

    def has_room(self) -> bool:
        """Whether one more order would be begun at once."""
        if self._num_workers == 0:
            return not self._here
        return len(self._busy()) < self._num_workers

    def submit(self, order: Order) -> None:
        """Begin an attempt, in an idle worker or a new one.

        Raises ValueError for a function of the main script, which workers do not load.
        """
        if self._num_workers == 0:
            self._here.append(order)
            return
        if order.function.__module__ == "__main__":
            raise ValueError("the function has to stand in a module, not in the main script")
        worker = next((one for one in self._workers if one.order is None), None) or self._start()
        worker.order, worker.since = order, time.monotonic()
        # One that died while idle: the wait sees the closed pipe and answers for the order.
        with suppress(BrokenPipeError, ConnectionResetError):
            worker.connection.send(order)

    def wait(self, timeout_seconds: float) -> list[Answer]:
        """Answers of workers that have answered, died or gone past the deadline."""
        if self._here:
            return [attempt(self._here.popleft())]
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
        """End every worker, and what its tasks have started."""
        for worker in self._workers:
            if worker.order is not None:
                _kill(worker)
            worker.connection.close()
        for worker in self._workers:
            try:
                worker.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                _kill(worker)
        self._workers = []
        self._here.clear()
        for descriptor in self._lifeline:
            os.close(descriptor)

    def _busy(self) -> list[_Worker]:
        return [worker for worker in self._workers if worker.order is not None]

    def _start(self) -> _Worker:
        ours, theirs = Pipe()
        with theirs:
            process = start_worker(theirs, self._lifeline[0])
        worker = _Worker(process=process, connection=ours)
        self._workers.append(worker)
        return worker

    def _finish(self, worker: _Worker) -> Answer:
        """The answer of a worker; one that gives none is ended and answered for."""
        order, worker.order = worker.order, None
        assert order is not None
        seconds = time.monotonic() - worker.since
        if not worker.connection.poll():
            self._end(worker)
            words = f"took longer than {self._deadline_seconds:g} s"
            return lost(order, words, seconds)
        try:
            return cast(Answer, worker.connection.recv())
        except (EOFError, ConnectionResetError, pickle.UnpicklingError):
            self._end(worker)
            words = f"its worker died ({_cause_of_death(worker.process.returncode)})"
            return lost(order, words, seconds)

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
