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
FREE_FAILURES = 5
"""Failures that no budget above zero counts as too many, so that the first clips do not stop it."""
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
        budget = self._data.error_budget
        if failures and self.num_failed > (
            max(FREE_FAILURES, budget * self._num_seen) if budget else 0
        ):
            raise self._over_budget()

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
            f"{self.num_failed} attempts failed, replacements included, for the first "
            f"{self._num_seen} samples, more than the error budget of "
            f"{self._data.error_budget:g} allows; worst: {'; '.join(worst)}",
            hint="mend or remove these videos and index again, or raise error_budget in [data]",
        )
