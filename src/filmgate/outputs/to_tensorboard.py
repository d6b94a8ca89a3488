"""TensorBoard event files, written by TensorBoard's own writer."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from filmgate.outputs.points import Point
from filmgate.outputs.sink import OutputFault


class TensorBoardSink:
    """A new event file in a folder."""

    run_id: str | None = None

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer: EventFileWriter | None = None

    def open(self) -> None:
        """Begin the file."""
        try:
            self._writer = EventFileWriter(str(self._folder))
        except OSError as error:
            raise OutputFault(f"{self._folder}: {error.strerror or error}") from None

    def put(self, points: Sequence[Point], *, is_unsure: bool) -> None:
        """Write and flush; a point that is there twice is drawn once."""
        assert self._writer is not None, "open() comes first"
        try:
            for point in points:
                value = Summary.Value(tag=point.key, simple_value=point.value)
                self._writer.add_event(
                    Event(
                        wall_time=point.unix_seconds,
                        step=point.step,
                        summary=Summary(value=[value]),
                    )
                )
            self._writer.flush()
        except OSError as error:
            self.close()
            raise OutputFault(f"{self._folder}: {error.strerror or error}") from None

    def finish(self) -> None:
        """Nothing more to say."""

    def close(self) -> None:
        """Close the file."""
        if self._writer is not None:
            with suppress(OSError):
                self._writer.close()
            self._writer = None
