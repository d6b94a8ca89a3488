"""What an executor is: something that makes attempts, many at a time."""

from __future__ import annotations

from typing import Protocol

from filmgate.work.attempt import Answer, Order


class Executor(Protocol):
    """Makes attempts in processes of its own; used by one work at a time."""

    def open(self, deadline_seconds: float) -> None:
        """Get ready; an attempt may take ``deadline_seconds``. Raises UserError."""

    def has_room(self) -> bool:
        """Whether one more order would be begun at once."""

    def submit(self, order: Order) -> None:
        """Begin an attempt."""

    def wait(self, timeout_seconds: float) -> list[Answer]:
        """Answers to orders, each once, in no order; none when the time is over.

        An attempt whose process died or that is past the deadline is answered for, by a fault
        that may pass.
        """

    def close(self) -> None:
        """End every attempt; a process of theirs that still lives does no harm."""
