"""What happens when a clip cannot be made: which sample is tried next, and when to stop trying.

Everything is decided by sample numbers and never by who was faster, so that any number of workers
comes to the same batches.
"""

from __future__ import annotations

from collections.abc import Callable

from filmgate.catalog import Catalog
from filmgate.catalog.order import Order
from filmgate.errors import (
    DeadlineError,
    FeedError,
    FilmgateError,
    UndecodableFrame,
    UnreadableVideo,
)
from filmgate.feed.clip_maker import failure, sample_of
from filmgate.feed.messages import ClipFailed, Effort, FailureKind, Task
from filmgate.spec import Data

MAX_SUBSTITUTES = 8
"""Replacements that are tried for one sample before its place is left masked."""


class Policy:
    """The job's rule for clips that fail, and the videos that are not tried any more.

    A video whose clip went past its deadline or killed its workers is left out from then on: for
    every sample with a higher number, and for none with a lower one.
    """

    def __init__(self, data: Data, order: Order, catalog: Catalog) -> None:
        self._data = data
        self._order = order
        self._catalog = catalog
        self.quarantined: dict[int, int] = {}
        """Video row -> number of the sample that had it quarantined."""
        self.quarantined_ids: list[str] = []
        """``video_id`` of those videos."""

    def quarantine(self, failed: ClipFailed) -> None:
        """Leave its video out of all later samples, when the failure is of that kind."""
        if failed.kind in ("deadline", "crash"):
            if failed.video not in self.quarantined:
                self.quarantined_ids.append(failed.video_id)
            since = self.quarantined.get(failed.video, failed.task.number)
            self.quarantined[failed.video] = min(since, failed.task.number)

    def restore(self, quarantined: dict[int, int]) -> None:
        """Take over the quarantine of an earlier feed of the same order."""
        self.quarantined = quarantined
        self.quarantined_ids = [self._catalog.video(row).video_id for row in quarantined]

    def video_of(self, task: Task) -> int:
        """The video that a task is about."""
        return self._order.video_of(task.number, task.attempt)

    def is_left_out(self, video: int, number: int) -> bool:
        """Whether the video was quarantined by a sample before ``number``."""
        return self.quarantined.get(video, number) < number

    def next_task(
        self, *, position: int, slot: int, number: int, failures: list[ClipFailed]
    ) -> Task | None:
        """The sample itself or the replacement that comes next; None when the place stays masked.

        ``failures`` are those of the place so far; videos that are passed over because of their
        quarantine are added.
        """
        while (attempt := len(failures)) == 0 or self._may_substitute(attempt):
            task = Task(position=position, slot=slot, number=number, attempt=attempt)
            if not self.is_left_out(self._order.video_of(number, attempt), number):
                return task
            failures.append(self.failure_of(task, "quarantined", "its video is quarantined"))
        return None

    def _may_substitute(self, attempt: int) -> bool:
        # A substitute would count twice in an evaluation, so there the place stays masked.
        is_train = self._order.facts.split == "train"
        return is_train and self._data.on_error == "substitute" and attempt <= MAX_SUBSTITUTES

    def failure_of(self, task: Task, kind: FailureKind, reason: str) -> ClipFailed:
        """The report of a failure that no worker could report."""
        sample = sample_of(self._order, task)
        facts = self._catalog.video(sample.video)
        return failure(task, sample, facts.video_id, facts.path, (kind, reason), Effort())


def error_of(failed: ClipFailed) -> FilmgateError:
    """The failure as the exception that ``on_error = "raise"`` raises."""
    reason = f"{failed.place}: {failed.reason}"
    hint = 'set on_error = "substitute" or "skip" in [data] to go on without such clips'
    kinds: dict[FailureKind, Callable[[], FilmgateError]] = {
        "unreadable": lambda: UnreadableVideo(failed.path, reason, hint=hint),
        "undecodable": lambda: UndecodableFrame(failed.path, reason, hint=hint),
        "deadline": lambda: DeadlineError(f"{failed.path}: {reason}", hint=hint),
        "crash": lambda: FeedError(f"{failed.path}: {reason}", hint=hint),
        "quarantined": lambda: FeedError(f"{failed.path}: {reason}", hint=hint),
    }
    return kinds[failed.kind]()
