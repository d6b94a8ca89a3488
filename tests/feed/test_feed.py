from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from filmgate.catalog import Catalog, index_videos
from filmgate.errors import UserError
from filmgate.feed import Batch, Feed, open_feed
from filmgate.work.numa import NearCores
from tests.feed.conftest import job_of, wait_until
from tests.footage import read_index, write_video


def same(one: Batch, other: Batch) -> bool:
    """Bit for bit."""
    return (
        torch.equal(one.frames_BTCHW, other.frames_BTCHW)
        and torch.equal(one.labels_B, other.labels_B)
        and torch.equal(one.valid_B, other.valid_B)
        and torch.equal(one.video_B, other.video_B)
        and one.video_ids == other.video_ids
        and torch.equal(one.frame_indices_BT, other.frame_indices_BT)
        and np.array_equal(one.times_BT.numpy(), other.times_BT.numpy(), equal_nan=True)
        and (one.samples_digest, one.sample_start) == (other.samples_digest, other.sample_start)
    )


def all_same(some: list[Batch], others: list[Batch]) -> bool:
    return len(some) == len(others) and all(map(same, some, others))


def take(feed: Feed, count: int) -> list[Batch]:
    return [next(feed) for _ in range(count)]


def batches(catalog: Catalog, count: int, workers: int = 0, **keys: object) -> list[Batch]:
    with open_feed(job_of(workers, **keys), catalog) as feed:
        return take(feed, count)


def test_any_number_of_workers_gives_the_same_batches_bit_for_bit(catalog):
    alone = batches(catalog, 8)
    for workers in (1, 2):
        assert all_same(alone, batches(catalog, 8, workers))


def test_the_held_out_list_is_the_same_for_any_number_of_workers_and_ends(catalog):
    lists = []
    for workers in (0, 2):
        with open_feed(job_of(workers, batch_size=5), catalog, split="holdout") as feed:
            lists.append(list(feed))
    assert len(lists[0]) == 3
    assert all_same(*lists)


def test_every_frame_is_the_one_that_the_batch_says_it_is(catalog):
    for batch in batches(catalog, 3, height=64, width=96, flip=False):
        assert batch.frames_BTCHW.shape == (4, 4, 3, 64, 96)
        assert batch.frames_BTCHW.dtype == torch.uint8
        pictures_BTHWC = batch.frames_BTCHW.permute(0, 1, 3, 4, 2).numpy()
        painted_BT = [[read_index(picture) for picture in clip] for clip in pictures_BTHWC]
        assert painted_BT == batch.frame_indices_BT.tolist()
        assert torch.allclose(batch.times_BT, batch.frame_indices_BT.double() / 25)
        assert batch.video_ids == [catalog.video(row).video_id for row in batch.video_B.tolist()]


def test_the_last_batch_of_a_finite_list_is_filled_up_with_masked_clips(catalog):
    with open_feed(job_of(batch_size=5), catalog, split="holdout") as feed:
        last = list(feed)[-1]
    assert last.valid_B.tolist() == [True, True, False, False, False]
    assert last.labels_B[2:].tolist() == [-100] * 3
    assert last.video_ids[2:] == [""] * 3
    assert not last.frames_BTCHW[2:].any()
    assert torch.isnan(last.times_BT[2:]).all()


def test_labels_are_classes_in_sorted_order(catalog):
    with open_feed(job_of(), catalog) as feed:
        assert feed.class_names == ["cold", "warm"]
        assert feed.num_classes == 2
        batch = next(feed)
    assert [feed.class_names[label] for label in batch.labels_B] == [
        video_id.split("/")[0] for video_id in batch.video_ids
    ]


def test_the_source_can_be_the_target(catalog):
    with open_feed(job_of(target="source"), catalog) as feed:
        assert feed.class_names == [catalog.video(row).video_id for row in range(4)]
        batch = next(feed)
    assert torch.equal(batch.labels_B, batch.video_B)


