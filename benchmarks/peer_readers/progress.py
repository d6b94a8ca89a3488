"""What is being measured, and how long the rest will take, on stderr."""

from __future__ import annotations

import sys
import time

from benchmarks.peer_readers.result import RowResult
from benchmarks.peer_readers.rows import Row, Size
from filmgate.units import format_seconds


class Progress:
    """The time left by the rows' own estimates, corrected by how long they took so far."""

    def __init__(self, rows: list[Row], size: Size) -> None:
        self._size = size
        self._left = {row.name: _estimated_seconds(row, size) for row in rows}
        self._began = time.monotonic()
        self._done = 0.0
        self._is_terminal = sys.stderr.isatty()

    def begin(self, row: Row) -> None:
        """Say the row, and the time left for all of them."""
        samples = self._size.rounds * (len(row.ours) + len(row.others_of(self._size)))
        print(
            f"{row.name}: {row.says}\n  {self._size.rounds} rounds, at least {samples} samples; "
            f"{self._time_left()}",
            file=sys.stderr,
            flush=True,
        )

    def end_round(self, row: Row, number: int) -> None:
        """Say how far the row is."""
        part = _estimated_seconds(row, self._size) / self._size.rounds
        self._left[row.name] -= part
        self._done += part
        self.say("")
        start = "\r" if self._is_terminal else ""
        print(
            f"{start}  round {number + 1} of {self._size.rounds} done; {self._time_left()}",
            file=sys.stderr,
            flush=True,
        )

    def _time_left(self) -> str:
        elapsed, left = time.monotonic() - self._began, sum(self._left.values())
        if self._done:
            left *= elapsed / self._done
        return f"about {format_seconds(max(0.0, left))} to the end of all rows"

    def say(self, what: str) -> None:
        """Overwrite the line on a terminal; nothing elsewhere."""
        if self._is_terminal:
            print(f"\r\033[K  {what}", end="", file=sys.stderr, flush=True)

    def end(self, row: Row, result: RowResult) -> None:
        """Show what the row came to."""
        self.say("")
        self._left.pop(row.name)
        if self._is_terminal:
            print("\r", end="", file=sys.stderr)
        for one in sorted([*result.ours, *result.others], key=lambda one: -(one.median or 0.0)):
            value = f"{one.median:.4g}" if one.median is not None else "no figure"
            why = f" ({one.why_not})" if one.why_not else ""
            print(f"  {value:>10}  {one.label}{why}", file=sys.stderr, flush=True)


def _estimated_seconds(row: Row, size: Size) -> float:
    """By the rows' own figures for two cores, which are those of 3 quick or 5 full rounds."""
    quick, full = row.minutes
    return 60 * (full * size.rounds / 5 if size.has_extras else quick * size.rounds / 3)
