"""What asks a process to stop, and which of several signals are one request."""

from __future__ import annotations

import signal
import time

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""A scheduler, Ctrl-C, and a terminal or connection that closes."""
REPEAT_SECONDS = 2.0
"""One stop often comes several times: ``timeout`` signals a whole group of processes, and ``make``
in it passes the signal on. What comes so soon after the first is the same request."""


class _Clock:
    """Signals are the process's own, and so is the time of the last one that counted."""

    asked_at = -REPEAT_SECONDS


def note_stop() -> None:
    """A signal counts as a request, made now."""
    _Clock.asked_at = time.monotonic()


def is_repeat() -> bool:
    """Whether a signal that comes now belongs to the request before it."""
    return time.monotonic() - _Clock.asked_at < REPEAT_SECONDS
