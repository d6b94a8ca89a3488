"""Storage that accepts an open and then never answers: the clip is given up, the run goes on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from filmgate.catalog import Catalog
from filmgate.errors import DeadlineError
from filmgate.feed import open_feed
from tests.feed.conftest import job_of


def make_it_hang(video: Path) -> None:
    """Put a pipe that nobody writes to in the file's place: reading it blocks for ever."""
    video.unlink()
    os.mkfifo(video)


def test_a_read_that_never_returns_costs_its_video_and_nothing_else(
    own_catalog: Catalog, own_footage: Path
) -> None:
    make_it_hang(own_footage / "cold" / "cold1.mp4")
    job = job_of(2, clip_deadline_seconds=4.0, error_budget=1.0, holdout=0.0)
    with open_feed(job, own_catalog) as feed:
        seen = [next(feed) for _ in range(12)]
        stats = feed.stats()
    assert stats.quarantined == ["cold/cold1.mp4"]
    reasons = {one.reason for one in stats.skipped}
    assert "took longer than 4 s" in reasons <= {"took longer than 4 s", "its video is quarantined"}
    assert all(bool(batch.valid_B.all()) for batch in seen)
    assert all("cold/cold1.mp4" not in batch.video_ids for batch in seen)


def test_a_read_that_never_returns_is_raised_with_raise(
    own_catalog: Catalog, own_footage: Path
) -> None:
    make_it_hang(own_footage / "cold" / "cold1.mp4")
    job = job_of(1, clip_deadline_seconds=4.0, on_error="raise", holdout=0.0)
    with open_feed(job, own_catalog) as feed, pytest.raises(DeadlineError, match=r"cold1\.mp4"):
        for _ in range(12):
            next(feed)
