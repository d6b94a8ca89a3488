from __future__ import annotations

import itertools
import time
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from filmgate.catalog.make_order import make_order
from filmgate.catalog.order import Order
from filmgate.catalog.permutation import Permutation
from filmgate.catalog.sample import Sample
from filmgate.errors import UserError
from filmgate.spec import Clip, Data, Job
from filmgate.spec.job import About
from filmgate.video.table import EntryPoints, FrameTable

LENGTHS = st.lists(st.integers(1, 90), min_size=1, max_size=12)
CLIPS = st.builds(
    lambda frames, step, crop, flip, sampling: Clip(
        frames=frames,
        crop=crop,
        flip=flip,
        sampling=sampling,
        **({} if sampling == "uniform" else step),
    ),
    st.integers(1, 8),
    st.one_of(
        st.builds(lambda stride: {"stride": stride}, st.integers(1, 5)),
        st.builds(lambda fps: {"fps": fps}, st.sampled_from([1, 5, 12.5, 23.976, 25, 60.0])),
    ),
    st.sampled_from(["random", "centre", "random-resized"]),
    st.booleans(),
    st.sampled_from(["random", "random", "uniform", "dense"]),
)
DATA = st.builds(
    Data,
    holdout=st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9]),
    clips_per_video=st.integers(1, 3),
    eval_clips_per_video=st.integers(1, 5),
    eval_crops=st.sampled_from([1, 3]),
    short=st.sampled_from(["repeat-last", "loop"]),
)
JOBS = st.builds(
    lambda clip, data, seed: Job(job=About(seed=seed), clip=clip, data=data),
    CLIPS,
    DATA,
    st.integers(0, 2**31),
)


def table_of(pts: list[int], end: int, time_base: Fraction = Fraction(1, 1000)) -> FrameTable:
    """A frame table with these times; nothing in it can be decoded."""
    nothing = np.zeros(0, np.int64)
    return FrameTable(
        time_base=time_base,
        pts=np.array(pts, np.int64),
        end_ticks=end,
        is_key=np.ones(len(pts), bool),
        packet=np.arange(len(pts), dtype=np.int32),
        entries=EntryPoints(
            packet=nothing,
            first_frame=nothing,
            seek_target=nothing,
            position=nothing,
            size=nothing,
            crc32=nothing,
        ),
        access="sequential",
        access_reason=None,
        seek_by="pts",
        times_from_packets=False,
        stream_index=0,
        file_bytes=0,
    )


def uneven_tables(lengths: list[int]) -> list[FrameTable]:
    """One table per length, variable-rate around 25 fps, starting anywhere."""
    tables = []
    for row, length in enumerate(lengths):
        steps = np.random.default_rng(row).integers(1, 80, length)
        pts = 17 * row - 40 + np.concatenate([[0], np.cumsum(steps)])
        tables.append(table_of(pts[:-1].tolist(), int(pts[-1])))
    return tables


def order_of(job: Job, lengths: list[int], split: str = "train", digest: str = "blake3:0") -> Order:
    tables = uneven_tables(lengths)
    return make_order(
        job,
        split,
        catalog_digest=digest,
        num_frames_V=np.array(lengths, np.int64),
        duration_seconds_V=np.array([table.duration_seconds for table in tables]),
        frame_table=tables.__getitem__,
    )


def facts_of(sample: Sample) -> tuple:
    return (
        sample.number,
        sample.attempt,
        sample.epoch,
        sample.video,
        tuple(sample.frame_indices_T.tolist()),
        sample.crop_top_share,
        sample.crop_left_share,
        sample.flip,
        sample.is_padded,
        sample.resized_crop,
    )


def job_of(clip: Clip | None = None, *, seed: int = 0, **data: object) -> Job:
    return Job(job=About(seed=seed), clip=clip or Clip(frames=4, stride=2), data=Data(**data))


@given(JOBS, LENGTHS, st.integers(0, 1000))
def test_every_epoch_shows_each_video_exactly_clips_per_video_times(job, lengths, epoch):
    order = order_of(job, lengths)
    start = epoch * order.epoch_size
    seen = Counter(order.sample(n).video for n in range(start, start + order.epoch_size))
    assert seen == dict.fromkeys(range(len(lengths)), job.data.clips_per_video)
    assert {order.sample(n).epoch for n in (start, start + order.epoch_size - 1)} == {epoch}


