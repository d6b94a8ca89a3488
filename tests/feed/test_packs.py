"""Packs in the feed: images are clips like any other, and what is drawn on them stays on them."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from filmgate.catalog import Catalog, open_catalog
from filmgate.errors import UserError
from filmgate.feed import ClipReader, open_feed
from filmgate.feed.annotations import Annotator
from filmgate.feed.detection import class_maps, detection_targets, padded
from filmgate.pack import open_pack
from filmgate.pack.make import pack_images
from filmgate.work import LocalExecutor
from tests.feed.conftest import job_of
from tests.pack.images import write_images, write_pixels

HERE = LocalExecutor(workers=0)
NUM_IMAGES = 12


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """Black images with a white rectangle, its box and its mask."""
    folder = tmp_path_factory.mktemp("marked")
    drawn = np.random.default_rng(0)
    images, annotations = [], []
    for number in range(NUM_IMAGES):
        height, width = drawn.integers(70, 160, 2).tolist()
        x1, y1 = int(drawn.integers(0, width - 40)), int(drawn.integers(0, height - 40))
        x2, y2 = x1 + int(drawn.integers(24, 40)), y1 + int(drawn.integers(24, 40))
        pixels = np.zeros((height, width, 3), np.uint8)
        pixels[y1:y2, x1:x2] = 255
        write_pixels(folder / "images" / f"{number:02}.png", pixels)
        images.append(
            {"id": number, "file_name": f"{number:02}.png", "width": width, "height": height}
        )
        annotations.append(
            {"id": number, "image_id": number, "category_id": 4, "bbox": [x1, y1, x2 - x1, y2 - y1],
             "segmentation": [[x1, y1, x2, y1, x2, y2, x1, y2]], "track_id": 100 + number}
        )  # fmt: skip
    file = {"images": images, "annotations": annotations,
            "categories": [{"id": 4, "name": "thing"}]}  # fmt: skip
    (folder / "coco.json").write_text(json.dumps(file))
    pack_images(
        folder / "images", folder / "pack", labels=None, executor=HERE,
        annotations=[f"coco:{folder / 'coco.json'}"],
    )  # fmt: skip
    return open_catalog(folder / "pack")


JOBS: dict[str, dict[str, object]] = {
    "plain": {},
    "random window": {"crop": "random", "flip": True},
    "random resized": {"crop": "random-resized", "flip": True},
    "planes": {"crop": "random", "flip": True, "transport": "yuv420p"},
    "resized planes": {"crop": "random-resized", "flip": True, "transport": "yuv420p"},
}


@pytest.mark.parametrize("keys", JOBS.values(), ids=JOBS)
def test_boxes_and_masks_lie_on_what_they_were_drawn_on(
    marked: Catalog, keys: dict[str, object]
) -> None:
    job = job_of(frames=1, stride=1, holdout=0.0, batch_size=6, **keys)
    num_seen = 0
    with open_feed(job, marked) as feed, Annotator(marked, job) as annotator:
        for batch, _ in zip(feed, range(6), strict=False):
            found = detection_targets(batch, annotator, with_masks=True)
            assert len(found.targets) == 6
            for frame_CHW, target in zip(batch.frames_BTCHW[:, 0], found.targets, strict=True):
                seen_HW = frame_CHW[1].numpy() > 127
                num_seen += len(target["boxes"])
                check_alike(seen_HW, target)
    assert num_seen > 20


def check_alike(seen_HW: np.ndarray, target: dict[str, torch.Tensor]) -> None:
    """The white pixels are those of the box and of the mask, edges apart."""
    if len(target["boxes"]) == 0:
        assert seen_HW.mean() < 0.06, "only a sliver may be missed"
        return
    x1, y1, x2, y2 = target["boxes"][0].tolist()
    slack = 3.0  # a small part is enlarged up to four times
    y, x = (np.arange(side) + 0.5 for side in seen_HW.shape)

    def within(out: float) -> np.ndarray:
        """Pixels in the box, grown by so much."""
        rows, columns = (y > y1 - out) & (y < y2 + out), (x > x1 - out) & (x < x2 + out)
        return rows[:, None] & columns[None]

    assert seen_HW[within(-slack)].all()
    assert not seen_HW[~within(slack)].any()
    mask_HW = target["masks"][0].numpy() > 0
    assert np.array_equal(mask_HW & within(-1), within(-1))
    assert not (mask_HW & ~within(1)).any()


def test_targets_are_those_of_torchvisions_detectors(marked: Catalog) -> None:
    job = job_of(frames=1, stride=1, holdout=0.0, batch_size=NUM_IMAGES, height=120, width=120)
    with open_feed(job, marked) as feed, Annotator(marked, job) as annotator:
        batch = next(feed)
        found = detection_targets(batch, annotator)
        assert annotator.classes == ["thing"]
    for target in found.targets:
        number = len(target["labels"])
        assert target["boxes"].shape == (number, 4) and target["boxes"].dtype == torch.float32
        assert (target["boxes"][:, 2:] > target["boxes"][:, :2]).all()
        assert target["labels"].tolist() == [1] * number
        assert target["iscrowd"].tolist() == [0] * number
        assert "masks" not in target
        rows = target["track_ids"] - 100
        assert rows.tolist() == [int(target["image_id"])] * number
    assert batch.video_B.tolist() == [int(target["image_id"]) for target in found.targets]
    assert (
        sum(found.num_dropped.values()) + sum(len(target["labels"]) for target in found.targets)
        == NUM_IMAGES
    )


def test_objects_that_hardly_show_are_dropped_and_counted(marked: Catalog) -> None:
    job = job_of(frames=1, stride=1, holdout=0.0, batch_size=12, crop="random-resized")
    with open_feed(job, marked) as feed, Annotator(marked, job) as annotator:
        batch = next(feed)
        all_of_them = detection_targets(batch, annotator)
        whole = detection_targets(batch, annotator, min_visible_share=0.999)
        large = detection_targets(batch, annotator, min_side=1000.0)
    assert whole.num_dropped["barely-visible"] > 0
    num_objects = sum(len(target["labels"]) for target in all_of_them.targets)
    assert large.num_dropped["too-small"] >= num_objects > 0
    assert all(len(target["labels"]) == 0 for target in large.targets)


def test_padded_targets_have_one_length(marked: Catalog) -> None:
    targets = [
        {"boxes": torch.ones((n, 4)), "labels": torch.arange(n), "track_ids": torch.arange(n)}
        for n in (2, 0, 1)
    ]
    out = padded(targets)
    assert out["boxes"].shape == (3, 2, 4)
    assert out["labels"].tolist() == [[0, 1], [-1, -1], [0, -1]]
    assert out["valid"].tolist() == [[True, True], [False, False], [True, False]]
    assert padded([])["boxes"].shape == (0, 0, 4)


def test_class_maps_are_int64_with_the_background_asked_for(marked: Catalog) -> None:
    job = job_of(frames=1, stride=1, holdout=0.0, batch_size=6)
    with open_feed(job, marked) as feed, Annotator(marked, job) as annotator:
        batch = next(feed)
        maps = class_maps(batch, annotator, background=-100)
    assert maps.shape == (6, 1, 48, 64) and maps.dtype == torch.int64
    assert set(maps.unique().tolist()) == {-100, 0}
    white = batch.frames_BTCHW[:, :, 1] > 127
    assert ((maps == 0) == white).float().mean() > 0.97


def test_a_masked_clip_has_no_objects(marked: Catalog) -> None:
    job = job_of(frames=1, stride=1, holdout=0.0, batch_size=6)
    with open_feed(job, marked) as feed, Annotator(marked, job) as annotator:
        batch = next(feed)
        masked = replace(batch, samples=(None, *batch.samples[1:]))
        targets = detection_targets(masked, annotator, with_masks=True).targets
        assert len(targets[0]["boxes"]) == 0 and targets[0]["masks"].shape == (0, 48, 64)
        assert (class_maps(masked, annotator, background=7)[0] == 7).all()


def test_mixed_clips_have_no_boxes(marked: Catalog) -> None:
    job = job_of(frames=1, stride=1, holdout=0.0, batch_size=6, mixup_alpha=0.4)
    with open_feed(job, marked) as feed:
        batch = next(feed)
    with Annotator(marked, job) as annotator, pytest.raises(UserError, match="mixed"):
        detection_targets(batch, annotator)


def test_a_reader_and_its_annotations_agree(marked: Catalog) -> None:
    with ClipReader(marked, size=(90, 70)) as reader, Annotator(marked) as annotator:
        again = pickle.loads(pickle.dumps(annotator))
        for video in range(NUM_IMAGES):
            frame = again.read(video, [0], size=(90, 70))[0]
            seen = reader.read(video, [0])[0][..., 1] > 127
            if len(frame):
                x1, y1, x2, y2 = np.round(frame.boxes_N4[0]).astype(int)
                inside = seen[y1 + 2 : y2 - 2, x1 + 2 : x2 - 2]
                assert inside.all()


def test_tracks_keep_their_ids_over_the_frames_of_a_clip(tmp_path: Path) -> None:
    write_images(tmp_path / "in" / "walk", 12)
    boxes = "".join(
        f'<box frame="{f}" outside="0" xtl="{5 * f}" ytl="10" xbr="{5 * f + 20}" ybr="30"/>'
        for f in (0, 11)
    )
    xml = tmp_path / "walk.xml"
    xml.write_text(f'<annotations><track id="9" label="man">{boxes}</track></annotations>')
    pack_images(
        tmp_path / "in", tmp_path / "pack", kind="frames", annotations=[f"cvat:{xml}"],
        executor=HERE,
    )  # fmt: skip
    catalog = open_catalog(tmp_path / "pack")
    job = job_of(holdout=0.0, height=64, width=96, batch_size=2, flip=False)
    with open_feed(job, catalog) as feed, Annotator(catalog, job) as annotator:
        batch = next(feed)
        clips = annotator.of_samples(batch.samples)
        targets = detection_targets(batch, annotator).targets
    assert len(targets) == 2 * 4
    for clip, indices_T in zip(clips, batch.frame_indices_BT.tolist(), strict=True):
        assert clip is not None
        for frame, index in zip(clip, indices_T, strict=True):
            assert frame.track_ids_N.tolist() == [0]
            assert np.allclose(frame.boxes_N4[0], [5 * index, 10, 5 * index + 20, 30])


def test_a_pack_gives_the_same_batches_with_and_without_workers(marked: Catalog) -> None:
    digests, pixels = [], []
    for workers in (0, 2):
        job = job_of(workers, frames=1, stride=1, holdout=0.0, batch_size=4, crop="random")
        with open_feed(job, marked) as feed:
            batches = [next(feed) for _ in range(5)]
        digests.append([batch.samples_digest for batch in batches])
        pixels.append(torch.cat([batch.frames_BTCHW for batch in batches]))
    assert digests[0] == digests[1]
    assert torch.equal(pixels[0], pixels[1])


def test_a_feed_over_a_pack_goes_on_where_it_stood(marked: Catalog) -> None:
    job = job_of(frames=1, stride=1, holdout=0.0, batch_size=4)
    with open_feed(job, marked) as feed:
        [next(feed) for _ in range(2)]
        state = feed.state_dict()
        wanted = next(feed)
    with open_feed(job, marked) as feed:
        feed.load_state_dict(state)
        got = next(feed)
    assert got.video_ids == wanted.video_ids
    assert torch.equal(got.frames_BTCHW, wanted.frames_BTCHW)


def test_a_damaged_image_of_a_pack_follows_on_error(tmp_path: Path) -> None:
    write_images(tmp_path / "in", 8)
    pack = pack_images(tmp_path / "in", tmp_path / "pack", labels=None, executor=HERE)
    row = pack.row(3)
    shard = pack.path / "shards" / row.shard
    content = bytearray(shard.read_bytes())
    content[row.offset + 60] ^= 255
    shard.write_bytes(content)
    job = job_of(frames=1, stride=1, holdout=0.0, batch_size=8, on_error="skip", error_budget=1.0)
    with open_feed(job, open_catalog(pack.path)) as feed:
        batch = next(feed)
        stats = feed.stats()
    assert int(batch.valid_B.sum()) == 7
    assert stats.num_skipped == 1 and "0003.png" in str(stats.skipped[0])


def test_a_catalog_without_annotations_is_refused(tmp_path: Path) -> None:
    write_images(tmp_path / "in", 1)
    pack_images(tmp_path / "in", tmp_path / "pack", executor=HERE)
    with pytest.raises(UserError, match="has no annotations") as caught:
        Annotator(open_catalog(tmp_path / "pack"))
    assert "--annotations" in caught.value.hint


def test_a_pack_and_a_catalog_of_another_state_are_refused(tmp_path: Path) -> None:
    write_images(tmp_path / "in", 2)
    pack_images(tmp_path / "in", tmp_path / "pack", executor=HERE)
    write_images(tmp_path / "in", 3)
    pack_images(tmp_path / "in", tmp_path / "other", executor=HERE)
    (tmp_path / "pack" / "pack.json").write_bytes((tmp_path / "other" / "pack.json").read_bytes())
    with pytest.raises(UserError, match="another state"):
        ClipReader(open_catalog(tmp_path / "pack"))
    assert len(open_pack(tmp_path / "other")) == 3


def test_images_in_train_and_val_folders_are_trained_on_and_evaluated_apart(
    tmp_path: Path,
) -> None:
    for split, first, count in (("train", 0, 6), ("val", 6, 4), ("test", 10, 2)):
        for label in ("a", "b"):
            write_images(tmp_path / "in" / split / label, count, first=first)
    catalog = open_catalog(pack_images(tmp_path / "in", tmp_path / "p", executor=HERE).path)
    seen = {}
    for split in ("train", "holdout"):
        job = job_of(frames=1, stride=1, holdout=0.0, batch_size=4)
        with open_feed(job, catalog, split=split) as feed:
            assert feed.epoch_size == (12 if split == "train" else 8)
            seen[split] = [name for _ in range(feed.epoch_size // 4) for name in
                           next(feed).video_ids]  # fmt: skip
            assert feed.stats().num_never_shown == 0
    assert {name.split("/")[0] for name in seen["train"]} == {"train"}
    assert sorted(seen["holdout"]) == [f"val/{a}/{n:04}.png" for a in "ab" for n in range(6, 10)]


def test_images_without_a_split_are_held_out_by_sample_as_much_of_each_label(
    tmp_path: Path,
) -> None:
    for place, label in enumerate("ab"):
        write_images(tmp_path / "in" / label, 8, first=8 * place)
    catalog = open_catalog(pack_images(tmp_path / "in", tmp_path / "p", executor=HERE).path)
    job = job_of(frames=1, stride=1, holdout=0.25, batch_size=4)
    with open_feed(job, catalog) as feed:
        trained = {name for _ in range(6) for name in next(feed).video_ids}
    with open_feed(job, catalog, split="holdout") as feed:
        held = [name for batch in feed for name in batch.video_ids]
    assert len(trained) == 12 and sorted(name[0] for name in held) == ["a", "a", "b", "b"]
    assert not trained & set(held) and len(trained | set(held)) == 16


def test_folders_of_frames_without_a_split_are_held_out_by_time(tmp_path: Path) -> None:
    write_images(tmp_path / "in" / "walk", 40)
    pack = pack_images(tmp_path / "in", tmp_path / "p", kind="frames", executor=HERE)
    job = job_of(frames=2, stride=1, holdout=0.25, batch_size=2, eval_clips_per_video=2)
    with open_feed(job, open_catalog(pack.path), split="holdout") as feed:
        indices = np.concatenate([batch.frame_indices_BT.ravel() for batch in feed])
    assert indices.min() >= 30