def test_auto_takes_the_source_where_no_two_labels_are(own_footage, tmp_path):
    catalog = index_videos([own_footage / "cold"], tmp_path / "one", workers=0)
    with open_feed(job_of(), catalog) as feed:
        assert feed.class_names == ["cold0.mp4", "cold1.mp4"]


def test_some_videos_without_a_label_are_the_users_to_settle(own_footage, tmp_path):
    (own_footage / "cold" / "cold0.mp4").rename(own_footage / "loose.mp4")
    catalog = index_videos([own_footage], tmp_path / "mixed", workers=0)
    with pytest.raises(UserError, match="1 of 4 videos have no label"):
        open_feed(job_of(target="label"), catalog)
    with open_feed(job_of(), catalog) as feed:
        assert feed.num_classes == 4


@pytest.mark.parametrize("workers", [0, 1])
def test_a_resumed_feed_goes_on_with_exactly_the_rest(catalog, workers):
    whole = batches(catalog, 8)
    with open_feed(job_of(1), catalog) as first:
        assert all_same(whole[:3], take(first, 3))
        state = first.state_dict()
    with open_feed(job_of(workers), catalog) as second:
        second.load_state_dict(state)
        assert all_same(whole[3:6], take(second, 3))
        again = second.state_dict()
        take(second, 1)
        second.load_state_dict(again)
        assert all_same(whole[6:], take(second, 2))


def test_a_feed_can_be_opened_at_any_sample(catalog):
    whole = batches(catalog, 3)
    with open_feed(job_of(batch_size=2), catalog, start_sample=6) as feed:
        part = next(feed)
    assert part.sample_start == 6
    assert torch.equal(part.frames_BTCHW, whole[1].frames_BTCHW[2:])


def test_ranks_divide_each_batch(catalog):
    whole = batches(catalog, 3)
    parts = []
    for rank in (0, 1):
        with open_feed(job_of(), catalog, rank=rank, world_size=2) as feed:
            parts.append(take(feed, 3))
    for batch, first, second in zip(whole, *parts, strict=True):
        frames = torch.cat([first.frames_BTCHW, second.frames_BTCHW])
        assert torch.equal(frames, batch.frames_BTCHW)
        assert first.sample_start == second.sample_start == batch.sample_start


def test_ranks_that_do_not_divide_the_batch_are_refused(catalog):
    with pytest.raises(UserError, match="batch_size 4 does not divide by 3"):
        open_feed(job_of(), catalog, rank=0, world_size=3)
    with pytest.raises(UserError, match="rank 2 of 2"):
        open_feed(job_of(), catalog, rank=2, world_size=2)


def test_a_state_of_another_order_is_refused_and_says_what_differs(catalog):
    with open_feed(job_of(seed=1, frames=3), catalog) as other:
        state = other.state_dict()
    with open_feed(job_of(), catalog) as feed:
        with pytest.raises(UserError, match=r"seed was 1, is 0; frames was 3, is 4"):
            feed.load_state_dict(state)
        with pytest.raises(UserError, match="no state of a feed"):
            feed.load_state_dict({"step": 3})


def test_leaving_a_loop_early_and_coming_back_loses_no_batch(catalog):
    whole = batches(catalog, 4)
    seen: list[Batch] = []
    with open_feed(job_of(1), catalog) as feed:
        for _ in range(2):
            for batch in feed:
                seen.append(batch)
                if len(seen) % 2 == 0:
                    break
    assert all_same(whole, seen)


def test_the_held_out_list_begins_again_with_every_loop(catalog):
    with open_feed(job_of(1), catalog, split="holdout") as feed:
        whole = list(feed)
        for batch in feed:
            assert same(batch, whole[0])
            break
        assert all_same(whole, list(feed))


def test_nothing_held_out_is_an_empty_list(catalog):
    with open_feed(job_of(2, holdout=0.0), catalog, split="holdout") as feed:
        assert list(feed) == []
        assert feed.num_workers == 0


