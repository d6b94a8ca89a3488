"""The line of clips: made out of order, delivered in order, with so many slots that bound both.

A place is opened when there is a slot for it, and keeps the slot until it is delivered, so the
consumer's pace is the limit of everything: while it sleeps, all slots fill up and the workers wait.
How many places are open at most, the depth, may change while the line runs.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

from filmgate.errors import DeadlineError
from filmgate.feed.ahead import Ahead
from filmgate.feed.division import Division
from filmgate.feed.kept_frames import KeptFrames
from filmgate.feed.messages import ClipDone, ClipFailed, FailureKind, Made, Task, Visit
from filmgate.feed.policy import Policy
from filmgate.feed.stats import Tally

MAX_CRASHES = 2
"""Workers that one clip may take with it before it counts as failed."""
MAX_PASSED_OVER = 4
"""Clips that may be started before the first that waits, because they suit a worker better."""


@dataclass(kw_only=True, eq=False)
class Place:
    """One place of the line, and what became of it."""

    position: int
    own_slot: int
    """The slot that is its own until it is delivered."""
    slot: int
    """Where its clip lies, or is to lie: its own slot, one of the cache, or none."""
    number: int
    """Global number of its sample; past the end of a finite list it is padding."""
    failures: list[ClipFailed] = field(default_factory=list)
    """Attempts that failed, in order."""
    done: ClipDone | None = None
    """The clip in its slot; None when the place is masked, or not settled yet."""
    is_settled: bool = False
    num_crashes: int = 0


@dataclass(frozen=True, kw_only=True)
class _Waiting:
    """A task that no worker has yet."""

    task: Task
    video: int
    """Row of the catalog."""


class Line:
    """Shared by the pump, which asks for tasks and settles them, and the consumer, which takes."""

    def __init__(
        self,
        *,
        division: Division,
        policy: Policy,
        ahead: Ahead,
        kept_frames: KeptFrames,
        tally: Tally,
        num_slots: int,
        wake: Callable[[], None],
        depth: int | None = None,
    ) -> None:
        self._division = division
        self._policy = policy
        self._ahead = ahead
        self._kept_frames = kept_frames
        self._tally = tally
        # A heap: low slots first, so that no more memory is touched than the depth needs.
        self._free_slots = list(range(num_slots))
        self._depth = min(depth or num_slots, num_slots)
        self._wake = wake
        self._changed = threading.Condition()
        self._places: deque[Place] = deque()
        self._todo: OrderedDict[int, _Waiting] = OrderedDict()
        """Place -> its task."""
        self._num_passed_over = 0
        self._num_released = 0
        self._waited_seconds = 0.0
        self._waiting_since: float | None = None
        self._next_position = 0
        self._error: BaseException | None = None
        self._num_events = 0

    def begin(self) -> None:
        """Open the first places."""
        with self._changed:
            self._open_places()

    def next_visit(self, suits: Callable[[int], bool] | None = None) -> Visit | None:
        """What is to be started next; None when there is nothing for now.

        The task at the front, or one close behind it whose video ``suits`` better, with the clips
        of the same video that wait as well and, as far as the cache has slots, with those that
        later epochs ask for. Clips whose frames are all in the store are settled at once.
        """
        with self._changed:
            while self._todo:
                chosen = self._pop(suits)
                may_fill = not self._ahead.is_alone(chosen.video)
                served = self._kept_frames.serve(chosen.task, may_fill=may_fill)
                if isinstance(served, Task):
                    tasks = (served, *self._companions(chosen))
                    return Visit(tasks=tasks, video=chosen.video)
                self._tally.add_from_cache()
                self.settle(served)
            return None

    def _pop(self, suits: Callable[[int], bool] | None) -> _Waiting:
        """Take the first task out that suits; the front one when none does or it waited enough."""
        front = position = next(iter(self._todo))
        if suits is not None and self._num_passed_over < MAX_PASSED_OVER:
            near = islice(self._todo.items(), MAX_PASSED_OVER + 1)
            position = next((p for p, waiting in near if suits(waiting.video)), front)
        self._num_passed_over = 0 if position == front else self._num_passed_over + 1
        return self._todo.pop(position)

    def settle(self, reply: Made) -> None:
        """Take the report on a task."""
        with self._changed:
            self._tally.add(reply)
            if isinstance(reply, ClipDone):
                self._kept_frames.mark(reply)
            is_open = reply.task.position < self._next_position
            if self._ahead.is_promised(reply.task.position):
                self._ahead.settle(reply, is_open=is_open)
            if is_open:
                self._settle_place(self._place(reply.task), reply)
            self._tell()

    def give_back(self, visit: Visit, fault: tuple[FailureKind, str] | None) -> None:
        """Take back a visit whose worker is gone; ``fault`` is what it did, if anything.

        A visit that does more than one clip asks for blames none: each is made again by itself.
        """
        with self._changed:
            if not visit.does_more:
                self._give_back_one(visit.tasks[0], fault)
                return
            if fault is not None:
                self._ahead.leave_alone(self._policy.video_of(visit.tasks[0]))
            for task in reversed(visit.tasks):
                if self._ahead.is_promised(task.position):
                    self._ahead.break_promise(task)
                if task.position < self._next_position:
                    self._queue_again(self._place(task), task)
            self._tell()

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
            self._waiting_since = time.monotonic()
            try:
                while (place := self.look(index)) is None:
                    self._wait_for_event(patience_seconds)
            finally:
                self._waited_seconds = self.waited_seconds
                self._waiting_since = None
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
                self._ahead.free(place.slot)
                self._plan(place)
                self._wake()
            return place if place.is_settled else None

    def release(self, count: int) -> None:
        """The first ``count`` places are delivered and their slots free."""
        with self._changed:
            for _ in range(count):
                place = self._places.popleft()
                self._ahead.free(place.slot)
                heapq.heappush(self._free_slots, place.own_slot)
            self._num_released += count
            self._open_places()
        self._wake()

    def set_depth(self, depth: int) -> None:
        """Open so many places at most from now on; those that are open stay."""
        with self._changed:
            if depth != self._depth:
                self._depth = depth
                self._open_places()

    @property
    def waited_seconds(self) -> float:
        """How long the consumer has waited for places, up to now."""
        since = self._waiting_since
        return self._waited_seconds + (0.0 if since is None else time.monotonic() - since)

    @property
    def num_released(self) -> int:
        """Places that are delivered."""
        return self._num_released

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
        while len(self._places) < self._depth and self._free_slots:
            position = self._next_position
            if self._division.is_past_end(position):
                return
            self._next_position += 1
            number = self._division.number(position)
            slot = heapq.heappop(self._free_slots)
            place = Place(position=position, own_slot=slot, slot=slot, number=number)
            self._places.append(place)
            if self._division.is_padding(number):
                place.is_settled = True
            elif (kept := self._ahead.take(position)) is not None:
                self._settle_place(place, kept)
                self._tally.add_from_cache()
            elif not self._ahead.is_promised(position):
                self._plan(place)

    def _settle_place(self, place: Place, reply: Made) -> None:
        if isinstance(reply, ClipDone):
            place.done, place.is_settled, place.slot = reply, True, reply.task.slot
            return
        self._ahead.free(reply.task.slot)
        self._policy.quarantine(reply)
        place.failures.append(reply)
        self._plan(place)

    def _companions(self, chosen: _Waiting) -> Iterator[Task]:
        for position, number in self._ahead.companions(chosen.task):
            if position < self._next_position:
                waiting = self._todo.get(position)
                if waiting is not None and waiting.task.attempt == 0:
                    del self._todo[position]
                    yield waiting.task
            elif not self._policy.is_left_out(chosen.video, number):
                promised = self._ahead.promise(position, number)
                if promised is not None:
                    yield promised

    def _give_back_one(self, task: Task, fault: tuple[FailureKind, str] | None) -> None:
        place = self._place(task)
        kind, reason = fault or (None, "")
        if kind == "crash":
            place.num_crashes += 1
            reason = f"{reason}, {place.num_crashes} times"
        if kind is None or (kind == "crash" and place.num_crashes < MAX_CRASHES):
            self._queue_again(place, task)
            self._tell()
        else:
            self.settle(self._policy.failure_of(task, kind, reason))

    def _queue_again(self, place: Place, task: Task) -> None:
        place.slot = place.own_slot
        self._queue(replace(task, slot=place.slot, have=b"", fill=False), at_front=True)

    def _queue(self, task: Task, *, at_front: bool) -> None:
        self._todo[task.position] = _Waiting(task=task, video=self._policy.video_of(task))
        if at_front:
            self._todo.move_to_end(task.position, last=False)

    def _plan(self, place: Place) -> None:
        """Queue what the policy wants next for a place, or leave it masked."""
        is_new = not place.failures
        place.slot = place.own_slot
        task = self._policy.next_task(
            position=place.position, slot=place.slot, number=place.number, failures=place.failures
        )
        place.num_crashes = 0
        if task is None:
            place.is_settled = True
        else:
            self._queue(task, at_front=not is_new)

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
