"""What the room is told and what it tells: tasks, limits, outcomes, progress."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Annotated, Generic, TypeVar

from msgspec import Meta

from filmgate.records import Record

ROOM = ".work"
"""Folder inside the output folder, in which the room keeps what is its own."""
JOURNAL_FILE = "journal.jsonl"
"""Inside the room; there as soon as a work has begun."""

Payload = TypeVar("Payload")
Row = TypeVar("Row", bound=Record)


@dataclass(frozen=True, kw_only=True, slots=True)
class Task(Generic[Payload]):
    """One piece of work that can be done without the others."""

    key: str
    """Digest of the content of its inputs, its settings and the version of the recipe: a task
    with a known key is not done again."""
    name: str
    """What people call it, usually the path of its input; stands in faults and lists."""
    payload: Payload
    """What the function gets: small and picklable; paths, never pixels."""
    outputs: tuple[str, ...] = ()
    """Files it publishes, below the folder, with forward slashes. They become visible in this
    order: whoever sees the last one may read them all."""
    size_bytes: int = 0
    """How much there is to do, for the forecast; usually the size of its input."""
    resumable: bool = False
    """Whether a further attempt finds in its place what the one before left there."""


class Limits(Record, frozen=True):
    """How much trouble is allowed."""

    deadline_seconds: Annotated[float, Meta(gt=0)] = 1800.0
    """An attempt that takes longer is ended."""
    attempts: Annotated[int, Meta(ge=1)] = 3
    """Tries of a task that crashes, is late, or meets a fault that may pass; then it is
    quarantined."""
    retry_seconds: Annotated[float, Meta(ge=0)] = 1.0
    """Wait before the second try of a task; doubles with each further one."""
    error_budget: Annotated[float, Meta(ge=0, le=1)] = 1.0
    """Share of the tasks that may be quarantined before the work stops; three always may, unless
    the budget is 0."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome(Generic[Payload, Row]):
    """What became of one task: a row, or the fault for which it is quarantined."""

    task: Task[Payload]
    """The task."""
    row: Row | None
    """What the function returned; None when there is a fault."""
    fault: str | None
    """One clause; None when there is a row."""
    is_lost: bool = False
    """Whether its last attempt took its worker: by a crash or past the deadline."""
    attempts: int
    """How often it was tried, over all starts."""
    seconds: float
    """How long the last attempt took."""
    worker: str
    """Who did it: ``host:process``."""
    reused: bool
    """Whether an earlier start of the work had finished or quarantined it."""


class Progress(Record, frozen=True, kw_only=True):
    """How far a list of tasks has come."""

    done: int
    """Tasks that are finished or quarantined."""
    total: int
    """Tasks in the list."""
    bytes_done: int
    """Size of the tasks that are done."""
    bytes_total: int
    """Size of all tasks."""
    seconds: float
    """Since this start of the work."""
    num_reused: int = 0
    """Those of ``done`` that an earlier start had done."""
    num_quarantined: int = 0
    """Those of ``done`` that were given up."""
    left_seconds: float | None = None
    """Forecast of the time to the end, at the rate of this start; None before there is one."""


OnProgress = Callable[[Progress], None]


def check_tasks(tasks: Sequence[Task[Payload]]) -> None:
    """Raises ValueError when two tasks share a key or an output, or an output lies elsewhere."""
    keys, outputs = set[str](), set[str]()
    for task in tasks:
        if task.key in keys:
            raise ValueError(f"two tasks have the key {task.key}; the second is {task.name}")
        keys.add(task.key)
        for output in task.outputs:
            path = PurePosixPath(output)
            if (
                str(path) != output
                or path.is_absolute()
                or ".." in path.parts
                or path.parts[:1] in ((), (ROOM,))
            ):
                raise ValueError(f"output {output!r} of {task.name} is no path below the folder")
            if output in outputs:
                raise ValueError(f"two tasks publish {output!r}; the second is {task.name}")
            outputs.add(output)
