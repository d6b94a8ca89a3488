"""SIGTERM, SIGINT and SIGHUP as a request that the loop answers between two steps."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

from filmgate.closing import Closing
from filmgate.stopping import STOP_SIGNALS, is_repeat, note_stop


class StopWait(BaseException):
    """Leaves a wait that may be broken off, once a stop is asked for."""


class StopAtOnce(BaseException):
    """A second request: leave without another commit."""


class StopRequest(Closing):
    """A context in which the first signal is remembered and a second one raises StopAtOnce.

    Signals within ``REPEAT_SECONDS`` of the first are the same request. A third meets the handlers
    that were there before, which are put back at the end in any case. SIGHUP stays ignored where it
    was, as under ``nohup``. Outside the main thread Python delivers no signals, and nothing is
    installed.
    """

    def __init__(self) -> None:
        self.signal_name: str | None = None
        self._may_break = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in STOP_SIGNALS:
                if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
                    continue
                self._before[number] = signal.signal(number, self._on_signal)
        return self

    def close(self) -> None:
        """Put the handlers back that were there before."""
        self._put_back()

    @property
    def is_asked(self) -> bool:
        """Whether a signal has come."""
        return self.signal_name is not None

    @contextmanager
    def breaks_wait(self) -> Iterator[None]:
        """Inside, a signal raises StopWait: for waits after which nothing is half done."""
        self._may_break = True
        try:
            if self.is_asked:
                raise StopWait
            yield
        finally:
            self._may_break = False

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.is_asked and is_repeat():
            return
        note_stop()
        if self.is_asked:
            self._put_back()
            raise StopAtOnce
        self.signal_name = signal.Signals(number).name
        if self._may_break:
            raise StopWait

    def _put_back(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}