@given(JOBS, LENGTHS, st.integers(0, 50), st.data())
def test_the_samples_of_a_video_are_found_without_a_search(job, lengths, epoch, data):
    order = order_of(job, lengths)
    video = data.draw(st.integers(0, len(lengths) - 1))
    numbers = range(epoch * order.epoch_size, (epoch + 1) * order.epoch_size)
    wanted = [n for n in numbers if order.video_of(n) == video]
    assert order.places_of(video, epoch) == wanted
    if wanted:
        later = wanted[1:] + order.places_of(video, epoch + 1)
        assert list(order.later_of(wanted[0], 2)) == later


@given(JOBS, LENGTHS)
def test_the_held_out_clips_of_a_video_follow_each_other(job, lengths):
    order = order_of(job, lengths, "holdout")
    for n in range(order.num_samples):
        video = order.video_of(n)
        rest = [m for m in range(n + 1, order.num_samples) if order.video_of(m) == video]
        assert list(order.later_of(n, 1)) == rest


@given(JOBS, LENGTHS, st.data())
def test_a_sample_does_not_depend_on_which_samples_were_asked_before(job, lengths, data):
    numbers = data.draw(st.lists(st.integers(0, 10**12), min_size=1, max_size=8))
    one = order_of(job, lengths)
    forward = [facts_of(one.sample(n)) for n in numbers]
    backward = [facts_of(order_of(job, lengths).sample(n)) for n in reversed(numbers)]
    assert forward == backward[::-1]


@given(JOBS, LENGTHS, st.integers(0, 10**9))
def test_a_run_resumed_at_any_sample_sees_the_rest_of_an_uninterrupted_one(job, lengths, n):
    uninterrupted = order_of(job, lengths)
    whole = [facts_of(uninterrupted.sample(i)) for i in range(n, n + 20)]
    resumed = order_of(job, lengths)
    assert [facts_of(resumed.sample(i)) for i in range(n + 9, n + 20)] == whole[9:]


@given(JOBS, LENGTHS)
def test_training_and_held_out_frames_never_overlap(job, lengths):
    train, held = order_of(job, lengths), order_of(job, lengths, "holdout")
    trained: dict[int, int] = {}
    for n in range(6 * train.epoch_size):
        sample = train.sample(n)
        newest = int(sample.frame_indices_T.max())
        trained[sample.video] = max(newest, trained.get(sample.video, 0))
    for n in range(held.num_samples):
        sample = held.sample(n)
        assert int(sample.frame_indices_T.min()) > trained[sample.video]


@given(JOBS, LENGTHS)
def test_every_frame_lies_inside_its_video_and_frames_follow_each_other(job, lengths):
    for split in ("train", "holdout"):
        order = order_of(job, lengths, split)
        count = 3 * order.epoch_size if split == "train" else order.num_samples
        for n in range(count):
            sample = order.sample(n)
            indices = sample.frame_indices_T
            assert len(indices) == job.clip.frames
            assert indices.min() >= 0
            assert indices.max() < lengths[sample.video]
            if job.clip.stride is not None and not sample.is_padded:
                assert set(np.diff(indices)) <= {job.clip.stride}
            assert 0 <= sample.crop_top_share < 1
            assert 0 <= sample.crop_left_share < 1


@given(CLIPS, LENGTHS, st.integers(0, 10**6))
def test_a_clip_by_rate_shows_the_frame_of_each_moment(clip, lengths, n):
    if clip.fps is None:
        return
    sample = order_of(job_of(clip), lengths).sample(n)
    if sample.is_padded:
        return
    table = uneven_tables(lengths)[sample.video]
    start = (
        Fraction(int(table.pts[sample.frame_indices_T[0]]) - int(table.pts[0])) * table.time_base
    )
    fps = Fraction(clip.fps).limit_denominator(1_000_000)
    moments = [table.frame_at(start + k / fps) for k in range(clip.frames)]
    assert moments == sample.frame_indices_T.tolist()


@given(st.integers(0, 2**31), st.integers(0, 2**31))
def test_different_seeds_give_different_samples(one, other):
    if one == other:
        return
    lengths = [80] * 20
    first, second = (order_of(job_of(seed=seed), lengths) for seed in (one, other))
    assert first.digest != second.digest
    assert [facts_of(first.sample(n)) for n in range(20)] != [
        facts_of(second.sample(n)) for n in range(20)
    ]


def test_another_catalog_and_another_epoch_are_shuffled_anew():
    lengths = [80] * 30
    order = order_of(job_of(), lengths)
    other = order_of(job_of(), lengths, digest="blake3:1")
    assert [order.video_of(n) for n in range(30)] != [other.video_of(n) for n in range(30)]
    assert [order.video_of(n) for n in range(30)] != [order.video_of(n) for n in range(30, 60)]


