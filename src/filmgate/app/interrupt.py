"""Ctrl-C and SIGTERM outside of training: both unwind, so that no worker or half file stays."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from filmgate.errors import Interrupted


class Terminated(BaseException):
    """SIGTERM, raised where the main thread is."""


def answer_sigterm() -> None:
    """Have SIGTERM raise Terminated from now on."""
    signal.signal(signal.SIGTERM, _on_sigterm)


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


def _on_sigterm(number: int, frame: FrameType | None) -> None:
    raise Terminated
