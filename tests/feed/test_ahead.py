"""Looking ahead and keeping clips: the same batches, fewer decodes, never more than the budget."""

from __future__ import annotations

import os
import signal

import pytest

from filmgate.catalog import Catalog
from filmgate.errors import UserError
from filmgate.feed import open_feed
from tests.feed.conftest import is_alive, job_of, wait_until
from tests.feed.test_faults import damage
from tests.feed.test_feed import all_same, batches, take
from tests.feed.test_line import Bench

CLIP_BYTES = 4 * 3 * 48 * 64


@pytest.fixture
def bench(catalog: Catalog) -> Bench:
    """Four videos, four clips in flight, room for six clips of the next three epochs."""
    return Bench(catalog, job_of(lookahead=4), num_slots=4, num_cache_slots=6)


@pytest.mark.parametrize("workers", [0, 1, 2])
@pytest.mark.parametrize("cache", [None, f"{5 * CLIP_BYTES}", "1GB"])
def test_looking_ahead_gives_the_same_batches_bit_for_bit(catalog, workers, cache):
    keys = {"clips_per_video": 2, "prefetch_batches": 2}
    plain = batches(catalog, 12, **keys)
    ahead = batches(catalog, 12, workers, lookahead=3, cache=cache, **keys)
    assert all_same(plain, ahead)


def test_a_cache_in_a_folder_leaves_no_file_and_gives_the_same_batches(catalog, tmp_path):
    plain = batches(catalog, 8)
    for workers in (0, 1):
        keys = {"lookahead": 4, "cache": "1GB", "cache_folder": str(tmp_path)}
        assert all_same(plain, batches(catalog, 8, workers, **keys))
    assert list(tmp_path.iterdir()) == []


def test_frames_of_several_clips_are_decoded_once(catalog):
    def decoded(**keys: object) -> int:
        with open_feed(job_of(0, holdout=0.0, **keys), catalog) as feed:
            take(feed, 16)
            return feed.stats().frames_decoded

    assert decoded(lookahead=8, cache="1GB") < 0.6 * decoded()


@pytest.mark.parametrize("workers", [0, 2])
def test_a_feed_that_looks_ahead_resumes_exactly_with_and_without(catalog, workers):
    plain = batches(catalog, 9)
    with open_feed(job_of(1, lookahead=3, cache="1MB"), catalog) as feed:
        assert all_same(plain[:4], take(feed, 4))
        state = feed.state_dict()
    for lookahead in (1, 5):
        with open_feed(job_of(workers, lookahead=lookahead, cache="1MB"), catalog) as feed:
            feed.load_state_dict(state)
            assert all_same(plain[4:], take(feed, 5))


def test_ranks_look_ahead_for_themselves(catalog):
    for rank in (0, 1):
        with (
            open_feed(job_of(), catalog, rank=rank, world_size=2) as plain,
            open_feed(
                job_of(1, lookahead=4, cache="1MB"), catalog, rank=rank, world_size=2
            ) as ahead,
        ):
            assert all_same(take(plain, 6), take(ahead, 6))


def test_a_damaged_video_fails_the_same_samples_when_looked_ahead(own_catalog, own_footage):
    damage(own_footage / "cold" / "cold1.mp4")
    keys = {"error_budget": 1.0, "holdout": 0.0}
    with open_feed(job_of(0, **keys), own_catalog) as feed:
        plain, failures = take(feed, 8), feed.stats().skipped
    for workers in (0, 2):
        job = job_of(workers, lookahead=3, cache="1MB", **keys)
        with open_feed(job, own_catalog) as feed:
            assert all_same(plain, take(feed, 8))
            assert feed.stats().skipped == failures


def test_a_worker_killed_during_a_visit_blames_no_clip(catalog):
    plain = batches(catalog, 12)
    with open_feed(job_of(2, lookahead=4, cache="1MB"), catalog) as feed:
        seen = []
        for number in range(12):
            seen.append(next(feed))
            if number in (1, 5):
                victim = feed.worker_process_ids[0]
                os.kill(victim, signal.SIGKILL)
                wait_until(lambda victim=victim: not is_alive(victim))
        assert feed.stats().num_skipped == 0
    assert all_same(plain, seen)


def test_held_out_clips_of_a_video_are_made_together(catalog):
    lists = []
    for lookahead in (1, 2):
        with open_feed(job_of(1, lookahead=lookahead), catalog, split="holdout") as feed:
            lists.append(list(feed))
    assert all_same(*lists)


def test_a_visit_takes_the_clips_of_the_next_epochs_until_the_slots_are_gone(bench):
    visits = [bench.line.next_visit() for _ in range(4)]
    assert [task.slot for visit in visits for task in visit.tasks[:1]] == [0, 1, 2, 3]
    assert [len(visit.tasks) for visit in visits] == [4, 4, 1, 1]
    kept = [task.slot for visit in visits for task in visit.tasks[1:]]
    assert sorted(kept) == [4, 5, 6, 7, 8, 9]
    for visit in visits:
        assert len({bench.video(task) for task in visit.tasks}) == 1


def test_kept_clips_are_settled_at_once_and_give_their_slots_back(bench):
    for _ in range(4):
        for task in bench.line.next_visit().tasks:
            bench.done(task)
    bench.line.release(4)
    assert bench.line.num_open == 4
    kept = [bench.line.look(index) for index in range(4)]
    from_cache = [place for place in kept if place is not None]
    assert len(from_cache) == 2
    assert all(place.slot >= 4 for place in from_cache)
    assert [task.slot < 4 for task in bench.tasks()][:2] == [True, True]


def test_a_shared_visit_that_is_lost_is_made_again_one_by_one(bench):
    visit = bench.line.next_visit()
    bench.line.give_back(visit, ("crash", "its worker died (SIGSEGV)"))
    again = bench.line.next_visit()
    assert again.tasks == visit.tasks[:1]
    bench.line.give_back(again, ("crash", "its worker died (SIGSEGV)"))
    assert bench.line.next_visit() == again
    others = [bench.line.next_visit() for _ in range(3)]
    assert [len(other.tasks) for other in others] == [4, 4, 1]


def test_a_kept_clip_of_a_video_that_is_quarantined_meanwhile_is_not_used(bench):
    visit, *others = [bench.line.next_visit() for _ in range(4)]
    for task in visit.tasks:
        bench.done(task)
    later = visit.tasks[1]
    bench.policy.quarantined[bench.video(later)] = 0
    for other in others:
        for task in other.tasks:
            bench.done(task)
    bench.line.release(4)
    for index in range(4):
        bench.line.look(index)
    (substitute,) = [task for task in bench.tasks() if task.number == later.number]
    assert substitute.attempt == 1
    assert substitute.slot < 4


def test_a_cache_that_memory_cannot_hold_is_refused_before_the_start(catalog):
    job = job_of(0, lookahead=10**9, cache="900TB")
    with pytest.raises(UserError, match=r"clips in flight and \d+ in the cache") as caught:
        open_feed(job, catalog)
    assert "cache_folder" in caught.value.hint


def test_a_cache_folder_that_is_not_there_is_named(catalog):
    job = job_of(1, lookahead=2, cache="1MB", cache_folder="/nonexistent/folder")
    with pytest.raises(UserError, match="no cache can be made in /nonexistent/folder"):
        open_feed(job, catalog)
