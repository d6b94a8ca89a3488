"""Signals outside of training: they unwind, so that no worker or half file stays."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from filmgate.errors import Interrupted
from filmgate.stopping import STOP_SIGNALS, is_repeat, note_stop


class Terminated(BaseException):
    """SIGTERM or SIGHUP, raised where the main thread is."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def answer_signals() -> None:
    """Have SIGTERM and SIGHUP raise Terminated, and SIGINT KeyboardInterrupt.

    Those that are ignored already stay ignored, as under ``nohup``.
    """
    for number in STOP_SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _on_signal)


def ignore_repeats() -> None:
    """At the end of a process that was stopped: the interpreter gives signals their own meaning
    back before it is gone, and a repeated one would take the exit code with it."""
    for number in STOP_SIGNALS if is_repeat() else ():
        signal.signal(number, signal.SIG_IGN)


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
    """Raises once for a stop that comes several times, so that unwinding is not cut short."""
    if is_repeat():
        return
    note_stop()
    raise KeyboardInterrupt if number == signal.SIGINT else Terminated(number)
