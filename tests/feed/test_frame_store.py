"""Decoded frames kept for repeated use: the same batches, fewer decodes, and what fits stays."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from filmgate.catalog import Catalog, index_videos
from filmgate.catalog.order_over import order_over
from filmgate.errors import UserError
from filmgate.feed import open_feed
from filmgate.feed.frame_store import plan_store
from tests.feed.conftest import is_alive, job_of, wait_until
from tests.feed.test_faults import damage
from tests.feed.test_feed import all_same, batches, take
from tests.footage import write_video

SHAPES = [(48, 64), (40, 33), (64, 20), (63, 96), (30, 77)]


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """Wide and tall videos, one of them stored with wide pixels."""
    root = tmp_path_factory.mktemp("mixed")
    write_video(root / "wide.mp4", width=98, height=64, num_frames=40)
    write_video(root / "tall.mp4", width=62, height=100, num_frames=40)
    write_video(root / "long.mkv", width=96, height=64, num_frames=60, gop=60)
    return index_videos([root], tmp_path_factory.mktemp("catalog"), workers=0)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("crop", ["random", "centre"])
def test_kept_frames_give_the_same_batches_bit_for_bit(mixed, shape, crop):
    keys = {"height": shape[0], "width": shape[1], "crop": crop}
    plain = batches(mixed, 12, **keys)
    assert all_same(plain, batches(mixed, 12, cache="1GB", **keys))


@pytest.mark.parametrize("workers", [0, 1, 2])
@pytest.mark.parametrize("cache", ["1MB", "2.2MB", "1GB"])
def test_any_budget_and_any_number_of_workers_give_the_same_batches(catalog, workers, cache):
    keys = {"fps": 10.0, "short": "loop"}
    plain = batches(catalog, 14, **keys)
    assert all_same(plain, batches(catalog, 14, workers, cache=cache, **keys))


def test_nothing_is_decoded_any_more_once_all_frames_are_kept(catalog):
    with open_feed(job_of(2, cache="1GB", prefetch_batches=1), catalog) as feed:
        take(feed, 40)
        before = feed.stats()
        take(feed, 10)
        after = feed.stats()
    assert after.frames_decoded == before.frames_decoded
    assert after.clips_from_cache - before.clips_from_cache == after.clips - before.clips > 0
    assert before.frames_decoded < 4 * 60 * 3


def test_videos_are_kept_whole_until_the_budget_is_given_out(catalog):
    job = job_of(0, cache="1GB")
    order = order_over(job, catalog, "train", catalog.frame_table)
    frame_bytes = 3 * 48 * 72
    for num_videos in range(5):
        plan = plan_store(job, catalog, order, num_videos * 45 * frame_bytes + 17)
        assert list(plan.videos) == list(range(num_videos))
        assert plan.num_bytes == num_videos * 45 * frame_bytes


@pytest.mark.parametrize("workers", [0, 1])
def test_a_store_in_a_folder_leaves_no_file(catalog, tmp_path, workers):
    keys = {"cache": "1GB", "cache_folder": str(tmp_path)}
    assert all_same(batches(catalog, 8), batches(catalog, 8, workers, **keys))
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_video_fails_the_same_samples_with_a_cache(own_catalog, own_footage):
    damage(own_footage / "cold" / "cold1.mp4")
    keys = {"error_budget": 1.0, "holdout": 0.0}
    with open_feed(job_of(0, **keys), own_catalog) as feed:
        plain, failures = take(feed, 10), feed.stats().skipped
    for workers in (0, 2):
        with open_feed(job_of(workers, cache="1GB", **keys), own_catalog) as feed:
            assert all_same(plain, take(feed, 10))
            assert feed.stats().skipped == failures


def test_a_worker_killed_while_it_fills_the_store_spoils_nothing(catalog):
    plain = batches(catalog, 16)
    with open_feed(job_of(2, cache="1GB", prefetch_batches=1), catalog) as feed:
        seen = []
        for number in range(16):
            seen.append(next(feed))
            if number in (0, 1, 3):
                victim = feed.worker_process_ids[0]
                os.kill(victim, signal.SIGKILL)
                wait_until(lambda victim=victim: not is_alive(victim))
        assert feed.stats().num_skipped == 0
    assert all_same(plain, seen)


def test_a_feed_with_a_cache_resumes_exactly(catalog):
    plain = batches(catalog, 10)
    with open_feed(job_of(1, cache="1GB"), catalog) as feed:
        take(feed, 6)
        state = feed.state_dict()
        feed.load_state_dict(state)
        assert all_same(plain[6:8], take(feed, 2))
    with open_feed(job_of(0, cache="1GB"), catalog) as feed:
        feed.load_state_dict(state)
        assert all_same(plain[6:], take(feed, 4))


def test_a_store_that_memory_cannot_hold_is_refused_before_the_start(catalog, monkeypatch):
    monkeypatch.setattr("filmgate.feed.mapping.available_bytes", lambda: 1_000_000)
    with pytest.raises(UserError, match="for the decoded frames of 4 videos") as caught:
        open_feed(job_of(0, cache="1GB"), catalog)
    assert "cache" in caught.value.hint


def test_workers_find_the_store_without_a_name_in_dev_shm(catalog):
    before = set(Path("/dev/shm").iterdir())
    with open_feed(job_of(1, cache="1GB"), catalog) as feed:
        next(feed)
        assert set(Path("/dev/shm").iterdir()) <= before
