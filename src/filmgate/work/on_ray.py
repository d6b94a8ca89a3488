"""Attempts on the machines of a Ray cluster; a node that is lost costs its attempts one try."""

from __future__ import annotations

import faulthandler
import importlib
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from filmgate.errors import DeadlineError, UserError
from filmgate.work.attempt import Answer, Order, attempt, lost
from filmgate.work.lock import sees_folder

LOOK_SECONDS = 5.0
"""How often the size of the cluster is asked for."""
SILENCE_SECONDS = 600.0
"""How long the cluster may give no answer at all, on top of the deadline of an attempt."""
STOP_SECONDS = 10.0
KNOCK_SECONDS = 10.0
_LATE = "late"
"""File in a place, to which an attempt that is past its deadline writes where it stands."""


class RayExecutor:
    """One Ray task for each attempt; needs ``filmgate[ray]`` here and on every node.

    The folder of the work has to be on storage that every node mounts at the same path.
    """

    def __init__(self, address: str = "auto", *, num_cpus: float = 1.0) -> None:
        """``address`` of a running cluster, or ``"auto"`` for the one that this machine is part of.
        Takes ``num_cpus`` cores of a node for each attempt."""
        self._address = address
        self._num_cpus = num_cpus
        self._ray: Any = None
        self._joined = False
        self._remote: Any = None
        self._deadline_seconds = 0.0
        self._running: dict[Any, tuple[Order, float]] = {}
        """Reference to an answer -> what was ordered, and when."""
        self._num_slots = 0
        self._looked_at = float("-inf")
        self._heard_at = 0.0

    def open(self, deadline_seconds: float) -> None:
        """Connect. Raises UserError when Ray is not installed or there is no cluster."""
        try:
            self._ray = importlib.import_module("ray")
        except ImportError:
            raise UserError("Ray is not installed", hint="pip install 'filmgate[ray]'") from None
        self._deadline_seconds = deadline_seconds
        self._joined = not self._ray.is_initialized()
        if self._joined:
            self._connect()
        self._remote = self._ray.remote(num_cpus=self._num_cpus, max_retries=0)(attempt_in_time)
        self._heard_at = time.monotonic()

    def has_room(self) -> bool:
        """Whether the cluster would begin one more soon: for every one that runs, one may wait."""
        if time.monotonic() - self._looked_at >= LOOK_SECONDS:
            cpus = self._ray.cluster_resources().get("CPU", 0.0)
            self._num_slots = int(cpus / self._num_cpus)
            self._looked_at = time.monotonic()
        return len(self._running) < max(1, 2 * self._num_slots)

    def submit(self, order: Order) -> None:
        """Begin an attempt on some node."""
        reference = self._remote.remote(order, self._deadline_seconds)
        self._running[reference] = order, time.monotonic()

    def wait(self, timeout_seconds: float) -> list[Answer]:
        """Answers of attempts that have ended, on whatever way.

        Raises DeadlineError when the cluster has not answered for longer than any attempt takes.
        """
        references = list(self._running)
        self._ray.wait(references, num_returns=1, timeout=timeout_seconds)
        ready, _ = self._ray.wait(references, num_returns=len(references), timeout=0)
        if ready:
            self._heard_at = time.monotonic()
        silent_seconds = time.monotonic() - self._heard_at
        if silent_seconds > self._deadline_seconds + SILENCE_SECONDS:
            raise DeadlineError(
                f"the Ray cluster has answered nothing for {silent_seconds:.0f} s",
                hint="`ray status` tells whether it has nodes with free cores; then start again",
            )
        return [self._finish(reference) for reference in ready]

    def close(self) -> None:
        """End every attempt, and leave the cluster unless the caller had joined it."""
        for reference in self._running:
            self._ray.cancel(reference, force=True)
        if self._running:
            references = list(self._running)
            self._ray.wait(references, num_returns=len(references), timeout=STOP_SECONDS)
        self._running = {}
        if self._joined:
            self._ray.shutdown()

    def _connect(self) -> None:
        try:
            _knock(self._address)
            self._ray.init(address=self._address, log_to_driver=False, logging_level="WARNING")
        except (OSError, ValueError, RuntimeError) as error:
            raise UserError(
                f"no Ray cluster at {self._address!r}: {error}",
                hint="start one with `ray start --head`, or name its address",
            ) from None

    def _finish(self, reference: Any) -> Answer:
        order, since = self._running.pop(reference)
        errors = self._ray.exceptions
        try:
            answer: Answer = self._ray.get(reference)
        except errors.RayTaskError:
            raise  # not the attempt, which answers for itself: a fault of the program
        except errors.RayError as error:
            seconds = time.monotonic() - since
            if _is_late(order.place):
                return lost(order, f"took longer than {self._deadline_seconds:g} s", seconds)
            words = f"its worker died ({type(error).__name__})"
            return lost(order, words, seconds)
        return answer


def attempt_in_time(order: Order, deadline_seconds: float) -> Answer:
    """``attempt``, in a process that ends itself when it takes too long.

    The deadline counts from here, not from the submission, which a busy cluster lets wait. The
    watch is a thread of C, so that it also ends code that holds the interpreter.
    """
    if not sees_folder(order.room, order.token):
        return attempt(order)  # which says so
    order.place.mkdir(exist_ok=True)
    with (order.place / _LATE).open("w") as late:
        faulthandler.dump_traceback_later(deadline_seconds, exit=True, file=late)
        try:
            return attempt(order)
        finally:
            faulthandler.cancel_dump_traceback_later()


def _knock(address: str) -> None:
    """Raises OSError when nobody listens at ``host:port``, for which Ray itself waits minutes."""
    host, _, port = address.rpartition(":")
    if host and "/" not in host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=KNOCK_SECONDS).close()


def _is_late(place: Path) -> bool:
    with suppress(OSError):
        return (place / _LATE).stat().st_size > 0
    return False
