"""Hands a run's telemetry on, each output at its own pace, until all have all of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from filmgate.outputs.follow import Stretch, read_stretch
from filmgate.outputs.record import OUTPUTS_FILE, OutputsRecord, OutputState
from filmgate.outputs.sink import OutputFault, Sink
from filmgate.records import Header, write_record

TELEMETRY = "telemetry.jsonl"
TICK_SECONDS = 0.5
FIRST_PAUSE_SECONDS = 1.0
MOST_PAUSE_SECONDS = 30.0


@dataclass(kw_only=True)
class Course:
    """One output on its way."""

    state: OutputState
    sink: Sink
    is_open: bool = False
    pause_seconds: float = FIRST_PAUSE_SECONDS
    """Until the next attempt, after a fault."""
    next_attempt: float = field(default=0.0)
    """On the monotonic clock."""


@dataclass(kw_only=True)
class Sender:
    """All outputs of a run folder."""

    run_folder: Path
    courses: list[Course]
    is_running: Callable[[], bool]
    """Whether the training process is there."""
    linger_seconds: float
    """How long to go on after the run's end, where an output does not take its numbers."""

    def run(self) -> None:
        """Send until all is sent, or nothing more can be expected."""
        left_at: float | None = None
        while not all(course.state.is_done for course in self.courses):
            is_running = self.is_running()
            moved = [self._advance(course) for course in self.courses if not course.state.is_done]
            if not is_running:
                left_at = left_at or time.monotonic()
                if not any(moved) and self._has_to_leave(left_at):
                    break
            if not any(moved):
                time.sleep(TICK_SECONDS)
        for course in self.courses:
            course.sink.close()

    def _has_to_leave(self, left_at: float) -> bool:
        """Where nothing but the run's end is missing, it was cut off: its resume sends on."""
        telemetry = self.run_folder / TELEMETRY
        size = telemetry.stat().st_size if telemetry.exists() else 0
        waits = [
            course
            for course in self.courses
            if course.state.kind != "prometheus" and course.state.telemetry_bytes < size
        ]
        return not waits or time.monotonic() - left_at > self.linger_seconds

    def _advance(self, course: Course) -> bool:
        """Whether it got on; a fault is counted, and the next attempt waits longer."""
        if time.monotonic() < course.next_attempt:
            return False
        try:
            return self._send(course)
        except (OutputFault, OSError) as error:
            course.sink.close()
            course.is_open = False
            self._keep(course, faults=course.state.faults + 1, last_fault=str(error))
            course.next_attempt = time.monotonic() + course.pause_seconds
            course.pause_seconds = min(MOST_PAUSE_SECONDS, course.pause_seconds * 2)
            return False

    def _send(self, course: Course) -> bool:
        if not course.is_open:
            course.sink.open()
            course.is_open = True
            self._keep(course, run_id=course.sink.run_id)
        state = course.state
        stretch = read_stretch(self.run_folder / TELEMETRY, state.telemetry_bytes, state.last_steps)
        if stretch is None:
            return False
        if stretch.points:
            was_unsure = state.is_unsure
            self._keep(course, is_unsure=True)
            course.sink.put(stretch.points, is_unsure=was_unsure)
        if stretch.has_finish:
            course.sink.finish()
        self._keep_sent(course, stretch)
        course.pause_seconds = FIRST_PAUSE_SECONDS
        return True

    def _keep_sent(self, course: Course, stretch: Stretch) -> None:
        self._keep(
            course,
            is_unsure=False,
            telemetry_bytes=stretch.end_bytes,
            last_steps=stretch.last_steps,
            points=course.state.points + len(stretch.points),
            is_done=stretch.has_finish,
        )

    def _keep(self, course: Course, **changes: object) -> None:
        """Change the state, on disk as well."""
        course.state = replace(course.state, **changes)
        write_record(
            self.run_folder / OUTPUTS_FILE,
            OutputsRecord(
                header=Header(schema="filmgate.outputs", schema_version=1),
                outputs=[one.state for one in self.courses],
            ),
        )
