"""A worker process: a fresh interpreter that makes one call after another.

It leads a session of its own, so that whatever its tasks start ends with it, and so that Ctrl-C
reaches the coordinator alone. When the coordinator is gone, however it went, it ends at once.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection

_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from filmgate.work.worker import main; main(int(sys.argv[2]), int(sys.argv[3]))"
)


def start_worker(calls: Connection, lifeline: int) -> subprocess.Popen[bytes]:
    """Start a worker that takes calls from a pipe and lives while ``lifeline`` is open."""
    descriptors = (calls.fileno(), lifeline)
    path = json.dumps([entry or os.getcwd() for entry in sys.path])  # noqa: PTH109
    return subprocess.Popen(
        [sys.executable, "-c", _BOOT, path, *map(str, descriptors)],
        stdin=subprocess.DEVNULL,
        stdout=2,  # stdout is for data, and the coordinator's
        pass_fds=descriptors,
        start_new_session=True,
    )


def main(calls: int, lifeline: int) -> None:
    """A worker's life: take a function and its argument, answer, until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_coordinator, args=(lifeline,), daemon=True).start()
    with Connection(calls) as connection:
        try:
            while True:
                function, item = connection.recv()
                connection.send(_call(function, item))
        except (EOFError, BrokenPipeError, ConnectionResetError):
            return


def _call(function: Callable[[object], object], item: object) -> tuple[bool, object]:
    """Whether it failed, and its value or exception."""
    try:
        return False, function(item)
    except Exception as error:  # noqa: BLE001  carried to the coordinator, which raises it
        return True, for_the_road(error)


def for_the_road(error: Exception) -> Exception:
    """The exception with its traceback as a note; in words where it cannot be pickled."""
    error.add_note("".join(traceback.format_exception(error)))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001  any failure to pickle means the same
        return RuntimeError(repr(error))
    return error


def _end_with_coordinator(lifeline: int) -> None:
    os.read(lifeline, 1)  # nothing is ever written: it returns when the other end closes
    os.killpg(0, signal.SIGKILL)