def test_a_batch_keeps_its_memory_while_the_feed_goes_on(catalog):
    with open_feed(job_of(1, prefetch_batches=1), catalog) as feed:
        first = next(feed)
        copy = first.frames_BTCHW.clone()
        take(feed, 5)
        assert torch.equal(first.frames_BTCHW, copy)
    assert torch.equal(first.frames_BTCHW, copy)


def test_clips_by_rate_take_frames_by_time(tmp_path):
    steps = np.random.default_rng(0).integers(20, 120, 80)
    pts = np.concatenate([[0], np.cumsum(steps)])[:80].tolist()
    write_video(tmp_path / "uneven.mp4", num_frames=80, pts=pts)
    catalog = index_videos([tmp_path / "uneven.mp4"], tmp_path / "catalog", workers=0)
    (batch,) = batches(catalog, 1, fps=10.0)
    steps_BT = torch.diff(batch.times_BT, dim=1)
    assert (steps_BT > 0).any()
    wanted_BT = batch.times_BT[:, :1] + torch.arange(4).double() / 10
    next_BT = torch.tensor(pts).double()[batch.frame_indices_BT + 1] / 1000
    assert (batch.times_BT <= wanted_BT + 1e-9).all()
    assert (next_BT > wanted_BT - 1e-9).all()


def test_clips_longer_than_their_video_are_padded_and_counted(tmp_path):
    write_video(tmp_path / "short.mp4", num_frames=5)
    catalog = index_videos([tmp_path / "short.mp4"], tmp_path / "catalog", workers=0)
    with open_feed(job_of(frames=6, stride=1, batch_size=1), catalog) as feed:
        batch = next(feed)
        assert batch.frame_indices_BT.tolist() == [[0, 1, 2, 3, 4, 4]]
        assert torch.equal(batch.frames_BTCHW[0, 4], batch.frames_BTCHW[0, 5])
        assert feed.stats().num_padded == 1
    with pytest.raises(UserError, match="shorter than one clip"):
        open_feed(job_of(frames=6, stride=1, short="raise"), catalog)


@pytest.mark.parametrize("workers", [0, 1])
def test_the_feed_counts_what_it_did(catalog, workers):
    with open_feed(job_of(workers), catalog) as feed:
        take(feed, 4)
        stats = feed.stats()
    assert stats.clips >= 16
    assert stats.frames_delivered == 4 * stats.clips
    assert stats.frames_decoded >= stats.frames_delivered
    assert set(stats.stage_seconds) == {"look-up", "decode", "convert"}
    assert stats.worker_busy_seconds == pytest.approx(sum(stats.stage_seconds.values()))
    assert 0 < stats.worker_cpu_seconds < 1.5 * stats.worker_busy_seconds
    assert stats.bytes_read is None or stats.bytes_read > 0
    assert (stats.worker_wait_seconds > 0) == (workers > 0)
    assert stats.num_skipped == 0


def test_ready_batches_fill_up_to_the_prefetch_and_no_further(catalog):
    with open_feed(job_of(1, prefetch_batches=2), catalog) as feed:
        assert feed.ready_batches == 0
        next(feed)
        wait_until(lambda: feed.ready_batches == 2)
        clips = feed.stats().clips
        assert clips == 3 * 4


def test_workers_are_not_loaded_with_torch(catalog):
    with open_feed(job_of(1), catalog) as feed:
        next(feed)
        (worker,) = feed.worker_process_ids
        assert "libtorch" not in Path(f"/proc/{worker}/maps").read_text()


def test_memory_that_is_not_there_is_said_before_the_start(catalog):
    with pytest.raises(UserError, match=r"needs .* TB of memory for .* clips in flight"):
        open_feed(job_of(1, prefetch_batches=10**9), catalog)


