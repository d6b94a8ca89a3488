"""Spawned worker processes, one item each at a time; an item that kills its worker costs itself."""

from __future__ import annotations

import multiprocessing
import pickle
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Generic, TypeVar

Item = TypeVar("Item")
Value = TypeVar("Value")

STOP_SECONDS = 5.0
"""How long an idle worker may take to leave before it is killed."""
_SPAWN = multiprocessing.get_context("spawn")


@dataclass(frozen=True, kw_only=True)
class Outcome(Generic[Value]):
    """What became of one item: a value, or the fault that took its worker."""

    index: int
    """Place of the item in the list that was given."""
    value: Value | None
    """What the function returned; None when there is a fault."""
    fault: str | None
    """One clause: the worker crashed or went past the deadline; None when there is a value."""
    seconds: float
    """From handing the item out to its end."""


@dataclass(kw_only=True)
class _Worker:
    process: SpawnProcess
    connection: Connection
    index: int | None = None
    """The item it is at; None when idle."""
    since: float = field(default_factory=time.monotonic)


def run_jobs(
    function: Callable[[Item], Value],
    items: Sequence[Item],
    *,
    num_workers: int,
    deadline_seconds: float,
    on_progress: Callable[[int, int], None] | None = None,
) -> Iterator[Outcome[Value]]:
    """The outcome of every item, each exactly once, as they finish.

    ``function`` is a module-level function; it and the items are pickled. With ``num_workers=0``
    it is called here: no process, no deadline, no shelter from a crash. ``on_progress`` gets
    (items done, items in all). Leaving the iterator early ends the workers.

    Raises whatever ``function`` raises, for that is a fault of the program and not of the item.
    """
    outcomes = (
        _run_here(function, items)
        if num_workers == 0
        else _run_spawned(function, items, min(num_workers, len(items)), deadline_seconds)
    )
    with closing(outcomes):
        for done, outcome in enumerate(outcomes, start=1):
            if on_progress is not None:
                on_progress(done, len(items))
            yield outcome


def _run_here(
    function: Callable[[Item], Value], items: Sequence[Item]
) -> Generator[Outcome[Value], None, None]:
    for index, item in enumerate(items):
        since = time.monotonic()
        value = function(item)
        yield Outcome(index=index, value=value, fault=None, seconds=time.monotonic() - since)


def _run_spawned(
    function: Callable[[Item], Value],
    items: Sequence[Item],
    num_workers: int,
    deadline_seconds: float,
) -> Generator[Outcome[Value], None, None]:
    waiting = deque(range(len(items)))
    workers: list[_Worker] = []
    try:
        while waiting or any(worker.index is not None for worker in workers):
            while len(workers) < num_workers and waiting:
                workers.append(_start(function))
            for worker in workers:
                if worker.index is None and waiting:
                    _hand_out(worker, waiting.popleft(), items)
            for worker in _wait_for_any(workers, deadline_seconds):
                outcome: Outcome[Value] = _finish(worker, deadline_seconds)
                if outcome.fault is not None:
                    workers.remove(worker)
                yield outcome
    finally:
        _stop(workers)


def _start(function: Callable[[Item], Value]) -> _Worker:
    ours, theirs = _SPAWN.Pipe()
    process = _SPAWN.Process(target=_serve, args=(theirs, function), daemon=True)
    with _signals_held():
        process.start()
    theirs.close()
    return _Worker(process=process, connection=ours)


@contextmanager
def _signals_held() -> Iterator[None]:
    """Answer a signal at the end: half a start leaves a process that nobody knows of."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _: came.append(number))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if callable(signal.getsignal(number))
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    for late in came:
        signal.raise_signal(late)


def _hand_out(worker: _Worker, index: int, items: Sequence[Item]) -> None:
    worker.index, worker.since = index, time.monotonic()
    try:
        worker.connection.send((index, items[index]))
    except BrokenPipeError:
        return  # it died while idle; the wait sees the closed pipe and reports the item


def _wait_for_any(workers: list[_Worker], deadline_seconds: float) -> list[_Worker]:
    """Busy workers that have answered, died or gone past the deadline; at least one."""
    busy = [worker for worker in workers if worker.index is not None]
    first_due = min(worker.since for worker in busy) + deadline_seconds
    left_seconds = max(0.0, first_due - time.monotonic())
    ready = wait([worker.connection for worker in busy], timeout=left_seconds)
    now = time.monotonic()
    return [
        worker
        for worker in busy
        if worker.connection in ready or now - worker.since >= deadline_seconds
    ]


def _finish(worker: _Worker, deadline_seconds: float) -> Outcome[Value]:
    """Take the answer of a worker, or end it and say what took it."""
    index, seconds = worker.index, time.monotonic() - worker.since
    assert index is not None
    worker.index = None
    if not worker.connection.poll():
        _kill(worker)
        fault = f"took longer than {deadline_seconds:g} s"
        return Outcome(index=index, value=None, fault=fault, seconds=seconds)
    try:
        failed, payload = worker.connection.recv()
    except (EOFError, ConnectionResetError):
        _kill(worker)
        fault = f"its worker died ({_cause_of_death(worker.process.exitcode)})"
        return Outcome(index=index, value=None, fault=fault, seconds=seconds)
    if failed:
        raise payload
    return Outcome(index=index, value=payload, fault=None, seconds=seconds)


def _kill(worker: _Worker) -> None:
    worker.process.join(0.2)  # a dead one is reaped with its own exit code
    worker.process.kill()
    worker.process.join(STOP_SECONDS)
    worker.connection.close()


def _cause_of_death(exit_code: int | None) -> str:
    if exit_code is None or exit_code >= 0:
        return f"exit code {exit_code}"
    return signal.Signals(-exit_code).name


def _stop(workers: list[_Worker]) -> None:
    for worker in workers:
        if worker.index is not None:
            worker.process.kill()
        worker.connection.close()
    for worker in workers:
        worker.process.join(STOP_SECONDS)
        worker.process.kill()
        worker.process.join(STOP_SECONDS)
        worker.process.close()


def _serve(connection: Connection, function: Callable[[Item], Value]) -> None:
    """A worker's life: take an item, answer, until the pipe closes."""
    for number in (signal.SIGINT, signal.SIGHUP):  # the parent decides what the terminal means
        signal.signal(number, signal.SIG_IGN)
    while True:
        try:
            _, item = connection.recv()
            connection.send(_call(function, item))
        except (EOFError, BrokenPipeError, ConnectionResetError):
            return  # the parent has gone, or has ended this pool


def _call(function: Callable[[Item], Value], item: Item) -> tuple[bool, object]:
    try:
        return False, function(item)
    except Exception as error:  # noqa: BLE001  carried to the parent, which raises it
        error.add_note("".join(traceback.format_exception(error)))
        return True, error if _is_picklable(error) else RuntimeError(repr(error))


def _is_picklable(error: Exception) -> bool:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001  any failure to pickle means the same
        return False
    return True
