"""Random resized crops through the whole feed."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest
import torch

from filmgate.catalog import Catalog, index_videos
from filmgate.catalog.order_over import order_over
from filmgate.errors import UserError
from filmgate.feed import open_feed
from filmgate.feed.cropper import grid_of
from tests.feed.conftest import job_of
from tests.feed.test_feed import all_same, batches, take
from tests.feed.test_region import scaled_plainly
from tests.footage import write_video

CROP = {"crop": "random-resized"}


@pytest.mark.parametrize("keys", [{}, {"sampling": "uniform", "stride": None}, {"fps": 10.0}])
def test_workers_and_looking_ahead_change_no_pixel(catalog, keys):
    plain = batches(catalog, 8, **CROP, **keys)
    assert all_same(plain, batches(catalog, 8, 2, **CROP, **keys))
    assert all_same(plain, batches(catalog, 8, 1, lookahead=3, cache="1GB", **CROP, **keys))
    assert not all_same(plain, batches(catalog, 8, **keys))


def decoded(path: Path) -> list[av.VideoFrame]:
    with av.open(str(path)) as container:
        return list(container.decode(video=0))


def test_all_frames_of_a_clip_show_the_rectangle_of_the_plain_way(catalog):
    job = job_of(0, **CROP)
    order = order_over(job, catalog, "train", catalog.frame_table)
    for batch in batches(catalog, 3, **CROP):
        for row in range(4):
            sample = order.sample(batch.sample_start + row)
            facts = catalog.video(sample.video)
            frames = decoded(Path(facts.path))
            assert sample.resized_crop is not None
            rectangle = sample.resized_crop.rectangle((facts.height, facts.width))
            for place, index in enumerate(sample.frame_indices_T.tolist()):
                top, left, height, width = on_grid(frames[index], rectangle)
                cut = crop(frames[index], top, left, height, width)
                wanted = scaled_plainly(cut, (48, 64))
                wanted = wanted[:, ::-1] if sample.flip else wanted
                got = batch.frames_BTCHW[row, place].permute(1, 2, 0).numpy()
                assert np.abs(got.astype(int) - wanted).max() <= 1


def on_grid(frame: av.VideoFrame, rectangle: tuple[int, ...]) -> tuple[int, int, int, int]:
    """To the nearest even number, as the frames are 4:2:0 of even sizes."""
    assert grid_of(frame) == (2, 2)
    top, left, height, width = rectangle
    rows = [(edge + 1) // 2 * 2 for edge in (top, top + height)]
    columns = [(edge + 1) // 2 * 2 for edge in (left, left + width)]
    return rows[0], columns[0], rows[1] - rows[0], columns[1] - columns[0]


def crop(frame: av.VideoFrame, top: int, left: int, height: int, width: int) -> av.VideoFrame:
    """By libavfilter, in a graph of its own."""
    graph = av.filter.Graph()
    graph.link_nodes(
        graph.add_buffer(
            width=frame.width, height=frame.height, format=frame.format, time_base=frame.time_base
        ),
        graph.add("crop", f"{width}:{height}:{left}:{top}"),
        graph.add("buffersink"),
    ).configure()
    graph.push(frame)
    return graph.pull()


def test_ranks_share_the_same_crops(catalog):
    whole = batches(catalog, 4, **CROP)
    for rank in (0, 1):
        with open_feed(job_of(0, **CROP), catalog, rank=rank, world_size=2) as feed:
            for batch, part in zip(whole, take(feed, 4), strict=True):
                wanted = batch.frames_BTCHW[2 * rank : 2 * rank + 2]
                assert torch.equal(part.frames_BTCHW, wanted)


def test_held_out_clips_are_cut_from_the_middle_as_ever(catalog):
    clips = []
    for crop_kind in ("centre", "random-resized"):
        with open_feed(job_of(0, crop=crop_kind), catalog, split="holdout") as feed:
            clips.append(torch.cat([batch.frames_BTCHW for batch in feed]))
    assert torch.equal(*clips)


def test_odd_sizes_are_cropped_too(tmp_path):
    (tmp_path / "v").mkdir()
    write_video(tmp_path / "v" / "a.mp4", width=97, height=63, pixel_format="yuv444p")
    odd: Catalog = index_videos([tmp_path / "v"], tmp_path / "catalog", workers=0)
    plain = batches(odd, 4, holdout=0.0, **CROP)
    assert all_same(plain, batches(odd, 4, 1, holdout=0.0, **CROP))


def test_a_cache_of_decoded_frames_is_refused(catalog):
    with pytest.raises(UserError, match="random-resized") as caught:
        open_feed(job_of(0, cache="1GB", **CROP), catalog)
    assert "lookahead" in caught.value.hint
    with open_feed(job_of(0, cache="1GB", **CROP), catalog, split="holdout") as feed:
        next(feed)


def test_a_state_of_other_settings_is_refused_and_the_setting_named(catalog):
    with open_feed(job_of(0, **CROP), catalog) as feed:
        state = feed.state_dict()
    difference = r"augment\.crop_scale was \(0\.08, 1\.0\), is \(0\.5"
    with (
        open_feed(job_of(0, crop_scale=(0.5, 1.0), **CROP), catalog) as feed,
        pytest.raises(UserError, match=difference),
    ):
        feed.load_state_dict(state)


def test_weights_in_a_file_that_changes_under_a_feed_are_noticed(catalog, tmp_path):
    file = tmp_path / "weights.csv"
    ids = catalog.column("video_id").to_pylist()
    file.write_text("video,weight\n" + "\n".join(f"{name},1" for name in ids))
    job = job_of(1, weights=str(file))
    with open_feed(job, catalog) as feed:
        state = feed.state_dict()
        next(feed)
        file.write_text("video,weight\n" + "\n".join(f"{name},{n}" for n, name in enumerate(ids)))
        feed.load_state_dict(state)
        with pytest.raises(UserError, match="has changed since the feed was opened"):
            next(feed)
    with open_feed(job, catalog) as feed:
        with pytest.raises(UserError, match="weights_digest was blake3"):
            feed.load_state_dict(state)
        videos = {int(video) for batch in take(feed, 12) for video in batch.video_B}
        assert videos == {1, 2, 3}
        assert feed.stats().num_never_shown == 1
