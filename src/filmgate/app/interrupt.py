"""Signals outside of training: they unwind, so that no worker or half file stays."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from filmgate.errors import Interrupted


class Terminated(BaseException):
    """SIGTERM or SIGHUP, raised where the main thread is."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def answer_signals() -> None:
    """Have SIGTERM and SIGHUP raise Terminated; SIGHUP stays ignored where it was (``nohup``)."""
    signal.signal(signal.SIGTERM, _on_signal)
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _on_signal)


@contextmanager
def interruptible() -> Iterator[None]:
    """Raises Interrupted for a signal that ends a run; training answers signals by itself."""
    try:
        yield
    except (KeyboardInterrupt, Terminated):
        raise Interrupted(
            "stopped by a signal before the end of the run",
            hint="the same command again continues it",
        ) from None


def _on_signal(number: int, frame: FrameType | None) -> None:
    raise Terminated(number)
