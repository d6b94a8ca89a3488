"""A worker process: takes visits from its pipe until the pipe closes or the feed's process ends."""

from __future__ import annotations

import os
import threading
import time
import traceback
from dataclasses import replace
from multiprocessing.connection import Connection

from filmgate.errors import UserError
from filmgate.feed.arena import Arena, open_arena
from filmgate.feed.clip_maker import ClipMaker, make_clip_maker
from filmgate.feed.frame_store import open_store
from filmgate.feed.messages import Fault, Ready, Visit
from filmgate.feed.process import Setup


def main(connection_descriptor: int, lifeline: int) -> None:
    """The whole life of a worker, which inherits these two descriptors."""
    threading.Thread(target=_leave_with_feed, args=(lifeline,), daemon=True).start()
    connection: Connection = Connection(connection_descriptor)
    try:
        setup: Setup = connection.recv()
        if setup.cores is not None:
            os.sched_setaffinity(0, setup.cores)
        arena = open_arena(setup.arena)
        store = open_store(setup.store)
        maker = make_clip_maker(
            setup.job, setup.catalog, setup.split, store, order_digest=setup.order_digest
        )
        connection.send(Ready())
        _serve(connection, arena, maker)
    except (BrokenPipeError, ConnectionResetError):
        return  # the feed was closed while a clip was being made
    except UserError as error:
        connection.send(Fault(message=error.message, hint=error.hint, is_users=True))
    except Exception:  # noqa: BLE001  carried to the feed, which raises it
        connection.send(Fault(message=traceback.format_exc(), hint="", is_users=False))


def _serve(connection: Connection, arena: Arena, maker: ClipMaker) -> None:
    idle_since = time.perf_counter()
    while (visit := _next_visit(connection)) is not None:
        wait_seconds = time.perf_counter() - idle_since
        first, *others = maker.make(visit, arena.clip)
        effort = replace(first.effort, wait_seconds=wait_seconds)
        connection.send((replace(first, effort=effort), *others))
        idle_since = time.perf_counter()


def _next_visit(connection: Connection) -> Visit | None:
    """The next visit; None when the feed is closed."""
    try:
        visit: Visit = connection.recv()
    except EOFError:
        return None
    return visit


def _leave_with_feed(lifeline: int) -> None:
    """End this process at once when the feed's process is gone, even in the middle of a clip."""
    os.read(lifeline, 1)
    os._exit(0)
