"""Talk on stderr: progress with an estimate of the time left, notes, and errors with hints."""

from __future__ import annotations

import sys
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


class Talk:
    """What the user is told while work goes on; all of it on stderr.

    On a terminal, and where ``progress`` is not False, a live bar per job.
    """

    def __init__(self, *, quiet: bool = False, progress: bool = True) -> None:
        self._quiet = quiet
        self._progress = progress and not quiet
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
        return JobProgress(title, unit, self._console if self._progress else None)


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
    """Progress of one job: call it with (done, total, note). Without a terminal it is silent."""

    def __init__(self, title: str, unit: str, console: Console | None) -> None:
        self._title = title
        self._unit = unit
        self._console = console
        self._bar: Progress | None = None

    def __enter__(self) -> Self:
        if self._console is not None and self._console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description:<12}"),
                BarColumn(bar_width=28),
                MofNCompleteColumn(),
                TextColumn("{task.fields[unit]}"),
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
                TextColumn("{task.fields[note]}", markup=False),
                console=self._console,
            )
            self._bar.start()
            self._bar.add_task(self._title, total=None, unit=self._unit, note="")
        return self

    def close(self) -> None:
        """Take the bar off the screen."""
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: int, total: int, note: str = "") -> None:
        """Tell that ``done`` of ``total`` is finished."""
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, total=total, note=note)

    def next_part(self, title: str, unit: str) -> JobProgress:
        """Show how the part ended, and begin another part of the job in the same place."""
        if self._bar is not None:
            self._bar.refresh()
            self._bar.reset(
                self._bar.task_ids[0], total=None, description=title, unit=unit, note=""
            )
        return self
