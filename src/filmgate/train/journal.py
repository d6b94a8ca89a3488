"""One attempt's side of the telemetry file: stamps each line with the time and the attempt."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from filmgate.errors import UserError
from filmgate.records.telemetry import AnyLine, Event, TelemetryWriter, read_telemetry


class Journal:
    """Writes telemetry, and passes events on to whoever watches."""

    def __init__(
        self, path: Path, on_event: Callable[[str], None] | None, *, is_mute: bool = False
    ) -> None:
        self.path = path
        self.is_mute = is_mute
        """Whether another process writes the file: nothing is written then, and nobody hears."""
        self.attempt = 0
        """0 for the first start of the run; known after ``open``."""
        self.step = 0
        """Optimizer updates done; stamped on events."""
        self._on_event = on_event
        self._writer: TelemetryWriter | None = None

    def open(self) -> None:
        """Continue the file. Raises UserError when it is no telemetry or cannot be written."""
        if self.path.exists():
            self.attempt = 1 + max((line.attempt for line in read_telemetry(self.path)), default=-1)
        if self.is_mute:
            return
        try:
            self._writer = TelemetryWriter(self.path)
        except OSError as error:
            raise self._cannot_write(error) from None

    def write(self, kind: type[AnyLine], **fields: Any) -> AnyLine:
        """Append one line and return it. Raises UserError when the disk does not take it."""
        line = kind(unix_seconds=time.time(), attempt=self.attempt, **fields)
        if self.is_mute:
            return line
        assert self._writer is not None, "open() comes first"
        try:
            self._writer.write(line)
        except OSError as error:
            raise self._cannot_write(error) from None
        return line

    def tell(self, text: str) -> None:
        """Record an event, and pass it on."""
        self.write(Event, step=self.step, text=text)
        if self._on_event is not None and not self.is_mute:
            self._on_event(text)

    def events(self) -> list[str]:
        """Every event of every attempt so far."""
        return [line.text for line in read_telemetry(self.path) if isinstance(line, Event)]

    def close(self) -> None:
        """Flush to disk."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _cannot_write(self, error: OSError) -> UserError:
        return UserError(
            f"{self.path} cannot be written: {error.strerror or error}",
            hint="free some space there or give yourself write permission, then start again",
        )
