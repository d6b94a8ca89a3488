"""A worker process: takes tasks from its pipe until the pipe closes or the feed's process ends."""

from __future__ import annotations

import os
import threading
import time
import traceback
from dataclasses import replace
from multiprocessing.connection import Connection

from filmgate.errors import UserError
from filmgate.feed.arena import Arena
from filmgate.feed.clip_maker import ClipMaker, make_clip_maker
from filmgate.feed.messages import Fault, Ready, Task
from filmgate.feed.process import Setup


def main(connection_descriptor: int, lifeline: int) -> None:
    """The whole life of a worker, which inherits these two descriptors."""
    threading.Thread(target=_leave_with_feed, args=(lifeline,), daemon=True).start()
    connection: Connection = Connection(connection_descriptor)
    try:
        setup: Setup = connection.recv()
        arena = Arena(setup.arena_descriptor, setup.num_slots, setup.clip_shape)
        maker = make_clip_maker(setup.job, setup.catalog, setup.split)
        connection.send(Ready())
        _make_clips(connection, arena, maker)
    except (BrokenPipeError, ConnectionResetError):
        return  # the feed was closed while a clip was being made
    except UserError as error:
        connection.send(Fault(message=error.message, hint=error.hint, is_users=True))
    except Exception:  # noqa: BLE001  carried to the feed, which raises it
        connection.send(Fault(message=traceback.format_exc(), hint="", is_users=False))


def _make_clips(connection: Connection, arena: Arena, maker: ClipMaker) -> None:
    idle_since = time.perf_counter()
    while (task := _next_task(connection)) is not None:
        wait_seconds = time.perf_counter() - idle_since
        reply = maker.make(task, arena.clip(task.slot))
        effort = replace(reply.effort, wait_seconds=wait_seconds)
        connection.send(replace(reply, effort=effort))
        idle_since = time.perf_counter()


def _next_task(connection: Connection) -> Task | None:
    """The next task; None when the feed is closed."""
    try:
        task: Task = connection.recv()
    except EOFError:
        return None
    return task


def _leave_with_feed(lifeline: int) -> None:
    """End this process at once when the feed's process is gone, even in the middle of a clip."""
    os.read(lifeline, 1)
    os._exit(0)
