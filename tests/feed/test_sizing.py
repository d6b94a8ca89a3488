"""How many workers and batches a machine allows: arithmetic alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filmgate.errors import UserError
from filmgate.feed.sizing import MOST_BATCHES, Size, Surroundings, choose_size
from filmgate.spec import Limits


def around(num_cores: int = 16, num_local_ranks: int = 1, **keys: object) -> Surroundings:
    given_keys: dict[str, object] = {
        "ranks_from": "test",
        "available_bytes": 10**10,
        "trains_on_cpu": False,
    }
    return Surroundings(num_cores=num_cores, num_local_ranks=num_local_ranks, **(given_keys | keys))


def size(limits: Limits, surroundings: Surroundings, num_clips: int | None = None) -> Size:
    return choose_size(
        limits, surroundings, batch_clips=4, clip_bytes=1_000_000, num_clips=num_clips
    )


def test_training_on_a_gpu_keeps_one_core_of_each_rank():
    chosen = size(Limits(), around(16))
    assert (chosen.num_workers, chosen.most_workers) == (8, 15)
    assert "16 cores less 1 for training" in chosen.why


def test_ranks_on_a_machine_divide_its_cores():
    chosen = size(Limits(), around(16, num_local_ranks=4))
    assert (chosen.num_workers, chosen.most_workers) == (3, 3)
    assert "16 cores / 4 ranks (test)" in chosen.why


def test_training_on_the_cpu_keeps_two_cores_or_the_threads_it_was_given():
    assert size(Limits(), around(8, trains_on_cpu=True)).most_workers == 6
    assert size(Limits(train_threads=5), around(8, trains_on_cpu=True)).most_workers == 3
    assert size(Limits(), around(2, trains_on_cpu=True)).most_workers == 1


def test_a_training_process_that_waits_lends_its_cores():
    chosen = size(Limits(), around(2, trains_on_cpu=True))
    assert [chosen.most_workers_when(share) for share in (0.0, 0.5, 0.9)] == [1, 1, 2]


def test_the_budget_caps_the_workers_and_a_number_above_it_is_refused():
    chosen = size(Limits(cpu_budget_cores=3), around(16))
    assert (chosen.num_workers, chosen.most_workers_when(1.0)) == (3, 3)
    with pytest.raises(UserError, match=r"workers is 4, limits\.cpu_budget_cores 3"):
        size(Limits(workers=4, cpu_budget_cores=3), around(16))


def test_a_given_number_is_taken_as_it_is():
    chosen = size(Limits(workers=5, prefetch_batches=3), around(1))
    assert (chosen.num_workers, chosen.most_workers_when(1.0)) == (5, 5)
    assert (chosen.depth_batches, chosen.most_depth_batches) == (3, 3)


def test_no_workers_make_one_batch_at_a_time():
    chosen = size(Limits(workers=0), around(16))
    assert (chosen.num_workers, chosen.depth_batches, chosen.most_depth_batches) == (0, 1, 1)


def test_more_workers_than_clips_are_never_started_and_the_reason_is_told():
    chosen = size(Limits(workers=5), around(16), num_clips=3)
    assert chosen.num_workers == 3
    assert "no more than 3 clips" in chosen.why


def test_the_queue_takes_a_quarter_of_the_memory_divided_by_the_ranks():
    chosen = size(Limits(), around(16, num_local_ranks=2, available_bytes=320_000_000))
    assert chosen.most_depth_batches == 10  # 320 MB / 4 / 2 ranks / 4 MB


def test_workers_near_a_gpu_are_bounded_by_the_cores_of_its_node():
    assert size(Limits(), around(16, num_near_cores=4)).most_workers == 3


@given(
    num_cores=st.integers(1, 512),
    num_local_ranks=st.integers(1, 16),
    available_bytes=st.integers(0, 10**12),
    trains_on_cpu=st.booleans(),
    wait_share=st.floats(0, 1),
)
def test_any_machine_gets_at_least_one_worker_and_never_more_than_its_cores(
    num_cores, num_local_ranks, available_bytes, trains_on_cpu, wait_share
):
    chosen = size(
        Limits(),
        around(
            num_cores,
            num_local_ranks,
            available_bytes=available_bytes,
            trains_on_cpu=trains_on_cpu,
        ),
    )
    share = max(1, num_cores // num_local_ranks)
    assert 1 <= chosen.num_workers <= chosen.most_workers <= share
    assert chosen.most_workers <= chosen.most_workers_when(wait_share) <= share
    assert 2 <= chosen.depth_batches <= chosen.most_depth_batches
    assert chosen.most_depth_batches <= max(MOST_BATCHES, share + 1)