@pytest.mark.parametrize(
    "keys",
    [
        {"sampling": "uniform", "stride": None},
        {"sampling": "dense"},
        {"weights": "class-balanced"},
    ],
)
def test_every_way_of_sampling_gives_the_same_batches_for_any_workers(catalog, keys):
    plain = batches(catalog, 6, **keys)
    assert all_same(plain, batches(catalog, 6, 2, lookahead=3, cache="1MB", **keys))
    assert all_same(plain, batches(catalog, 6, 1, cache="1GB", **keys))


def test_three_windows_of_a_held_out_clip_are_decoded_once(catalog):
    lists, decoded = [], []
    for crops in (1, 3):
        job = job_of(0, eval_crops=crops, height=48, width=48, batch_size=9)
        with open_feed(job, catalog, split="holdout") as feed:
            lists.append(torch.cat([batch.frames_BTCHW[batch.valid_B] for batch in feed]))
            decoded.append(feed.stats().frames_decoded)
    middles = lists[1][1::3]
    assert torch.equal(middles, lists[0])
    assert not torch.equal(lists[1][0::3], lists[0])
    assert decoded[1] <= decoded[0]


def test_batches_stay_the_same_while_workers_come_and_go(catalog):
    whole = batches(catalog, 14)
    seen: list[Batch] = []
    with open_feed(job_of(1, prefetch_batches=2), catalog) as feed:
        for count in (1, 3, 2, 4, 1, 2, 1):
            feed.set_workers(count)
            seen += take(feed, 2)
            wait_until(lambda count=count: len(feed.worker_process_ids) == count)
        stats = feed.stats()
    assert all_same(whole, seen)
    assert stats.num_skipped == 0
    assert [change.num_workers for change in stats.size.changes] == [1, 3, 2, 4, 1, 2, 1]


def test_batches_stay_the_same_while_the_feed_finds_its_own_size(catalog, monkeypatch):
    monkeypatch.setattr("filmgate.feed.tuner.WINDOW_SECONDS", 0.0)
    monkeypatch.setattr("filmgate.feed.tuner.WINDOWS_TO_SHRINK", 2)
    monkeypatch.setattr("filmgate.feed.open.num_usable_cores", lambda: 5)
    whole = batches(catalog, 30)
    with open_feed(job_of(None, prefetch_batches=None), catalog) as feed:
        seen = []
        for batch in feed:
            seen.append(batch)
            if 10 < len(seen) < 20:
                time.sleep(0.05)
            if len(seen) == 30:
                break
        size = feed.stats().size
    assert all_same(whole, seen)
    assert size.is_automatic
    assert size.why.startswith("5 cores less 2 for training, at least 1, make 3 workers at most; ")


def test_a_number_of_workers_that_cannot_be_is_refused(catalog):
    with open_feed(job_of(1, prefetch_batches=2), catalog) as feed:
        for count in (0, 9):
            with pytest.raises(UserError, match=f"{count} workers for 8 clips in flight"):
                feed.set_workers(count)
    with open_feed(job_of(0), catalog) as feed, pytest.raises(UserError, match="training process"):
        feed.set_workers(1)


def test_workers_are_bound_to_the_cores_near_the_gpu(catalog, monkeypatch):
    core = min(os.sched_getaffinity(0))
    near = NearCores(node=1, cores=frozenset({core}), why="NUMA node 1 is near GPU 0000:65:00.0")
    monkeypatch.setattr("filmgate.feed.open.near_cores", lambda job, device: near)
    with open_feed(job_of(1), catalog) as feed:
        next(feed)
        assert os.sched_getaffinity(feed.worker_process_ids[0]) == {core}
        assert feed.stats().size.numa_node == 1
    assert len(os.sched_getaffinity(0)) >= 1


def test_nothing_is_bound_where_batches_go_to_no_gpu(catalog):
    with open_feed(job_of(0), catalog) as feed:
        assert feed.stats().size.why_numa == "the batches go to no GPU"
    with open_feed(job_of(0, bind_near_gpu=False), catalog) as feed:
        assert feed.stats().size.why_numa == "limits.bind_near_gpu is false"
