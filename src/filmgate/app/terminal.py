"""Talk on stderr: progress with an estimate of the time left, notes, and errors with hints."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from typing import IO, Self, TextIO, cast

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from filmgate.closing import Closing
from filmgate.errors import FilmgateError
from filmgate.units import format_seconds

PLAIN_SECONDS_BETWEEN_LINES = 10.0


class Talk:
    """What the user is told while work goes on; all of it on stderr.

    On a terminal a live bar per job; elsewhere a plain line now and then.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        listener = cast(IO[str], _Listener(sys.stderr)) if sys.stderr else None
        self._console = Console(
            file=listener, stderr=True, highlight=False, emoji=False, soft_wrap=True
        )

    def note(self, text: str) -> None:
        """One line of talk."""
        if not self._quiet:
            self._console.print(text, markup=False)

    def error(self, error: FilmgateError) -> None:
        """``error:`` and ``hint:`` lines; shown even when quiet."""
        self._console.print(f"error: {error.message}", markup=False)
        if error.hint:
            self._console.print(f"hint: {error.hint}", markup=False)

    def job(self, title: str, unit: str) -> JobProgress:
        """A context in which one long job reports how far it is."""
        return JobProgress(title, unit, self._console, quiet=self._quiet)


class _Listener:
    """stderr for rich: a full disk, a closed pipe or terminal costs the talk and not the work."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.encoding = stream.encoding

    def write(self, text: str) -> int:
        """As if all of it had been written."""
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """What cannot be written is lost."""
        with suppress(OSError):
            self._stream.flush()

    def isatty(self) -> bool:
        """Whether a person reads it."""
        return self._stream.isatty()

    def fileno(self) -> int:
        """Of the stream."""
        return self._stream.fileno()


class JobProgress(Closing):
    """Progress of one job: call it with (done, total, note)."""

    def __init__(self, title: str, unit: str, console: Console, *, quiet: bool) -> None:
        self._title = title
        self._unit = unit
        self._console = console
        self._quiet = quiet
        self._started = time.monotonic()
        self._last_line = self._started
        self._first_done = 0
        self._bar: Progress | None = None

    def __enter__(self) -> Self:
        self._started = self._last_line = time.monotonic()
        if self._console.is_terminal and not self._quiet:
            self._bar = Progress(
                TextColumn("{task.description:<12}"),
                BarColumn(bar_width=28),
                MofNCompleteColumn(),
                TextColumn(self._unit),
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
                TextColumn("{task.fields[note]}", markup=False),
                console=self._console,
            )
            self._bar.start()
            self._bar.add_task(self._title, total=None, note="")
        return self

    def close(self) -> None:
        """Take the bar off the screen."""
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: int, total: int, note: str = "") -> None:
        """Tell that ``done`` of ``total`` is finished."""
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, total=total, note=note)
        elif not self._quiet:
            self._plain_line(done, total, note)

    def _plain_line(self, done: int, total: int, note: str) -> None:
        now = time.monotonic()
        if not self._first_done:  # what came before the first is start-up, and says nothing of pace
            self._first_done, self._started = done, now
        if done < total and now - self._last_line < PLAIN_SECONDS_BETWEEN_LINES:
            return
        self._last_line = now
        advanced = done - self._first_done
        left = (now - self._started) * (total - done) / advanced if advanced > 0 else None
        estimate = f", about {format_seconds(left)} left" if left and done < total else ""
        tail = f"  {note}" if note else ""
        line = f"{self._title}: {done} of {total} {self._unit}{estimate}{tail}"
        self._console.print(line, markup=False)
