"""A million videos, ten thousand opens, few file descriptors."""

from __future__ import annotations

import shutil
from pathlib import Path

import psutil
import pytest

from benchmarks.huge_catalog import OpeningCost, opening_cost, write_huge_catalog
from filmgate.catalog import Catalog, index_videos, open_catalog
from filmgate.feed import open_feed
from tests.feed.conftest import job_of
from tests.feed.test_feed import same


@pytest.fixture(scope="module")
def huge(catalog: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A catalog of a million rows that all point at the four videos of the footage."""
    return write_huge_catalog(catalog, tmp_path_factory.mktemp("huge"))


@pytest.fixture(scope="module")
def plain(catalog: Catalog) -> OpeningCost:
    """What the four videos alone cost."""
    return opening_cost(catalog.path, start_sample=0)


@pytest.mark.parametrize("start", [0, 10**12])
def test_a_million_videos_open_at_once_and_resume_anywhere(
    huge: Path, plain: OpeningCost, start: int
) -> None:
    cost = opening_cost(huge, start_sample=start)
    assert cost.own_bytes < plain.own_bytes + 100_000_000
    assert cost.worker_bytes < plain.worker_bytes + 250_000_000
    assert cost.own_cpu_seconds < plain.own_cpu_seconds + 1.0


def test_the_samples_of_a_million_videos_are_the_same_wherever_one_starts(huge: Path) -> None:
    starts = (0, 4, 10**12, 10**12 + 4)
    with open_feed(job_of(0, target="label"), open_catalog(huge), start_sample=starts[0]) as feed:
        whole = [next(feed), next(feed)]
    with open_feed(job_of(0, target="label"), open_catalog(huge), start_sample=starts[1]) as feed:
        assert same(next(feed), whole[1])
    far = [
        open_feed(job_of(0, target="label"), open_catalog(huge), start_sample=start)
        for start in starts[2:]
    ]
    next(far[0])
    assert same(next(far[0]), next(far[1]))
    for feed in far:
        feed.close()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_memory_is_flat_over_ten_thousand_opens(footage, tmp_path):
    for number in range(80):
        shutil.copy(footage / "cold" / "cold0.mp4", tmp_path / f"{number:02}.mp4")
    catalog = index_videos([tmp_path], tmp_path / "catalog", workers=0)
    process, sizes = psutil.Process(), []
    job = job_of(0, frames=1, height=16, width=16, target="source")
    with open_feed(job, catalog) as feed:
        for number in range(28_000 // 4):
            next(feed)
            if number % 500 == 499:
                sizes.append(process.memory_info().rss)
    # With 32 decoders open at random the allocator's heap settles after some 16 000 opens.
    assert sizes[-1] - sizes[8] < 10_000_000
