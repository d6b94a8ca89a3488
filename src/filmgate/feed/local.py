"""Clips made in the consumer's process, one visit at a time, on a thread that can be left behind.

The consumer waits for the thread with a deadline. A frame that hangs inside a decoder or a file
system cannot be ended without ending the process; so the thread is left to it, with the slots that
it may still write to, and another one goes on. T C H W of one clip.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from filmgate.errors import UserError
from filmgate.feed.arena import Arena
from filmgate.feed.clip_maker import ClipMaker, ClipOfSlot
from filmgate.feed.frame_store import FrameStore
from filmgate.feed.line import Line, Place
from filmgate.feed.messages import Made, Visit
from filmgate.feed.source import copy_clip
from filmgate.feed.tuner import Tuner

GRACE_SECONDS = 1.0
"""Beyond its deadline, so that a clip that is only slow is ended by itself, between two frames."""
LOOK_SECONDS = 0.2
"""From one look at the clock to the next. A look that comes late counts as two: the process stood
still, and the thread with it."""
CLOSE_SECONDS = 5.0
"""What the thread gets to finish a clip and close its decoders before it is left behind."""


class _Hand:
    """The thread with its decoders; it touches nothing else of the source."""

    def __init__(self, maker: ClipMaker, clip_of_slot: ClipOfSlot, deadline_seconds: float) -> None:
        self._maker = maker
        self._clip_of_slot = clip_of_slot
        self._deadline_seconds = deadline_seconds
        self._visits: queue.SimpleQueue[Visit | None] = queue.SimpleQueue()
        self._replies: queue.SimpleQueue[tuple[Made, ...] | BaseException] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="feed-hand", daemon=True)

    def start(self, visit: Visit) -> None:
        """Begin a visit."""
        if not self._thread.is_alive():
            self._thread.start()
        self._visits.put(visit)

    def answer(self, seconds: float) -> tuple[Made, ...] | BaseException | None:
        """The reports on the visit, or what making them raised; None when it takes longer."""
        while True:
            began = time.monotonic()
            try:
                return self._replies.get(timeout=min(LOOK_SECONDS, max(0.0, seconds)))
            except queue.Empty:
                seconds -= min(time.monotonic() - began, 2 * LOOK_SECONDS)
                if seconds <= 0:
                    return None

    def leave(self) -> None:
        """It closes its decoders and ends once it is done, if ever."""
        self._visits.put(None)

    def join(self, seconds: float) -> None:
        """Wait until it has ended, or for so long."""
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(seconds)

    def _run(self) -> None:
        while (visit := self._visits.get()) is not None:
            try:
                made: tuple[Made, ...] | BaseException = self._maker.make(
                    visit, self._clip_of_slot, clip_deadline_seconds=self._deadline_seconds
                )
            except BaseException as error:  # noqa: BLE001  the consumer raises it
                made = error
            self._replies.put(made)
        self._maker.close()


@dataclass(frozen=True, kw_only=True)
class _Pending:
    """A visit that was begun."""

    visit: Visit
    seconds: float
    """How long it may take in all."""


class LocalSource:
    """Makes each clip when it is asked for, in this process."""

    def __init__(
        self,
        make_maker: Callable[[], ClipMaker],
        arena: Arena,
        store: FrameStore | None,
        clip_deadline_seconds: float,
        tuner: Tuner,
    ) -> None:
        self.tuner = tuner
        self.num_slots = arena.plan.num_slots
        self.clip_shape = arena.plan.clip_shape
        self._make_maker = make_maker
        self._arena = arena
        self._store = store
        self._deadline_seconds = clip_deadline_seconds
        self._instead: dict[int, NDArray[np.uint8]] = {}
        self._hand: _Hand | None = None
        self._owner = os.getpid()
        self._pending: _Pending | None = None
        self._line: Line | None = None

    process_ids: list[int] = []
    idle_seconds = 0.0

    def begin(self, line: Line) -> None:
        """Take clips from this line."""
        self._line = line
        line.begin()

    def wake(self) -> None:
        """Nothing sleeps here."""

    def take(self, index: int) -> Place:
        """Make clips until the place is settled."""
        assert self._line is not None
        if self._pending is not None and os.getpid() != self._owner:  # begun before a fork
            self._line.give_back(self._pending.visit, None)
            self._pending = None
        while (place := self._line.look(index)) is None:
            if self._pending is None:
                visit = self._line.next_visit()
                if visit is None:  # the clip came out of the store
                    continue
                self._start(visit)
            self._finish(self._line)
        return place

    def write_clip(self, place: Place, out: NDArray[np.uint8]) -> None:
        """From its slot or from the store."""
        copy_clip(place, self._clip_of_slot(), self._store, out)

    def set_workers(self, num_workers: int) -> None:
        """There are none to change."""
        raise UserError(
            "this feed makes its clips in the training process",
            hint="open it with workers above 0 in [limits]",
        )

    def close(self) -> None:
        """Close the decoders. May be called again."""
        hand, self._hand = self._hand, None
        if hand is not None and os.getpid() == self._owner:
            hand.leave()
            hand.join(CLOSE_SECONDS)
        self._arena.close()
        if self._store is not None:
            self._store.close()

    def _start(self, visit: Visit) -> None:
        num_tasks = len(visit.tasks)
        tries = 2 if visit.does_more else 1  # together, and then one by one
        seconds = self._deadline_seconds * num_tasks * tries + GRACE_SECONDS
        self._living_hand().start(visit)
        self._pending = _Pending(visit=visit, seconds=seconds)

    def _living_hand(self) -> _Hand:
        """The thread; a new one with decoders of its own in a forked child."""
        if self._hand is None or os.getpid() != self._owner:
            self._owner = os.getpid()
            self._hand = _Hand(self._make_maker(), self._clip_of_slot(), self._deadline_seconds)
        return self._hand

    def _finish(self, line: Line) -> None:
        """Hear of the visit that was begun, also where an earlier wait for it was broken off."""
        pending = self._pending
        assert pending is not None
        made = self._living_hand().answer(pending.seconds)
        self._pending = None
        if isinstance(made, BaseException):
            raise made
        if made is None:
            self._leave_behind(pending.visit)
            line.give_back(
                pending.visit, ("deadline", f"took longer than {self._deadline_seconds:g} s")
            )
            return
        for one in made:
            line.settle(one)

    def _leave_behind(self, visit: Visit) -> None:
        """Give up the thread, and the slots that it may still write to."""
        assert self._hand is not None
        self._hand.leave()
        self._hand = None
        shape = self._arena.plan.clip_shape
        self._instead |= {task.slot: np.zeros(shape, np.uint8) for task in visit.tasks}

    def _clip_of_slot(self) -> ClipOfSlot:
        """The slots as they are now; a thread that was left behind keeps those of its time."""
        instead, arena = dict(self._instead), self._arena
        return lambda slot: instead[slot] if slot in instead else arena.clip(slot)