@given(JOBS, LENGTHS, st.integers(0, 10**9), st.integers(1, 30))
def test_a_substitute_is_another_video_and_always_the_same_one(job, lengths, n, attempt):
    order = order_of(job, lengths)
    sample = order.substitute(n, attempt)
    assert facts_of(sample) == facts_of(order_of(job, lengths).substitute(n, attempt))
    assert sample.video == order.video_of(n, attempt)
    assert (sample.video != order.video_of(n)) == (len(lengths) > 1)


def test_substitutes_reach_every_other_video():
    order = order_of(job_of(), [80] * 5)
    seen = {order.substitute(0, attempt).video for attempt in range(1, 60)}
    assert seen == set(range(5)) - {order.video_of(0)}


@given(LENGTHS, st.integers(1, 8), st.integers(1, 5), st.sampled_from([0.1, 0.25, 0.5]))
def test_a_video_too_short_for_both_sides_is_trained_whole_and_counted(
    lengths, frames, stride, holdout
):
    job = job_of(Clip(frames=frames, stride=stride), holdout=holdout, eval_clips_per_video=2)
    held = order_of(job, lengths, "holdout")
    span = (frames - 1) * stride + 1
    divided = [
        row
        for row, length in enumerate(lengths)
        if int(length * holdout) >= span and length - int(length * holdout) >= span
    ]
    assert [held.sample(n).video for n in range(held.num_samples)] == np.repeat(divided, 2).tolist()
    assert held.num_not_held_out == len(lengths) - len(divided)


def test_a_whole_video_is_reached_by_training_when_nothing_is_held_out():
    order = order_of(job_of(Clip(frames=2, stride=1), holdout=0.0), [6])
    starts = {int(order.sample(n).frame_indices_T[0]) for n in range(200)}
    assert starts == {0, 1, 2, 3, 4}
    assert order.num_not_held_out == 0


def test_held_out_clips_are_even_centred_and_not_mirrored():
    job = job_of(Clip(frames=2, stride=1), holdout=0.5, eval_clips_per_video=4)
    order = order_of(job, [82], "holdout")
    samples = [order.sample(n) for n in range(order.num_samples)]
    assert [int(s.frame_indices_T[0]) for s in samples] == [46, 56, 66, 76]
    assert {(s.crop_top_share, s.crop_left_share, s.flip) for s in samples} == {(0.5, 0.5, False)}
    with pytest.raises(IndexError):
        order.sample(4)
    with pytest.raises(IndexError):
        order.sample(-1)


@pytest.mark.parametrize(
    ("short", "frames"), [("repeat-last", [0, 2, 4, 4, 4]), ("loop", [0, 2, 4, 0, 2])]
)
def test_a_clip_longer_than_its_video_follows_the_rule_and_says_so(short, frames):
    order = order_of(job_of(Clip(frames=5, stride=2), short=short), [5, 80])
    sample = next(s for s in (order.sample(n) for n in range(2)) if s.video == 0)
    assert sample.frame_indices_T.tolist() == frames
    assert sample.is_padded
    assert order.num_short == 1


def test_short_raise_names_the_count_and_the_first_row():
    with pytest.raises(UserError, match=r"2 of 3 videos .* row 1 with 5"):
        order_of(job_of(Clip(frames=5, stride=2), short="raise"), [80, 5, 8])


def test_short_raise_by_rate_raises_when_the_clip_is_drawn():
    order = order_of(job_of(Clip(frames=8, fps=1.0), short="raise"), [4])
    with pytest.raises(UserError, match="row 0"):
        order.sample(0)


def test_flips_and_crops_are_fair():
    order = order_of(job_of(), [80] * 10)
    samples = [order.sample(n) for n in range(2000)]
    assert 0.45 < np.mean([s.flip for s in samples]) < 0.55
    assert 0.45 < np.mean([s.crop_top_share for s in samples]) < 0.55
    assert abs(np.corrcoef(*np.array([[s.flip, s.crop_left_share] for s in samples]).T)[0, 1]) < 0.1


def test_an_empty_catalog_is_the_callers_mistake():
    with pytest.raises(UserError, match="no video"):
        order_of(job_of(), [])


def test_equal_facts_are_the_same_order_and_other_facts_are_not():
    base = order_of(job_of(), [80, 90])
    assert base.digest == order_of(job_of(), [80, 90]).digest
    others = [
        order_of(job_of(seed=1), [80, 90]),
        order_of(job_of(holdout=0.3), [80, 90]),
        order_of(job_of(Clip(frames=4, stride=3)), [80, 90]),
        order_of(job_of(), [80, 90], "holdout"),
    ]
    assert len({order.digest for order in [base, *others]}) == 5


