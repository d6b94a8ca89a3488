"""Where numbers go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from filmgate.outputs.points import Point


class OutputFault(Exception):
    """An output that did not take what it was given; it is tried again."""


class Sink(Protocol):
    """One output."""

    run_id: str | None
    """As in ``OutputState``."""

    def open(self) -> None:
        """Make it ready. Raises OutputFault; is then called again."""

    def put(self, points: Sequence[Point], *, is_unsure: bool) -> None:
        """Hand points over. ``is_unsure``: they may have been handed over before.

        Raises OutputFault.
        """

    def finish(self) -> None:
        """The run is done. Raises OutputFault."""

    def close(self) -> None:
        """Let go; never raises."""
