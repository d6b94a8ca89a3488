"""The feed: an iterator of batches over one split of a catalog.

``open_feed`` starts the workers; iterating gives the batches in the order of their samples. Leaving
a loop early is fine: the next loop over the training split goes on with the next batch, the next
loop over the held-out split begins again. ``close`` (or the end of the ``with`` block) ends the
workers.
"""

from __future__ import annotations

import contextlib
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from filmgate.catalog import Catalog
from filmgate.catalog.order import Order
from filmgate.closing import Closing
from filmgate.errors import FilmgateError, UserError
from filmgate.feed.ahead import Ahead
from filmgate.feed.batch import Batch, assemble, in_rgb
from filmgate.feed.courier import Courier, Parcel
from filmgate.feed.division import Division
from filmgate.feed.failures import FailureLog
from filmgate.feed.frame_store import StorePlan
from filmgate.feed.kept_frames import KeptFrames
from filmgate.feed.line import Line, Place
from filmgate.feed.policy import Policy
from filmgate.feed.sizing import Size
from filmgate.feed.source import ClipSource
from filmgate.feed.state import pack_state, unpack_state
from filmgate.feed.stats import FeedSize, FeedStats, Tally
from filmgate.feed.targets import Targets
from filmgate.feed.tuner import Tuner, tuner_of
from filmgate.spec import Job
from filmgate.work.numa import NearCores


@dataclass(frozen=True, kw_only=True, eq=False)
class _Taken:
    """A batch that has left its slots."""

    places: list[Place]
    batch: Batch | Parcel