@given(st.integers(1, 2**40), st.data())
def test_a_shuffle_of_any_size_gives_every_place_another_item(size, data):
    shuffle = Permutation(size=size, key=b"key")
    places = data.draw(st.sets(st.integers(0, size - 1), max_size=50))
    items = {shuffle(place) for place in places}
    assert {shuffle.place_of(shuffle(place)) for place in places} == places
    assert len(items) == len(places)
    assert all(0 <= item < size for item in items)


def test_a_shuffle_is_fair_for_places_and_neighbours():
    size, num_epochs = 6, 6000
    at_place, pairs = Counter(), Counter()
    for epoch in range(num_epochs):
        shuffle = Permutation(size=size, key=epoch.to_bytes(8, "little"))
        items = [shuffle(place) for place in range(size)]
        at_place.update(enumerate(items))
        pairs.update(itertools.pairwise(items))
    assert len(at_place) == 36
    assert all(0.85 < count / (num_epochs / 6) < 1.15 for count in at_place.values())
    assert len(pairs) == 30
    assert all(0.85 < count / (num_epochs / 6) < 1.15 for count in pairs.values())


def test_a_million_videos_cost_nothing_to_open():
    lengths = np.full(1_000_000, 250, np.int64)
    began = time.process_time()
    order = make_order(job_of(), "train", catalog_digest="blake3:0", num_frames_V=lengths)
    videos = [order.sample(n).video for n in (0, 1, 10**12)]
    held = make_order(job_of(), "holdout", catalog_digest="blake3:0", num_frames_V=lengths)
    assert held.num_samples == 8_000_000
    assert time.process_time() - began < 1.0
    assert len(set(videos)) == 3


def test_uniform_clips_take_one_frame_of_each_equal_part():
    order = order_of(job_of(Clip(frames=4, sampling="uniform"), holdout=0.5), [80])
    seen = np.array([order.sample(n).frame_indices_T for n in range(300)])
    assert seen.min(axis=0).tolist() == [0, 10, 20, 30]
    assert seen.max(axis=0).tolist() == [9, 19, 29, 39]
    held = order_of(
        job_of(Clip(frames=4, sampling="uniform"), holdout=0.5, eval_clips_per_video=2),
        [80],
        "holdout",
    )
    assert held.sample(0).frame_indices_T.tolist() == [42, 52, 62, 72]
    assert held.sample(1).frame_indices_T.tolist() == [47, 57, 67, 77]


def test_dense_clips_walk_through_the_whole_video():
    order = order_of(job_of(Clip(frames=4, stride=2, sampling="dense"), holdout=0.0), [30, 30])
    shown = [order.sample(n).frame_indices_T for n in range(20) if order.video_of(n) == 0]
    assert [int(frames[0]) for frames in shown[:4]] == [0, 7, 14, 21]


def test_three_windows_of_a_held_out_clip_follow_each_other():
    job = job_of(Clip(frames=2, stride=1), holdout=0.5, eval_clips_per_video=2, eval_crops=3)
    order = order_of(job, [80], "holdout")
    samples = [order.sample(n) for n in range(order.num_samples)]
    assert len(samples) == 6
    assert [int(s.frame_indices_T[0]) for s in samples[::3]] == [49, 69]
    assert all(np.array_equal(s.frame_indices_T, samples[0].frame_indices_T) for s in samples[:3])
    offsets = [int(s.crop_left_share * 201) for s in samples[:3]]
    assert offsets == [0, 100, 200]


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=30), st.integers(0, 99), st.data())
def test_class_balanced_epochs_give_every_label_its_share(labels, epoch, data):
    job = job_of(weights="class-balanced", clips_per_video=2)
    order = make_order(
        job,
        "train",
        catalog_digest="blake3:0",
        num_frames_V=np.full(len(labels), 80, np.int64),
        labels=lambda: labels,
    )
    numbers = range(epoch * order.epoch_size, (epoch + 1) * order.epoch_size)
    videos = [order.video_of(n) for n in numbers]
    share = order.epoch_size / len(set(labels))
    counts = Counter(videos)
    for label in set(labels):
        rows = [row for row, name in enumerate(labels) if name == label]
        mean = share / len(rows)
        assert all(abs(counts[row] - mean) < 1 + 1e-6 for row in rows)
    video = data.draw(st.integers(0, len(labels) - 1))
    assert order.places_of(video, epoch) == [
        n for n, row in zip(numbers, videos, strict=True) if row == video
    ]
