"""The training loop: steps over the batches of the feed, and a commit now and then."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from filmgate.errors import FeedError
from filmgate.feed import Batch, Feed
from filmgate.feed.batch import samples_digest
from filmgate.records import digest_bytes
from filmgate.records.telemetry import FeedSnapshot, Step
from filmgate.spec import Job
from filmgate.train.journal import Journal
from filmgate.train.learner import Learner, Progress, Taken
from filmgate.train.peak import peak_bytes
from filmgate.train.schedule import learning_rate_at
from filmgate.train.signals import StopRequest, StopWait
from filmgate.train.update import Stopwatch, update

STEPS_PER_SNAPSHOT = 10
MAX_EMPTY_BATCHES = 100
"""So many batches in a row without one usable clip end the run."""


@dataclass(kw_only=True)
class Loop:
    """One attempt at the steps of a job, from ``progress`` on."""

    job: Job
    learner: Learner
    feed: Feed
    journal: Journal
    stop: StopRequest
    progress: Progress
    """How far it is; replaced after every step."""
    epoch_clips: int
    """Training clips in one epoch."""
    save: Callable[[Progress], None]
    """Makes a commit."""
    write_seconds: Callable[[], float]
    """What the last one took to write."""
    on_step: Callable[[Step], None]
    before: Progress = field(init=False)
    """Where this attempt begins, and with it the feed's counters."""
    _saved_at: float = field(default_factory=time.monotonic, init=False)
    """When the last commit was begun, or this attempt."""
    _num_empty: int = field(default=0, init=False)
    """Batches in a row without one usable clip."""
    _is_told: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.before = self.progress

    def run(self) -> None:
        """Take steps up to the job's last, or until a stop is asked for; then commit."""
        saved_step = self.before.step
        watch = Stopwatch(self.learner.device)
        while self.progress.step < self.job.train.steps:
            queued = self.feed.ready_batches
            batch = self._wait_for_batch()
            watch.lap("data_wait")
            everyone = self.learner.ranks.exchange(self._told(batch))
            if any(told is None for told in everyone):
                break
            taken = [told for told in everyone if told is not None]
            if batch is None or not self._has_clips(batch, taken):
                continue
            self._step(batch, taken, queued, watch)
            by_steps = self.progress.step % self.job.train.commit_every_steps == 0
            if by_steps or taken[0].is_commit_due:
                self.save(self.progress)
                saved_step, self._saved_at = self.progress.step, time.monotonic()
                watch.start()
        if self.progress.step > saved_step:
            self.save(self.progress)
        if self.progress.step > self.before.step:
            self._snapshot()

    def _wait_for_batch(self) -> Batch | None:
        """The next batch; None once a stop is asked for, which may break the wait off."""
        if self.stop.is_asked:
            return None
        try:
            with self.stop.breaks_wait():
                return next(self.feed)
        except StopWait:
            return None

    def _told(self, batch: Batch | None) -> Taken | None:
        """What the other ranks have to know before a step; None: this one is to stop."""
        if batch is None or self.stop.is_asked:
            return None
        stats = self.feed.stats()
        return Taken(
            num_clips=int(batch.valid_B.sum()),
            digest_parts=batch.digest_parts,
            num_skipped=stats.num_skipped,
            skipped=stats.skipped,
            num_padded=stats.num_padded,
            is_commit_due=self._is_commit_due(),
        )

    def _is_commit_due(self) -> bool:
        """Whether more would be lost than the job allows, were the run killed in a while."""
        within, now = self.job.train.commit_within_seconds, time.monotonic()
        return within is not None and now - self._saved_at + self.write_seconds() >= within

    def _step(self, batch: Batch, everyone: list[Taken], queued: int, watch: Stopwatch) -> None:
        step = self.progress.step + 1
        learning_rate = learning_rate_at(step, self.job)
        num_clips = sum(taken.num_clips for taken in everyone)
        loss = update(self.learner, batch, learning_rate, step, watch, num_clips)
        digest = samples_digest([part for taken in everyone for part in taken.digest_parts])
        self.progress = self._after(digest, everyone, step, loss)
        self.journal.step = step
        line = self.journal.write(
            Step,
            step=step,
            epoch=int(self.progress.feed["next_sample"]) / self.epoch_clips,
            loss=loss,
            learning_rate=learning_rate,
            samples_digest=digest,
            feed_queue_batches=queued,
            **peak_bytes(self.learner.device),
            **watch.stop(),
        )
        assert isinstance(line, Step)
        self.on_step(line)
        if step % STEPS_PER_SNAPSHOT == 0:
            self._snapshot()

    def _after(self, digest: str, everyone: list[Taken], step: int, loss: float) -> Progress:
        digests = (self.progress.samples_digest, digest)
        return Progress(
            step=step,
            feed=self.feed.state_dict(),
            samples_digest=digest_bytes("\n".join(digests).encode()),
            loss=loss,
            **self.before.counts_and(everyone),
        )

    def _has_clips(self, batch: Batch, everyone: list[Taken]) -> bool:
        """Whether a rank has a usable clip. Raises FeedError when none has for long."""
        if any(taken.num_clips for taken in everyone):
            self._num_empty = 0
            return True
        if not self._is_told:
            self.journal.tell(
                f"no clip of the batch at sample {batch.sample_start} can be used; such batches"
                " are passed over, their clips are counted as skipped"
            )
        self._num_empty, self._is_told = self._num_empty + 1, True
        if self._num_empty < MAX_EMPTY_BATCHES:
            return False
        raise FeedError(
            f"the feed gave no usable clip in {self._num_empty} batches in a row",
            hint="the skipped clips and their reasons are listed in the report",
        )

    def _snapshot(self) -> None:
        stats = self.feed.stats()
        self.journal.write(
            FeedSnapshot,
            step=self.progress.step,
            clips=stats.clips,
            frames_delivered=stats.frames_delivered,
            frames_decoded=stats.frames_decoded,
            bytes_read=stats.bytes_read,
            worker_busy_seconds=stats.worker_busy_seconds,
            worker_wait_seconds=stats.worker_wait_seconds,
            stage_seconds=stats.stage_seconds,
            skipped=stats.num_skipped,
            skipped_in_run=self.progress.num_skipped,
            worker_cpu_seconds=stats.worker_cpu_seconds,
            num_workers=stats.size.num_workers,
            depth_batches=stats.size.depth_batches,
            numa_node=stats.size.numa_node,
            clips_hot=stats.clips_hot,
            clips_cold=stats.clips_cold,
            bytes_hot=stats.bytes_hot,
            bytes_cold=stats.bytes_cold,
        )
