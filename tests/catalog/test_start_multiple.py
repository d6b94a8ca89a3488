"""Clips over training copies begin on references where that spares decoding."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from filmgate.catalog.make_order import make_order
from filmgate.catalog.order import Order
from filmgate.spec import Clip, Data, Job


def order(
    lengths: list[int], reference_every: int, *, stride: int = 4, split: str = "train", **clip: str
) -> Order:
    job = Job(clip=Clip(frames=3, stride=stride, **clip), data=Data(holdout=0.25))
    return make_order(
        job, split, catalog_digest="blake3:0", num_frames_V=np.array(lengths),
        reference_every=reference_every,
    )  # fmt: skip


@given(
    lengths=st.lists(st.integers(9, 90), min_size=1, max_size=9),
    reference_every=st.sampled_from([2, 4]),
    sampling=st.sampled_from(["random", "dense"]),
    number=st.integers(0, 10**6),
)
def test_every_clip_with_room_for_it_begins_on_a_multiple(
    lengths: list[int], reference_every: int, sampling: str, number: int
) -> None:
    sample = order(lengths, reference_every, sampling=sampling).sample(number)
    assert sample.frame_indices_T[0] % reference_every == 0
    assert not sample.is_padded


def test_every_multiple_is_reached() -> None:
    starts = {int(order([50], 4).sample(n).frame_indices_T[0]) for n in range(400)}
    assert starts == set(range(0, 30, 4))


def test_held_out_clips_lie_behind_the_border_on_multiples_too() -> None:
    held_out = order([100], 4, split="holdout")
    starts = [int(held_out.sample(n).frame_indices_T[0]) for n in range(8)]
    assert starts == sorted(starts) and starts[0] >= 75
    assert all(start % 4 == 0 for start in starts)


@pytest.mark.parametrize("stride", [1, 2, 3, 6])
def test_another_stride_is_as_over_any_video(stride: int) -> None:
    plain, laid_out = order([80], 1, stride=stride), order([80], 4, stride=stride)
    assert plain.digest == laid_out.digest
