"""Which decoded frames are in the store, as far as the line has heard, and clips made of them.

T clip frames.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from filmgate.catalog import Catalog
from filmgate.catalog.order import Order
from filmgate.feed.clip_maker import sample_of
from filmgate.feed.frame_store import KeptVideo, StorePlan
from filmgate.feed.messages import IN_STORE, ClipDone, Effort, Task


@dataclass(kw_only=True, eq=False)
class _Known:
    """One video with a place in the store."""

    place: KeptVideo
    is_present: NDArray[np.bool_]
    times: NDArray[np.float64]
    video_id: str
    content_digest: str
    label: str | None


class KeptFrames:
    """The line's knowledge of the store."""

    def __init__(self, plan: StorePlan | None, order: Order, catalog: Catalog) -> None:
        self._plan = plan
        self._order = order
        self._catalog = catalog
        self._known: dict[int, _Known] = {}

    def serve(self, task: Task, *, may_fill: bool) -> ClipDone | Task:
        """The clip when all of its frames are there; else the task with what is there of it."""
        video = self._order.video_of(task.number, task.attempt)
        if self._plan is None or video not in self._plan.videos:
            return task
        known, sample = self._of(video), sample_of(self._order, task)
        places_T = sample.frame_indices_T - known.place.first
        have_T = known.is_present[places_T]
        if not have_T.all():
            return replace(task, have=have_T.tobytes(), fill=may_fill)
        return ClipDone(
            task=replace(task, slot=IN_STORE, have=b"", fill=False),
            sample=sample,
            times_T=known.times[places_T],
            video_id=known.video_id,
            content_digest=known.content_digest,
            label=known.label,
            effort=Effort(),
        )

    def mark(self, done: ClipDone) -> None:
        """Take note of the frames that were written on the way to a clip."""
        if done.kept:
            known = self._of(done.sample.video)
            known.is_present[np.array(done.kept) - known.place.first] = True

    @property
    def num_frames(self) -> int:
        """Frames that are there."""
        return sum(int(known.is_present.sum()) for known in list(self._known.values()))

    def _of(self, row: int) -> _Known:
        if row not in self._known:
            assert self._plan is not None
            place, facts = self._plan.videos[row], self._catalog.video(row)
            table = self._catalog.frame_table(row)
            frames = range(place.first, place.first + place.num_frames)
            self._known[row] = _Known(
                place=place,
                is_present=np.zeros(place.num_frames, np.bool_),
                times=np.array([table.seconds(index) for index in frames]),
                video_id=facts.video_id,
                content_digest=facts.content_digest,
                label=facts.label,
            )
        return self._known[row]
