"""Failed clips: counted, listed, and bounded by the job's budget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from filmgate.errors import FeedError
from filmgate.feed.line import Place
from filmgate.feed.messages import ClipFailed
from filmgate.feed.policy import error_of
from filmgate.feed.stats import Skipped
from filmgate.spec import Data

MAX_LISTED = 1000
"""Failures that are listed one by one; all are counted."""
FREE_VIDEOS = 5
"""Videos that may fail under any budget above zero, so that the first clips do not stop it."""
MIN_SAMPLES_TO_JUDGE = 100
"""Samples from which on more failures than clips stop the feed, whichever videos they are of."""
NAMED_VIDEOS = 5
"""The worst videos that the error names."""


class FailureLog:
    """The failures among the clips that were delivered, in the order of the samples."""

    def __init__(self, data: Data) -> None:
        self._data = data
        self._num_seen = 0
        self._by_path: Counter[str] = Counter()
        self._reasons: dict[str, str] = {}
        self.num_failed = 0
        self.listed: list[Skipped] = []

    def accept(self, places: Sequence[Place]) -> None:
        """Count the failures of a batch.

        Raises the first failure when the job says ``raise``, and FeedError past the budget.
        """
        failures = [failed for place in places for failed in place.failures]
        if failures and self._data.on_error == "raise":
            raise error_of(failures[0])
        self._num_seen += sum(bool(place.done or place.failures) for place in places)
        for place in places:
            for failed in place.failures:
                self._note(failed, is_masked=place.done is None)
        if failures and self._is_over_budget():
            raise self._over_budget()

    def _is_over_budget(self) -> bool:
        """Whether too many videos fail, or too few clips come out.

        Videos are counted, not clips: in a small set one damaged place fails again and again.
        """
        budget = self._data.error_budget
        if budget == 0:
            return True
        if budget == 1:
            return False
        if len(self._by_path) > max(FREE_VIDEOS, budget * self._num_seen):
            return True
        return self._num_seen >= MIN_SAMPLES_TO_JUDGE and self.num_failed > self._num_seen

    def _note(self, failed: ClipFailed, *, is_masked: bool) -> None:
        path = str(failed.path)
        self.num_failed += 1
        self._by_path[path] += 1
        self._reasons[path] = failed.reason
        if len(self.listed) < MAX_LISTED:
            self.listed.append(
                Skipped(
                    sample=failed.task.number,
                    video_id=failed.video_id,
                    path=path,
                    place=failed.place,
                    reason=failed.reason,
                    action="masked" if is_masked else "substituted",
                )
            )

    def _over_budget(self) -> FeedError:
        worst = [
            f"{path} ({count} times: {self._reasons[path]})"
            for path, count in self._by_path.most_common(NAMED_VIDEOS)
        ]
        return FeedError(
            f"{len(self._by_path)} videos failed at {self.num_failed} clips among the first "
            f"{self._num_seen}, more than the error budget of {self._data.error_budget:g} allows; "
            f"worst: {'; '.join(worst)}",
            hint="mend or remove these videos and index again, or raise error_budget in [data]",
        )
