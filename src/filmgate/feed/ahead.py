"""Clips made before their time: because order is arithmetic, a visit to a video can make the clips
that later epochs will ask of it, and keep them, finished, in the slots of the cache.

A kept clip holds its slot until it is delivered, so nothing is ever evicted and nothing thrashes:
where no slot is free a visit is shorter, and the clip is made when its time comes.
"""

from __future__ import annotations

from collections.abc import Iterator

from filmgate.catalog.order import Order
from filmgate.feed.division import Division
from filmgate.feed.messages import ClipDone, Made, Task


class Ahead:
    """Which clips go together with one, and what became of those that are not asked for yet.

    ``slots`` are the cache's. All numbers are places of this rank's line.
    """

    def __init__(
        self, order: Order, division: Division, *, num_epochs: int, slots: range = range(0)
    ) -> None:
        self._order = order
        self._division = division
        # The windows of one held-out clip show the same frames.
        self._is_off = num_epochs == 1 and (
            order.facts.split == "train" or order.facts.eval_crops == 1
        )
        self._num_epochs = num_epochs
        self._slots = slots
        self._free = list(slots)
        self._kept: dict[int, ClipDone] = {}
        self._promised: set[int] = set()
        self._alone: set[int] = set()

    def companions(self, task: Task) -> Iterator[tuple[int, int]]:
        """(place, sample number) of the later clips of a task's video, ascending."""
        if self._is_off or task.attempt or self._order.video_of(task.number) in self._alone:
            return
        for number in self._order.later_of(task.number, self._num_epochs):
            position = self._division.position_of(number)
            if position is not None and position not in self._kept:
                yield position, number

    def promise(self, position: int, number: int) -> Task | None:
        """The task of a clip to be kept; None when no slot is free or it is in the making."""
        if not self._free or position in self._promised:
            return None
        self._promised.add(position)
        return Task(position=position, slot=self._free.pop(), number=number, attempt=0)

    def is_promised(self, position: int) -> bool:
        """Whether a visit is at the clip of a place."""
        return position in self._promised

    def settle(self, reply: Made, *, is_open: bool) -> None:
        """Take the report on a promised clip; keep it when its place is not open yet.

        One that failed is forgotten: it is tried again, and counted, when its time comes.
        """
        self._promised.discard(reply.task.position)
        if is_open:
            return
        if isinstance(reply, ClipDone):
            self._kept[reply.task.position] = reply
        else:
            self.free(reply.task.slot)

    def break_promise(self, task: Task) -> None:
        """Its visit is lost."""
        self._promised.discard(task.position)
        self.free(task.slot)

    def take(self, position: int) -> ClipDone | None:
        """The kept clip of a place, which is its own from now on."""
        return self._kept.pop(position, None)

    def free(self, slot: int) -> None:
        """A clip was delivered or given up; slots that are not the cache's are left alone."""
        if slot in self._slots:
            self._free.append(slot)

    def is_alone(self, video: int) -> bool:
        """Whether each clip of a video is made by itself, and nothing else with it."""
        return video in self._alone

    def leave_alone(self, video: int) -> None:
        """Make each clip of a video by itself from now on: something in it goes wrong."""
        self._alone.add(video)
