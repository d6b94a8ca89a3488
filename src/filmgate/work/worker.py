"""A worker process: a fresh interpreter that makes one attempt after another.

It leads a session of its own, so that whatever its tasks start ends with it, and so that Ctrl-C
reaches the coordinator alone. When the coordinator is gone, however it went, it ends at once.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from multiprocessing.connection import Connection

from filmgate.work.attempt import attempt

_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from filmgate.work.worker import main; main(int(sys.argv[2]), int(sys.argv[3]))"
)


def start_worker(orders: Connection, lifeline: int) -> subprocess.Popen[bytes]:
    """Start a worker that takes orders from a pipe and lives while ``lifeline`` is open."""
    descriptors = (orders.fileno(), lifeline)
    path = json.dumps([entry or os.getcwd() for entry in sys.path])  # noqa: PTH109
    return subprocess.Popen(
        [sys.executable, "-c", _BOOT, path, *map(str, descriptors)],
        stdin=subprocess.DEVNULL,
        stdout=2,  # stdout is for data, and the coordinator's
        pass_fds=descriptors,
        start_new_session=True,
    )


def main(orders: int, lifeline: int) -> None:
    """A worker's life: take an order, answer, until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_coordinator, args=(lifeline,), daemon=True).start()
    with Connection(orders) as connection:
        try:
            while True:
                connection.send(attempt(connection.recv()))
        except (EOFError, BrokenPipeError, ConnectionResetError):
            return


def _end_with_coordinator(lifeline: int) -> None:
    os.read(lifeline, 1)  # nothing is ever written: it returns when the other end closes
    os.killpg(0, signal.SIGKILL)
