"""Starting a worker process: a fresh interpreter that imports the worker and nothing else.

``multiprocessing`` would also run the caller's main script in every worker. That costs seconds and
hundreds of MB where the script imports torch, and it breaks scripts without an
``if __name__ == "__main__"`` guard, notebooks, and callers that are daemonic processes.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import subprocess
import sys
from dataclasses import dataclass
from multiprocessing.connection import Connection

from filmgate.catalog import Catalog
from filmgate.catalog.clip_frames import Split
from filmgate.feed.arena import Arena, ArenaHandle
from filmgate.feed.frame_store import FrameStore, StorePlan
from filmgate.spec import Job

REAP_SECONDS = 0.2
"""What a process that is dying anyway gets, so that it is known by its own exit code."""

_BOOT = (
    # What the terminal or a scheduler tells the whole group is the trainer's to answer.
    "import json, signal, sys; "
    "[signal.signal(n, signal.SIG_IGN) for n in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)]; "
    "sys.path[:] = json.loads(sys.argv[1]); from filmgate.feed.worker import main; "
    "main(int(sys.argv[2]), int(sys.argv[3]))"
)


@dataclass(frozen=True, kw_only=True)
class Setup:
    """The first message to a worker: all that it has to know."""

    arena: ArenaHandle
    """The arena's memory, under the same numbers in both processes."""
    store: tuple[StorePlan, int] | None
    """Where decoded frames are kept, if they are."""
    job: Job
    catalog: Catalog
    split: Split
    order_digest: str
    """Of the feed's order, which the worker's own has to be."""
    cores: frozenset[int] | None = None
    """Where it runs; None: wherever the feed's process may."""


@dataclass(frozen=True, kw_only=True, eq=False)
class WorkerProcess:
    """A started process and the way to talk to it."""

    process: subprocess.Popen[bytes]
    connection: Connection
    lifeline: int
    """Write end of a pipe that nobody writes to; when it closes, the worker ends itself."""

    def end(self, deadline_seconds: float) -> int | None:
        """End it, if it has not ended, and close the pipes.

        The exit code, negative for a signal; None when the kernel still holds the process after
        the deadline (a read from a dead network file system). It runs no instruction any more.
        """
        self.connection.close()
        os.close(self.lifeline)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(REAP_SECONDS)
        self.process.kill()
        try:
            return self.process.wait(deadline_seconds)
        except subprocess.TimeoutExpired:
            return None


def start_process(
    arena: Arena,
    store: FrameStore | None,
    job: Job,
    catalog: Catalog,
    split: Split,
    order_digest: str,
    cores: frozenset[int] | None = None,
) -> WorkerProcess:
    """Start a worker; its first message says that it is ready."""
    ours, theirs = multiprocessing.Pipe()
    lifeline_reader, lifeline = os.pipe()
    kept = (store.handle[1],) if store is not None else ()
    path = json.dumps([entry for entry in sys.path if isinstance(entry, str)])
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-c", _BOOT, path, str(theirs.fileno()), str(lifeline_reader)],
            pass_fds=(theirs.fileno(), lifeline_reader, *arena.descriptors, *kept),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
    os.close(lifeline_reader)
    setup = Setup(
        arena=arena.handle,
        store=store.handle if store is not None else None,
        job=job,
        catalog=catalog,
        split=split,
        order_digest=order_digest,
        cores=cores,
    )
    with contextlib.suppress(BrokenPipeError):  # it is dead already, as its closed pipe will say
        ours.send(setup)
    return WorkerProcess(process=process, connection=ours, lifeline=lifeline)
