"""Encoders that change how the system shares out its cores, held back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_THREADS = Path("/proc/self/task")


@contextmanager
def as_scheduled_before() -> Iterator[None]:
    """Give this process and all its threads the scheduling policy back that they had before.

    SVT-AV1, opened by root, takes the highest real-time priority for the process and for each of
    its threads: all else on the machine
    waits for it, and every program started from here inherits it. Threads that are new get the
    policy of the thread that entered. Where the system has no such policies nothing is done.
    """
    if not hasattr(os, "sched_getscheduler") or not _THREADS.is_dir():
        yield
        return
    own = os.sched_getscheduler(0), os.sched_getparam(0)
    before = {}
    for thread in _threads():
        with suppress(ProcessLookupError):  # it has ended meanwhile
            before[thread] = os.sched_getscheduler(thread), os.sched_getparam(thread)
    try:
        yield
    finally:
        for thread in _threads():
            policy, parameter = before.get(thread, own)
            with suppress(ProcessLookupError):
                if os.sched_getscheduler(thread) != policy:
                    os.sched_setscheduler(thread, policy, parameter)


def _threads() -> list[int]:
    return [int(path.name) for path in _THREADS.iterdir()]
