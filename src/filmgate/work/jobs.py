"""Calls that leave nothing behind, on worker processes: no journal, no second try."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Generic, TypeVar

from filmgate.work.pool import WorkerPool

Item = TypeVar("Item")
Value = TypeVar("Value")
POLL_SECONDS = 60.0


@dataclass(frozen=True, kw_only=True)
class JobOutcome(Generic[Value]):
    """What became of one item: a value, or the fault that took its worker."""

    index: int
    """Place of the item in the list that was given."""
    value: Value | None
    """What the function returned; None when there is a fault."""
    fault: str | None
    """One clause: the worker crashed or went past the deadline; None when there is a value."""
    seconds: float
    """From handing the item out to its end."""


def run_jobs(
    function: Callable[[Item], Value],
    items: Sequence[Item],
    *,
    num_workers: int,
    deadline_seconds: float,
    on_progress: Callable[[int, int], None] | None = None,
) -> Iterator[JobOutcome[Value]]:
    """The outcome of every item, each exactly once, as they finish.

    ``function`` is a module-level function; it and the items are pickled. With ``num_workers=0``
    it is called here: no process, no deadline, no shelter from a crash. ``on_progress`` gets
    (items done, items in all). Leaving the iterator early ends the workers.

    Raises whatever ``function`` raises, for that is a fault of the program and not of the item.
    """
    outcomes = (
        _run_here(function, items)
        if num_workers == 0
        else _run_in_pool(function, items, WorkerPool(num_workers, deadline_seconds))
    )
    with closing(outcomes):
        for done, outcome in enumerate(outcomes, start=1):
            if on_progress is not None:
                on_progress(done, len(items))
            yield outcome


def _run_here(
    function: Callable[[Item], Value], items: Sequence[Item]
) -> Generator[JobOutcome[Value], None, None]:
    for index, item in enumerate(items):
        since = time.monotonic()
        value = function(item)
        yield JobOutcome(index=index, value=value, fault=None, seconds=time.monotonic() - since)


def _run_in_pool(
    function: Callable[[Item], Value], items: Sequence[Item], pool: WorkerPool
) -> Generator[JobOutcome[Value], None, None]:
    num_begun = num_ended = 0
    pool.open()
    try:
        while num_ended < len(items):
            while num_begun < len(items) and pool.has_room():
                pool.submit(num_begun, function, items[num_begun])
                num_begun += 1
            for ended in pool.wait(POLL_SECONDS):
                num_ended += 1
                if ended.error is not None:
                    raise ended.error
                yield JobOutcome(
                    index=ended.ticket, value=ended.value, fault=ended.loss, seconds=ended.seconds
                )
    finally:
        pool.close()
