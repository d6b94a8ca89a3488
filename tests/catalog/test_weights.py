from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from filmgate.catalog import Catalog, index_videos
from filmgate.catalog.make_order import make_order
from filmgate.catalog.turns import weighted_turns
from filmgate.catalog.weights import read_weights
from filmgate.errors import UserError
from filmgate.spec import Clip, Data, Job
from tests.footage import write_video

WEIGHTS = st.lists(st.sampled_from([0.0, 0.0, 0.3, 1.0, 2.5, 100.0]), min_size=1, max_size=12)


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    root = tmp_path_factory.mktemp("videos")
    for name in ("a", "b", "c", "d", "e"):
        write_video(root / f"{name}.mp4", num_frames=12)
    return index_videos([root], tmp_path_factory.mktemp("catalog"), workers=0)


def read(text: str, catalog: Catalog, folder: Path) -> list[float]:
    file = folder / "weights.csv"
    file.write_text(text)
    return read_weights(file, catalog).tolist()


def test_videos_are_named_by_id_or_by_path(catalog, tmp_path):
    root = Path(catalog.video(0).path).parent
    text = f"video,weight\nb.mp4,2\n{root}/a.mp4,0.5\nc.mp4,0\nd.mp4,1e3\ne.mp4, 7 \n"
    assert read(text, catalog, tmp_path) == [0.5, 2, 0, 1000, 7]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["a.mp4,1"], r"no weight for 4 of 5 videos: b.mp4, c.mp4, d.mp4 and 1 more"),
        (["a.mp4,1", "x.mp4,1"], "line 3: 'x.mp4' is none of the 5 videos"),
        (["a.mp4,1", "a.mp4,1"], "line 3: 'a.mp4' is listed twice"),
        (["a.mp4,-1"], "line 2: the weight is '-1'"),
        (["a.mp4,nan"], "line 2: the weight is 'nan'"),
        (["a.mp4,inf"], "line 2: the weight is 'inf'"),
        (["a.mp4,much"], "line 2: the weight is 'much'"),
        (["a.mp4"], "line 2: the weight is ''"),
        ([f"{name}.mp4,0" for name in "abcde"], "every weight is 0"),
    ],
)
def test_a_wrong_file_of_weights_is_refused(catalog, tmp_path, lines, message):
    with pytest.raises(UserError, match=message) as caught:
        read("\n".join(["video,weight", *lines]), catalog, tmp_path)
    assert "weights.csv" in caught.value.message
    assert caught.value.hint


def test_a_file_without_the_columns_or_that_is_not_there_is_refused(catalog, tmp_path):
    with pytest.raises(UserError, match="columns are path, weight"):
        read("path,weight\n", catalog, tmp_path)
    with pytest.raises(UserError, match="No such file") as caught:
        read_weights(tmp_path / "none.csv", catalog)
    assert "weights" in caught.value.hint


def order_of(weights: list[float], split: str = "train", **data: object):
    job = Job(
        clip=Clip(frames=4, stride=2), data=Data(weights="weights.csv", clips_per_video=3, **data)
    )
    return make_order(
        job,
        split,
        catalog_digest="blake3:0",
        num_frames_V=np.full(len(weights), 80, np.int64),
        weights=lambda file: np.array(weights),
    )


@given(WEIGHTS.filter(any), st.integers(0, 99))
def test_every_video_comes_as_often_as_its_weight_says_to_within_one(weights, epoch):
    order = order_of(weights)
    start = epoch * order.epoch_size
    counts = Counter(order.video_of(n) for n in range(start, start + order.epoch_size))
    for row, weight in enumerate(weights):
        assert abs(counts[row] - order.epoch_size * weight / sum(weights)) < 1 + 1e-6
        assert order.is_shown(row) == (weight > 0)
    assert order.num_never_shown == weights.count(0.0)


@given(WEIGHTS.filter(any), st.integers(0, 10**9), st.integers(0, 20))
def test_a_video_of_weight_zero_is_never_shown_not_even_as_a_substitute(weights, number, attempt):
    order = order_of(weights)
    video = order.video_of(number, attempt)
    assert weights[video] > 0
    if attempt and len(weights) - weights.count(0.0) > 1:
        assert video != order.video_of(number)


def test_the_last_video_of_weight_zero_does_not_get_a_mark_at_the_very_end():
    turns = weighted_turns(np.array([1.0, 2.0, 0.0]), 3, b"key")
    object.__setattr__(turns, "_offset", lambda epoch: 1.0)
    assert turns.video(0, 2) == 1


def test_other_weights_are_another_order_and_held_out_clips_have_none():
    assert order_of([1.0, 2.0]).digest != order_of([2.0, 1.0]).digest
    assert order_of([1.0, 2.0]).digest == order_of([1.0, 2.0]).digest
    assert order_of([1.0, 0.0], "holdout").digest == order_of([2.0, 1.0], "holdout").digest
    assert {order_of([1.0, 0.0], "holdout").video_of(n) for n in range(16)} == {0, 1}
