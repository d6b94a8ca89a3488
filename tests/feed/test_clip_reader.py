from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from filmgate.catalog import Catalog, index_videos
from filmgate.errors import UserError
from filmgate.feed import ClipReader
from tests.footage import picture, read_index

CORPUS = Path(__file__).resolve().parents[2].parent / "shared" / "videos"
needs_corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason="the video corpus is not here")


@pytest.fixture(scope="module")
def odd_videos(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """Videos with one quirk each."""
    names = ["R08_rot.mp4", "R13_sizechange.mkv", "R15_odd444.mp4", "bt2020_10bit.mp4"]
    paths = [CORPUS / "synthetic" / name for name in names]
    return index_videos(paths, tmp_path_factory.mktemp("odd"), workers=0)


def row_of(catalog: Catalog, name: str) -> int:
    rows = range(catalog.num_videos)
    return next(row for row in rows if catalog.video(row).path.endswith(name))


def test_frames_come_in_the_order_asked_for_repeats_included(catalog):
    with ClipReader(catalog) as reader:
        clip_THWC = reader.read(1, [30, 5, 5, 59, 0])
    assert clip_THWC.shape == (5, 64, 96, 3)
    assert [read_index(frame) for frame in clip_THWC] == [30, 5, 5, 59, 0]


def test_pixels_are_those_of_the_source_within_the_loss_of_its_codec(catalog):
    with ClipReader(catalog) as reader:
        (frame,) = reader.read(0, [10])
    difference = frame.astype(int) - picture(10, 96, 64, hue=20)
    assert np.abs(difference).mean() < 8


def test_sizes(catalog):
    assert ClipReader(catalog, size=(32, 32)).read(0, [0]).shape == (1, 32, 32, 3)
    assert ClipReader(catalog, short_side=32).read(0, [0]).shape == (1, 32, 48, 3)
    assert ClipReader(catalog, pixel_format="native").read(0, [0, 1]).shape == (2, 64 * 96 * 3 // 2)
    assert ClipReader(catalog).read(0, []).shape == (0, 64, 96, 3)


def test_native_frames_are_not_scaled(catalog):
    with pytest.raises(UserError, match="cannot be scaled"):
        ClipReader(catalog, size=(8, 8), pixel_format="native")


def test_what_is_not_there_is_an_index_error(catalog):
    with ClipReader(catalog) as reader:
        with pytest.raises(IndexError):
            reader.read(0, [60])
        with pytest.raises(IndexError):
            reader.read(4, [0])


@needs_corpus
def test_a_turned_video_is_read_upright(odd_videos):
    row = row_of(odd_videos, "R08_rot.mp4")
    facts = odd_videos.video(row)
    assert facts.rotation_degrees in (90, 270)
    clip_THWC = ClipReader(odd_videos).read(row, [0])
    assert clip_THWC.shape[1:3] == (facts.width, facts.height)


@needs_corpus
def test_a_size_change_on_the_way_fills_the_same_window(odd_videos):
    row = row_of(odd_videos, "R13_sizechange.mkv")
    count = odd_videos.video(row).num_frames
    clip_THWC = ClipReader(odd_videos, size=(48, 48)).read(row, [0, count - 1])
    assert clip_THWC.shape == (2, 48, 48, 3)
    assert all(frame.std() > 20 for frame in clip_THWC)


@needs_corpus
@pytest.mark.parametrize("name", ["R15_odd444.mp4", "bt2020_10bit.mp4"])
def test_odd_sizes_and_deep_samples_are_read(odd_videos, name):
    row = row_of(odd_videos, name)
    facts = odd_videos.video(row)
    clip_THWC = ClipReader(odd_videos).read(row, [0, facts.num_frames - 1])
    assert clip_THWC.shape == (2, facts.height, facts.width, 3)
    assert clip_THWC.std() > 20


@pytest.mark.parametrize("pixel_format", ["rgb24", "yuv420p", "native"])
def test_many_clips_at_once_are_the_clips_one_by_one(catalog, pixel_format):
    requests = [(1, [4, 8, 12]), (0, [30, 5, 5]), (1, [8, 59]), (0, [])]
    with ClipReader(catalog, pixel_format=pixel_format) as reader:
        many = reader.read_many(requests)
        for (video, indices), clip in zip(requests, many, strict=True):
            if indices:
                assert (clip == reader.read(video, indices)).all()


def test_clips_of_one_visit_share_what_is_decoded(catalog):
    requests = [(2, list(range(start, start + 16, 4))) for start in (3, 11, 5, 20)]
    with ClipReader(catalog) as one, ClipReader(catalog) as many:
        for video, indices in requests:
            one.read(video, indices)
        many.read_many(requests)
        decoded = [reader._videos.get(2).reader.num_decoded for reader in (one, many)]
    assert decoded[1] < decoded[0]


def test_a_clip_is_contiguous_with_channels_first(catalog):
    with ClipReader(catalog) as reader:
        assert reader.read(0, [1, 2]).transpose(0, 3, 1, 2).flags.c_contiguous
