"""The line of clips: made out of order, delivered in order, in a ring of slots that bounds both.

Place p of the line uses slot p modulo the number of slots. A place is opened when the place that
used its slot before has been delivered, so the consumer's pace is the limit of everything: while
it sleeps, all slots fill up and the workers wait.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from filmgate.errors import DeadlineError
from filmgate.feed.division import Division
from filmgate.feed.messages import ClipDone, ClipFailed, FailureKind, Task
from filmgate.feed.policy import Policy
from filmgate.feed.stats import Tally

MAX_CRASHES = 2
"""Workers that one clip may take with it before it counts as failed."""


@dataclass(kw_only=True, eq=False)
class Place:
    """One place of the line, and what became of it."""

    position: int
    slot: int
    number: int
    """Global number of its sample; past the end of a finite list it is padding."""
    failures: list[ClipFailed] = field(default_factory=list)
    """Attempts that failed, in order."""
    done: ClipDone | None = None
    """The clip in its slot; None when the place is masked, or not settled yet."""
    is_settled: bool = False
    num_crashes: int = 0


class Line:
    """Shared by the pump, which asks for tasks and settles them, and the consumer, which takes."""

    def __init__(
        self,
        division: Division,
        policy: Policy,
        tally: Tally,
        num_slots: int,
        wake: Callable[[], None],
    ) -> None:
        self._division = division
        self._policy = policy
        self._tally = tally
        self._num_slots = num_slots
        self._wake = wake
        self._changed = threading.Condition()
        self._places: deque[Place] = deque()
        self._todo: deque[Task] = deque()
        self._next_position = 0
        self._error: BaseException | None = None
        self._num_events = 0

    def begin(self) -> None:
        """Open the first places."""
        with self._changed:
            self._open_places()

    def next_task(self) -> Task | None:
        """The task that is to be started next; None when there is none for now."""
        with self._changed:
            return self._todo.popleft() if self._todo else None

    def settle(self, reply: ClipDone | ClipFailed) -> None:
        """Take the report on a task."""
        with self._changed:
            self._tally.add(reply)
            place = self._place(reply.task)
            if isinstance(reply, ClipFailed):
                self._policy.quarantine(reply)
                place.failures.append(reply)
                self._plan(place)
            else:
                place.done, place.is_settled = reply, True
            self._tell()

    def give_back(self, task: Task, fault: tuple[FailureKind, str] | None) -> None:
        """Take back a task whose worker is gone; ``fault`` is what this task did, if anything."""
        with self._changed:
            place = self._place(task)
            kind, reason = fault or (None, "")
            if kind == "crash":
                place.num_crashes += 1
                reason = f"{reason}, {place.num_crashes} times"
            if kind is None or (kind == "crash" and place.num_crashes < MAX_CRASHES):
                self._todo.appendleft(task)
                self._tell()
            else:
                self.settle(self._policy.failure_of(task, kind, reason))

    def fail(self, error: BaseException) -> None:
        """Make every further ``take`` raise."""
        with self._changed:
            self._error = error
            self._tell()

    def take(self, index: int, patience_seconds: float) -> Place:
        """The ``index``-th undelivered place, once it is settled; it stays until ``release``.

        Raises what ``fail`` was given, and DeadlineError when nothing at all happens for
        ``patience_seconds``.
        """
        with self._changed:
            while (place := self.look(index)) is None:
                self._wait_for_event(patience_seconds)
            return place

    def look(self, index: int) -> Place | None:
        """The ``index``-th undelivered place if it is settled.

        A clip of a video that an earlier sample quarantined does not count: it is planned anew.
        """
        with self._changed:
            place = self._places[index]
            done = place.done
            if done is not None and self._policy.is_left_out(done.sample.video, place.number):
                reason = "its video is quarantined"
                place.failures.append(self._policy.failure_of(done.task, "quarantined", reason))
                place.done, place.is_settled = None, False
                self._plan(place)
                self._wake()
            return place if place.is_settled else None

    def release(self, count: int) -> None:
        """The first ``count`` places are delivered and their slots free."""
        with self._changed:
            for _ in range(count):
                self._places.popleft()
            self._open_places()
        self._wake()

    @property
    def num_open(self) -> int:
        """Undelivered places that have a slot; 0 once a finite list is delivered."""
        with self._changed:
            return len(self._places)

    @property
    def num_ready(self) -> int:
        """Settled places in a row from the first undelivered one."""
        with self._changed:
            for count, place in enumerate(self._places):
                if not place.is_settled:
                    return count
            return len(self._places)

    def _open_places(self) -> None:
        while len(self._places) < self._num_slots:
            position = self._next_position
            if self._division.is_past_end(position):
                return
            self._next_position += 1
            number = self._division.number(position)
            place = Place(position=position, slot=position % self._num_slots, number=number)
            self._places.append(place)
            if self._division.is_padding(number):
                place.is_settled = True
            else:
                self._plan(place)

    def _plan(self, place: Place) -> None:
        """Queue what the policy wants next for a place, or leave it masked."""
        is_new = not place.failures
        task = self._policy.next_task(
            position=place.position, slot=place.slot, number=place.number, failures=place.failures
        )
        place.num_crashes = 0
        if task is None:
            place.is_settled = True
        elif is_new:
            self._todo.append(task)
        else:
            self._todo.appendleft(task)

    def _wait_for_event(self, patience_seconds: float) -> None:
        seen, began = self._num_events, time.monotonic()
        while self._num_events == seen:
            if self._error is not None:
                raise self._error
            left_seconds = began + patience_seconds - time.monotonic()
            if left_seconds <= 0:
                raise DeadlineError(
                    f"the feed made no progress for {patience_seconds:g} s while it waited for "
                    f"sample {self._places[0].number} and those after it"
                )
            self._changed.wait(min(1.0, left_seconds))

    def _place(self, task: Task) -> Place:
        return self._places[task.position - self._places[0].position]

    def _tell(self) -> None:
        self._num_events += 1
        self._changed.notify_all()
