"""Batches on the device: on the CPU nothing is copied, on a GPU they travel ahead."""

from __future__ import annotations

import pytest
import torch

from filmgate.errors import UserError
from filmgate.feed import open_feed
from tests.feed.conftest import job_of, wait_until
from tests.feed.test_feed import all_same, batches, take


def test_on_the_cpu_nothing_is_copied_and_the_batch_says_where_it_is(catalog):
    whole = batches(catalog, 3)
    with open_feed(job_of(1), catalog, device="cpu") as feed:
        seen = take(feed, 3)
    assert all_same(whole, seen)
    assert {batch.device for batch in seen} == {torch.device("cpu")}


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU to deliver to")
def test_a_device_that_is_not_there_is_refused(catalog):
    for device in ("cuda", "meta"):
        with pytest.raises(UserError, match=f"cannot be taken to {device}"):
            open_feed(job_of(), catalog, device=device)


@pytest.mark.gpu
def test_batches_on_a_gpu_are_those_of_the_host(catalog):
    whole = batches(catalog, 12)
    with open_feed(job_of(2), catalog, device="cuda") as feed:
        for expected in whole:
            batch = next(feed)
            assert batch.device.type == batch.labels_B.device.type == "cuda"
            assert batch.valid_B.device.type == "cpu"
            assert torch.equal(batch.frames_BTCHW.cpu(), expected.frames_BTCHW)
            assert torch.equal(batch.labels_B.cpu(), expected.labels_B)
            assert batch.sample_start == expected.sample_start


@pytest.mark.gpu
def test_a_batch_on_a_gpu_stays_what_it_is_while_kernels_are_slow(catalog):
    """The device is kept busy, so that reads come long after the next copies were started."""
    whole = batches(catalog, 12)
    sums = []
    with open_feed(job_of(2), catalog, device="cuda") as feed:
        for _ in whole:
            batch = next(feed)
            torch.cuda._sleep(20_000_000)
            sums.append(batch.frames_BTCHW.long().sum())
            del batch
    assert [int(one) for one in sums] == [int(b.frames_BTCHW.long().sum()) for b in whole]


@pytest.mark.gpu
def test_the_state_counts_batches_handed_out_and_not_those_on_the_way(catalog):
    whole = batches(catalog, 4)
    with open_feed(job_of(1), catalog, device="cuda") as feed:
        next(feed)
        wait_until(lambda: feed.ready_batches >= 2)
        next(feed)
        state = feed.state_dict()
        assert state["next_sample"] == 8
        next(feed)
        feed.load_state_dict(state)
        assert torch.equal(next(feed).frames_BTCHW.cpu(), whole[2].frames_BTCHW)


@pytest.mark.gpu
def test_the_held_out_list_ends_on_a_gpu_as_on_the_host(catalog):
    with open_feed(job_of(1, batch_size=5), catalog, split="holdout") as feed:
        whole = list(feed)
    with open_feed(job_of(1, batch_size=5), catalog, split="holdout", device="cuda") as feed:
        for _ in range(2):
            seen = list(feed)
            assert len(seen) == len(whole)
            assert torch.equal(seen[-1].frames_BTCHW.cpu(), whole[-1].frames_BTCHW)
