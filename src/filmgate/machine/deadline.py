"""Calls that may never come back: the kernel's own, on a lost server or a lost GPU."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def within(seconds: float, call: Callable[[], T], what: str) -> T:
    """What ``call`` returns or raises; TimeoutError (an OSError) when it takes longer.

    A call that hangs is left behind in a thread that does not hold up the end of the program.
    """
    done: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        """In the thread: keep what comes of the call."""
        try:
            done.append(call())
        except BaseException as error:  # noqa: BLE001 - raised again by the caller
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True, name=f"filmgate {what}")
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise TimeoutError(f"{what} did not answer within {seconds:g} s")
    if failed:
        raise failed[0]
    return done[0]
