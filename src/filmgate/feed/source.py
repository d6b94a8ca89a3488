"""Where the consumer gets its clips from: worker processes, or a thread of its own (``local``).

Both fill the places of a ``Line`` and give the same clips for the same line.
T C H W of one clip.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import threading
import time
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from filmgate.feed.arena import Arena, ClipShape
from filmgate.feed.clip_maker import ClipOfSlot
from filmgate.feed.crew import START_DEADLINE_SECONDS, Crew, Lost
from filmgate.feed.frame_store import FrameStore
from filmgate.feed.line import Line, Place
from filmgate.feed.messages import IN_STORE
from filmgate.feed.tuner import Reading, Tuner

CLOSE_DEADLINE_SECONDS = 30.0
"""How long the pump may take to end its workers."""
IDLE_LOOK_SECONDS = 1.0
"""The pump looks around this often even when nothing happens."""


class ClipSource(Protocol):
    """What the feed asks of a source."""

    num_slots: int
    """Clips it can hold."""
    tuner: Tuner
    """How many workers and places there are to be now."""
    clip_shape: ClipShape
    """(T, C, H, W) of each clip."""

    def begin(self, line: Line) -> None:
        """Fill this line from now on; the line before it is delivered to its end."""

    def wake(self) -> None:
        """The line has something new to do."""

    def take(self, index: int) -> Place:
        """The ``index``-th undelivered place, settled. Raises what stopped the source."""

    def write_clip(self, place: Place, out_TCHW: NDArray[np.uint8]) -> None:
        """Copy the clip of a place that was taken and is not released."""

    @property
    def process_ids(self) -> list[int]:
        """Of the worker processes that run now."""

    @property
    def idle_seconds(self) -> float:
        """How long the workers that have no task now have had none, added up."""

    def set_workers(self, num_workers: int) -> None:
        """So many from now on. Raises UserError for a source that has none."""

    def close(self) -> None:
        """End it. May be called again."""


def copy_clip(
    place: Place, clip_of_slot: ClipOfSlot, store: FrameStore | None, out_TCHW: NDArray[np.uint8]
) -> None:
    """Copy a settled place's clip out of its slot, or put it together from kept frames."""
    assert place.done is not None
    if place.slot == IN_STORE:
        assert store is not None
        store.write_clip(place.done.sample, out_TCHW)
    else:
        out_TCHW[:] = clip_of_slot(place.slot)


class PooledSource:
    """Workers fill the slots of an arena; one thread, the pump, gives them tasks and hears them."""

    def __init__(
        self,
        arena: Arena,
        store: FrameStore | None,
        crew: Crew,
        visit_deadline_seconds: float,
        tuner: Tuner,
    ) -> None:
        self.tuner = tuner
        self.num_slots = arena.plan.num_slots
        self.clip_shape = arena.plan.clip_shape
        self._arena = arena
        self._store = store
        self._crew = crew
        # Between two events lie at most a visit or a start, and the burial of who failed at it.
        self._patience_seconds = visit_deadline_seconds + START_DEADLINE_SECONDS + 60
        self._owner = os.getpid()
        self._line: Line | None = None
        self._past_lines = (0.0, 0)
        self._wake_reader, self._wake_writer = multiprocessing.Pipe(duplex=False)
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._pump = threading.Thread(target=self._run, name="feed-pump", daemon=True)

    def start(self) -> None:
        """Start the workers, so that they are ready when the line begins."""
        self._pump.start()

    def begin(self, line: Line) -> None:
        """Give out the visits of this line."""
        line.begin()
        if self._line is not None:
            waited_seconds, num_released = self._past_lines
            self._past_lines = (
                waited_seconds + self._line.waited_seconds,
                num_released + self._line.num_released,
            )
        self._line = line
        if self._error is not None:
            line.fail(self._error)
        self.wake()

    def take(self, index: int) -> Place:
        """Wait until the place is settled."""
        assert self._line is not None
        return self._line.take(index, self._patience_seconds)

    def write_clip(self, place: Place, out_TCHW: NDArray[np.uint8]) -> None:
        """From its slot or from the store."""
        copy_clip(place, self._arena.clip, self._store, out_TCHW)

    @property
    def process_ids(self) -> list[int]:
        """Of the crew."""
        return self._crew.process_ids

    @property
    def idle_seconds(self) -> float:
        """Of the crew."""
        return self._crew.idle_seconds

    def set_workers(self, num_workers: int) -> None:
        """Start or end some at the next look around; their number goes on to change by itself."""
        self.tuner.set_workers(num_workers, "as it was asked for", self._reading().num_batches)
        self.wake()

    def wake(self) -> None:
        """Make the pump look at the line now."""
        with contextlib.suppress(BrokenPipeError):  # the pump has ended, and left its error
            self._wake_writer.send_bytes(b"")

    def close(self) -> None:
        """End the workers and the pump. A forked child has no part in them and does nothing."""
        if self._stop.is_set() or os.getpid() != self._owner:
            return
        self._stop.set()
        self.wake()
        if threading.current_thread() is not self._pump:  # the garbage collector runs anywhere
            self._pump.join(CLOSE_DEADLINE_SECONDS)
        self._arena.close()
        if self._store is not None:
            self._store.close()
        self._wake_writer.close()
        self._line = None  # it holds this source, and both would wait for the garbage collector

    def _run(self) -> None:
        """The pump's life."""
        try:
            while not self._stop.is_set():
                self._tune()
                self._crew.fill_up()
                self._give_visits()
                self._hear()
        except BaseException as error:  # noqa: BLE001  the consumer raises it
            self._error = error
            if self._line is not None:
                self._line.fail(error)
        finally:
            self._crew.close()
            self._wake_reader.close()

    def _give_visits(self) -> None:
        line = self._line
        while line is not None and (taker := self._crew.next_taker()) is not None:
            visit = line.next_visit(taker.suits)
            if visit is None:
                return
            self._crew.give(visit, taker)

    def _tune(self) -> None:
        if self._crew.is_starting:
            self.tuner.begin_window()
        else:
            self.tuner.look(self._reading())
        self._crew.size = self.tuner.num_workers
        if self._line is not None:
            self._line.set_depth(self.tuner.depth_batches * self.tuner.batch_clips)

    def _reading(self) -> Reading:
        waited_seconds, num_released = self._past_lines
        if self._line is not None:
            waited_seconds += self._line.waited_seconds
            num_released += self._line.num_released
        return Reading(
            seconds=time.monotonic(),
            waited_seconds=waited_seconds,
            idle_seconds=self._crew.all_idle_seconds,
            num_batches=num_released // self.tuner.batch_clips,
        )

    def _hear(self) -> None:
        events = self._crew.wait(self._wake_reader, IDLE_LOOK_SECONDS)
        while self._wake_reader.poll():
            self._wake_reader.recv_bytes()
        for event in events:
            assert self._line is not None
            if isinstance(event, Lost):
                self._line.give_back(event.visit, event.fault)
            else:
                self._line.settle(event)
