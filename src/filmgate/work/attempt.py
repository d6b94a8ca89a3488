"""One attempt at one task, in whatever process an executor runs it."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from filmgate.records import Record
from filmgate.work.faults import FaultKind, kind_of, words_of
from filmgate.work.lock import sees_folder
from filmgate.work.place import Place, owned_place
from filmgate.work.worker import for_the_road

Function = Callable[[Any, Place], Record]


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """An attempt to be made; small, picklable."""

    ticket: int
    """Number by which the answer is known."""
    function: Function
    payload: object
    outputs: tuple[str, ...]
    place: Path
    """Where to write."""
    keep: bool
    """Whether what lies in the place is to be gone on with."""
    room: Path
    """The room's own folder; has to be the same for every worker."""
    token: str
    """Of the coordinator that gave the order."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """Why an attempt gave nothing."""

    kind: FaultKind
    words: str
    """One clause."""
    error: BaseException | None = None
    """The exception itself, where the coordinator is to raise it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What an attempt gave; the files wait in its place."""

    ticket: int
    seconds: float
    worker: str
    place: Path
    """Where it wrote: the place of the order, or one beside it."""
    row: bytes = b""
    """The row as JSON; empty when there is a fault."""
    sizes: tuple[int, ...] = ()
    """Bytes of each output."""
    fault: Fault | None = None


def attempt(order: Order) -> Answer:
    """Make the attempt; every fault of it is in the answer."""
    since = time.monotonic()
    place, row, sizes, fault = order.place, b"", list[int](), None
    if not sees_folder(order.room, order.token):
        return _blind(order)
    try:
        with owned_place(order.place, order.outputs, keep=order.keep) as owned:
            place = owned.root
            row = msgspec.json.encode(order.function(order.payload, owned))
            sizes = owned.harden()
    except Exception as error:  # noqa: BLE001  carried to the coordinator, which decides
        fault = fault_of(error)
    return Answer(
        ticket=order.ticket,
        seconds=time.monotonic() - since,
        worker=worker_name(),
        place=place,
        row=b"" if fault else row,
        sizes=tuple(sizes),
        fault=fault,
    )


def _blind(order: Order) -> Answer:
    words = f"{worker_name()} does not see {order.room} as the coordinator does"
    return Answer(
        ticket=order.ticket,
        seconds=0.0,
        worker=worker_name(),
        place=order.place,
        fault=Fault(kind="blind", words=words),
    )


def fault_of(error: Exception) -> Fault:
    """The fault that an exception stands for; a fault of the program takes its traceback along."""
    kind = kind_of(error)
    if kind != "program":
        return Fault(kind=kind, words=words_of(error))
    return Fault(kind=kind, words=words_of(error), error=for_the_road(error))


def worker_name() -> str:
    """``host:process``."""
    return f"{socket.gethostname()}:{os.getpid()}"


def lost(order: Order, words: str, seconds: float) -> Answer:
    """The answer for an attempt whose process gave none."""
    return Answer(
        ticket=order.ticket,
        seconds=seconds,
        worker="",
        place=order.place,
        fault=Fault(kind="lost", words=words),
    )