class Feed(Closing):
    """Batches of one split; made by ``open_feed``. One consumer, on one thread."""

    def __init__(
        self,
        *,
        job: Job,
        catalog: Catalog,
        order: Order,
        targets: Targets,
        division: Division,
        size: Size,
        near: NearCores,
        courier: Courier | None,
        cache_slots: range,
        store_plan: StorePlan | None,
        open_source: Callable[[Tuner], ClipSource],
    ) -> None:
        self._size = size
        self._near = near
        self._courier = courier
        self._on_the_way: deque[_Taken] = deque()
        self._is_automatic = None in (job.limits.workers, job.limits.prefetch_batches)
        self._tuner = tuner_of(size, division.rank_batch_size)
        self._order = order
        self._lookahead = job.data.lookahead
        self._cache_slots = cache_slots
        self._store_plan = store_plan
        self._catalog = catalog
        self._open_source = open_source
        self._targets = targets
        self._division = division
        self._policy = Policy(job.data, order, catalog)
        self._failures = FailureLog(job.data)
        self._tally = Tally()
        self._num_padded = 0
        self._next_sample = division.first
        self._source: ClipSource | None = None
        self._kept_frames = KeptFrames(store_plan, order, catalog)
        self._at_exit: weakref.finalize[[], Feed] | None = None
        self._line: Line | None = None
        self._is_torn = False
        """Whether a call of ``next`` began and did not come to its end."""
        self._counted_sample: int | None = None
        """First sample of the batch whose failures were counted last."""

    @property
    def num_workers(self) -> int:
        """Worker processes that there are to be now; 0 when clips are made on the consumer's
        thread."""
        return self._tuner.num_workers

    @property
    def num_classes(self) -> int:
        """Classes that labels count."""
        return len(self._targets.class_names)

    @property
    def class_names(self) -> list[str]:
        """Name of each class."""
        return self._targets.class_names

    @property
    def epoch_size(self) -> int:
        """Samples in one pass over the split, all ranks together."""
        num_samples = self._order.num_samples
        return self._order.epoch_size if num_samples is None else num_samples

    @property
    def ready_batches(self) -> int:
        """Finished batches that wait to be taken, on the way to the device or in their slots."""
        if self._line is None:
            return 0
        return self._line.num_ready // self._division.rank_batch_size + len(self._on_the_way)

    @property
    def worker_process_ids(self) -> list[int]:
        """Of the worker processes that run now."""
        return self._source.process_ids if self._source is not None else []

    def __iter__(self) -> Feed:
        is_finite = self._division.num_samples is not None
        if is_finite and self._next_sample != self._division.first:
            self._move_to(self._division.first)
        return self

    def __next__(self) -> Batch:
        """The next batch.

        Raises what ``on_error = "raise"`` says for a clip that fails, FeedError when more fail
        than the budget allows or workers cannot run, DeadlineError when nothing moves.
        """
        if self._is_torn:
            self._start_over()
        self._is_torn = True
        try:
            batch = self._give()
        except (FilmgateError, StopIteration):
            self._is_torn = False
            raise
        self._next_sample += self._division.samples_per_step
        self._is_torn = False
        return batch

    def _give(self) -> Batch:
        """The next batch out of the line; the feed's own place is moved by who called."""
        source, line = self._begin()
        taken = self._on_the_way.popleft() if self._on_the_way else self._take(source, line)
        try:
            self._count(taken.places)
        except FilmgateError:
            self._on_the_way.appendleft(taken)
            raise
        if self._courier is None or isinstance(taken.batch, Batch):
            assert isinstance(taken.batch, Batch)
            return in_rgb(taken.batch)
        batch = self._courier.receive(taken.batch)
        if line.num_ready >= self._division.rank_batch_size:
            with contextlib.suppress(FilmgateError):  # told by the call that is to return it
                self._on_the_way.append(self._take(source, line, num_before=1))
        return in_rgb(batch)

    def _count(self, places: list[Place]) -> None:
        """Count what failed and what was padded, once for each batch."""
        if self._counted_sample == self._next_sample:
            return
        self._failures.accept(places)
        self._num_padded += sum(
            bool(place.done and place.done.sample.is_padded) for place in places
        )
        self._counted_sample = self._next_sample

    def _start_over(self) -> None:
        """Make the line anew where the feed stands.

        An exception from outside, as Ctrl-C is, may have broken off the call before this one
        between any two operations, so that the line and the feed stand at different samples.
        """
        self.close()
        self._is_torn = False

    def _take(self, source: ClipSource, line: Line, num_before: int = 0) -> _Taken:
        """The next batch out of the slots, and off to the device. Raises StopIteration."""
        if line.num_open == 0:
            raise StopIteration
        size, division = self._division.rank_batch_size, self._division
        places = [source.take(index) for index in range(size)]
        sample = self._next_sample + num_before * division.samples_per_step
        if self._courier is None:
            batch: Batch | Parcel = assemble(places, source, self._targets, self._order, sample)
        else:
            staging = self._courier.staging((size, *source.clip_shape))
            batch = self._courier.send(
                assemble(places, source, self._targets, self._order, sample, staging)
            )
        line.release(size)
        return _Taken(places=places, batch=batch)

    def set_workers(self, num_workers: int) -> None:
        """Have so many from now on; the batches stay the same.

        Where the job leaves the number open it goes on to change by itself. Raises UserError for
        fewer than one, for more than clips in flight, and when there are none to change.
        """
        if not 1 <= num_workers <= self._size.most_clips:
            raise UserError(
                f"{num_workers} workers for {self._size.most_clips} clips in flight",
                hint="give a number from 1 to the clips in flight, or open the feed with workers=0",
            )
        self.start()
        assert self._source is not None
        self._source.set_workers(num_workers)

    def stats(self) -> FeedStats:
        """The counters since the feed was opened."""
        return self._tally.stats(
            idle_seconds=self._source.idle_seconds if self._source is not None else 0.0,
            num_padded=self._num_padded,
            num_never_shown=self._order.num_never_shown,
            num_skipped=self._failures.num_failed,
            skipped=self._failures.listed,
            quarantined=self._policy.quarantined_ids,
            size=self._sizes(),
        )

    def _sizes(self) -> FeedSize:
        tuner = self._tuner
        return FeedSize(
            num_workers=tuner.num_workers,
            most_workers=max(self._size.most_workers, tuner.num_workers),
            depth_batches=tuner.depth_batches,
            most_depth_batches=self._size.most_depth_batches,
            is_automatic=self._is_automatic,
            why=self._size.why,
            changes=list(tuner.changes),
            numa_node=self._near.node,
            why_numa=self._near.why,
        )

    def state_dict(self) -> dict[str, int | str]:
        """Where the feed stands, for any number of ranks and workers to go on from."""
        return pack_state(self._next_sample, self._order, self._policy.quarantined)

    def load_state_dict(self, state: Mapping[str, int | str]) -> None:
        """Go on from where a feed of the same order stood.

        Raises UserError, with what differs, when the state belongs to another order.
        """
        next_sample, quarantined = unpack_state(state, self._order)
        self._policy.restore(quarantined)
        self._move_to(next_sample)

    def start(self) -> None:
        """Start the workers, so that they are ready when the first batch is asked for.

        Raises UserError when memory is too small for the clips in flight.
        """
        if self._source is None:
            self._source = self._open_source(self._tuner)
            self._kept_frames = KeptFrames(self._store_plan, self._order, self._catalog)
            self._at_exit = weakref.finalize(self, self._source.close)

    def close(self) -> None:
        """End the workers; the feed still tells its state and counters."""
        if self._source is not None and self._at_exit is not None:
            self._source.close()
            self._at_exit.detach()
        self._on_the_way.clear()
        self._source = self._line = self._at_exit = None

    def _begin(self) -> tuple[ClipSource, Line]:
        self.start()
        assert self._source is not None
        if self._line is None:
            division = replace(self._division, first=self._next_sample)
            ahead = Ahead(
                self._order, division, num_epochs=self._lookahead, slots=self._cache_slots
            )
            self._line = Line(
                division=division,
                policy=self._policy,
                ahead=ahead,
                kept_frames=self._kept_frames,
                tally=self._tally,
                num_slots=self._source.num_slots,
                depth=self._tuner.depth_batches * self._tuner.batch_clips,
                wake=self._source.wake,
            )
            self._source.begin(self._line)
        return self._source, self._line

    def _move_to(self, next_sample: int) -> None:
        """Go on at a sample; clips in flight are given up, together with the workers at them."""
        if self._line is not None and self._line.num_open:
            self.close()
        self._on_the_way.clear()
        self._line = None
        self._division = replace(self._division, first=next_sample)
        self._next_sample = next_sample
