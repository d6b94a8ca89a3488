"""Rows that are held out whole: laws of the division, and of the orders over it."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from filmgate.catalog.held_out import RowDivision, divide_by_sample, divide_by_split
from filmgate.catalog.make_order import make_order
from filmgate.catalog.order import Order
from filmgate.errors import UserError
from filmgate.spec import Clip, Data, Job
from filmgate.spec.job import About

SHARES = st.one_of(st.sampled_from([0.1, 0.25, 1 / 3, 0.5, 0.9]), st.floats(0, 0.99))
ROWS = st.lists(
    st.tuples(st.integers(0, 60), st.sampled_from(["cat", "dog", "emu", None])),
    min_size=1,
    max_size=60,
)
SPLITS = st.lists(st.sampled_from(["train", "val", "test", None]), min_size=1, max_size=30)


def parted(rows: list[tuple[int, str | None]]) -> tuple[list[str], list[str | None]]:
    return [f"blake3:{number:02x}" for number, _ in rows], [label for _, label in rows]


@given(ROWS, SHARES)
def test_every_row_is_on_one_side_and_doubles_on_the_same(
    rows: list[tuple[int, str | None]], share: float
) -> None:
    digests, labels = parted(rows)
    divided = divide_by_sample(digests, labels, share)
    assert (divided.is_trained_V ^ divided.is_held_out_V).all()
    side = dict(zip(digests, divided.is_held_out_V.tolist(), strict=True))
    assert [side[digest] for digest in digests] == divided.is_held_out_V.tolist()


@given(st.dictionaries(st.integers(0, 10_000), st.sampled_from("abcd"), min_size=1), SHARES)
def test_each_label_gives_its_share_and_keeps_one(label_of: dict[int, str], share: float) -> None:
    digests, labels = parted(list(label_of.items()))
    held = divide_by_sample(digests, labels, share).is_held_out_V
    sizes = Counter(labels)
    given_up = Counter(np.array(labels)[held].tolist())
    for label, size in sizes.items():
        assert abs(given_up[label] - size * share) < 1 + 1e-6
        assert given_up[label] <= size - 1
    assert held.sum() <= len(labels) * share + 0.5 + 1e-6
    if all(size * share < size - 1 for size in sizes.values()):
        assert abs(held.sum() - len(labels) * share) <= 0.5 + 1e-6


@given(ROWS, SHARES, st.randoms(use_true_random=False))
def test_the_order_of_the_rows_decides_nothing(
    rows: list[tuple[int, str | None]], share: float, chance: object
) -> None:
    again = list(rows)
    chance.shuffle(again)  # type: ignore[attr-defined]
    sides = []
    for some in (rows, again):
        digests, labels = parted(some)
        held = divide_by_sample(digests, labels, share).is_held_out_V
        sides.append(dict(zip(digests, held.tolist(), strict=True)))
    assert sides[0] == sides[1]


@given(st.sets(st.integers(0, 10_000), min_size=2, max_size=60), SHARES)
def test_an_image_less_moves_one_other_at_most(numbers: set[int], share: float) -> None:
    everything = sorted(numbers)
    digests, labels = parted([(number, None) for number in everything])
    before = divide_by_sample(digests, labels, share).is_held_out_V[:-1]
    after = divide_by_sample(digests[:-1], labels[:-1], share).is_held_out_V
    assert int((before != after).sum()) <= 1


@given(SPLITS)
def test_splits_are_taken_as_they_are(splits: list[str | None]) -> None:
    divided = divide_by_split(splits)
    held = "val" if "val" in splits else "test"
    trained = "train" if "train" in splits else None
    if held not in splits or trained not in splits:
        assert divided is None
        return
    assert divided is not None and divided.evaluated == held
    assert divided.is_held_out_V.tolist() == [split == held for split in splits]
    assert divided.is_trained_V.tolist() == [split == trained for split in splits]
    assert divided.num_left_alone == sum(split not in (held, trained) for split in splits)


def order_of(
    rows: RowDivision | None, lengths: list[int], split: str = "train", **data: object
) -> Order:
    clip = Clip(frames=2, stride=1)
    return make_order(
        Job(job=About(seed=5), clip=clip, data=Data(**data)),
        split,
        catalog_digest="blake3:0",
        num_frames_V=np.array(lengths, np.int64),
        labels=lambda: ["a", "b", None] * len(lengths),
        weights=lambda _: np.arange(len(lengths), dtype=np.float64),
        rows=rows,
    )


@given(SPLITS, st.integers(1, 3), st.sampled_from(["equal", "class-balanced", "w.csv"]))
def test_training_shows_trained_rows_alone_and_evaluation_the_others(
    splits: list[str | None], clips_per_video: int, weights: str
) -> None:
    rows = divide_by_split(splits)
    if rows is None or not (np.arange(len(splits)) * rows.is_trained_V).any():
        return
    lengths = [1 + 3 * (row % 3) for row in range(len(splits))]
    labels = ["a", "b", None] * len(splits)
    order = make_order(
        Job(clip=Clip(frames=2, stride=1), data=Data(clips_per_video=clips_per_video,
                                                      weights=weights)),
        "train",
        catalog_digest="blake3:0",
        num_frames_V=np.array(lengths, np.int64),
        labels=lambda: labels[: len(splits)],
        weights=lambda _: np.arange(len(splits), dtype=np.float64),
        rows=rows,
    )  # fmt: skip
    assert order.epoch_size == len(rows.trained_rows) * clips_per_video
    for epoch in (0, 1):
        numbers = range(epoch * order.epoch_size, (epoch + 1) * order.epoch_size)
        shown = Counter(order.video_of(number) for number in numbers)
        assert all(rows.is_trained_V[row] for row in shown)
        if weights == "equal":
            assert shown == dict.fromkeys(rows.trained_rows.tolist(), clips_per_video)
        for row in range(len(splits)):
            places = order.places_of(row, epoch)
            assert places == [number for number in numbers if order.video_of(number) == row]
            assert order.is_shown(row) or not places
    for number in range(order.epoch_size):
        assert rows.is_trained_V[order.substitute(number, 1).video]
        indices = order.sample(number).frame_indices_T
        assert indices.min() >= 0 and indices.max() < lengths[order.video_of(number)]
    held = order_of(rows, lengths, "holdout", eval_clips_per_video=2)
    seen = [held.sample(number).video for number in range(held.num_samples or 0)]
    views = 1 if max(lengths) == 1 else 2
    assert seen == np.repeat(rows.held_out_rows, views).tolist()
    assert (held.num_not_held_out, held.num_held_out) == (0, len(rows.held_out_rows))


def test_an_image_is_evaluated_once_however_many_clips_are_asked() -> None:
    rows = divide_by_sample([f"{n}" for n in range(8)], ["a"] * 8, 0.25)
    held = order_of(rows, [1] * 8, "holdout", eval_clips_per_video=8)
    assert held.num_samples == 2
    assert order_of(rows, [1] * 8, "holdout", eval_crops=3).num_samples == 6


def test_weights_of_nothing_that_is_trained_on_are_refused() -> None:
    rows = divide_by_split(["train", "val", "val"])
    with pytest.raises(UserError, match="not held out have weight 0"):
        order_of(rows, [1, 1, 1], weights="w.csv")


def test_orders_by_time_have_the_digest_that_they_had_before_there_were_others() -> None:
    order = make_order(
        Job(job=About(seed=3), clip=Clip(frames=4, stride=2)),
        "train",
        catalog_digest="blake3:0",
        num_frames_V=np.array([40, 50], np.int64),
    )
    assert order.digest == "blake3:71bb8aeb87ec483bee393e387bddcec21c59f3d9523df7f5565d31716b63b230"
    divided = order_of(divide_by_split(["train", "val"]), [1, 1])
    assert divided.digest != order_of(None, [1, 1]).digest
