"""Annotation formats, each read into one shape; what does not fit is counted and listed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from filmgate.catalog import open_catalog
from filmgate.errors import UserError
from filmgate.pack import Pack
from filmgate.pack.annotate import AnnotationRules
from filmgate.pack.make import pack_images
from filmgate.pack.mask import Polygons, Runs, mask_pixels
from filmgate.pack.yolo import yaml_names
from filmgate.work import LocalExecutor
from tests.pack.images import write_image, write_images, write_pixels

HERE = LocalExecutor(workers=0)
SIZE = (64, 96)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_images(tmp_path / "images" / "train", 4).parent


def packed(folder: Path, *annotations: str, kind: Any = "images", **rules: Any) -> Pack:
    return pack_images(
        folder, folder.parent / "out", kind=kind, annotations=annotations,
        rules=AnnotationRules(**rules), executor=HERE,
    )  # fmt: skip


def faults_of(pack: Pack) -> dict[tuple[str, str], int]:
    assert pack.header.annotations is not None
    return {(one.kind, one.done): one.count for one in pack.header.annotations.faults}


def coco(folder: Path, annotations: list[dict[str, Any]], **changes: Any) -> str:
    file = {
        "images": [
            {"id": 10 + n, "file_name": f"{n:04}.png", "width": 96, "height": 64} for n in range(4)
        ],
        "categories": [{"id": 3, "name": "dog"}, {"id": 1, "name": "cat"}],
        "annotations": [{"id": n, "iscrowd": 0, **one} for n, one in enumerate(annotations)],
        **changes,
    }
    path = folder.parent / "instances.json"
    path.write_text(json.dumps(file))
    return f"coco:{path}"


def test_coco_boxes_polygons_and_crowds(folder: Path) -> None:
    pixels = np.zeros(SIZE, np.bool_)
    pixels[5:9, 2:30] = True
    runs = [5 + 2 * 64] + [4, 60] * 27 + [4, 64 * 96 - 5 - 2 * 64 - 64 * 27 - 4]
    pack = packed(
        folder,
        coco(
            folder,
            [
                {"image_id": 11, "category_id": 3, "bbox": [10, 20, 30, 15.5],
                 "segmentation": [[10, 20, 40, 20, 40, 35.5, 10, 35.5]]},
                {"image_id": 11, "category_id": 1, "bbox": [2, 5, 28, 4], "iscrowd": 1,
                 "segmentation": {"size": [64, 96], "counts": runs}},
                {"image_id": 13, "category_id": 1, "bbox": [0, 0, 96, 64]},
            ],
        ),
    )  # fmt: skip
    assert pack.classes == ["cat", "dog"]
    objects = pack.objects(1)
    assert objects.boxes_N4.tolist() == [[10, 20, 40, 35.5], [2, 5, 30, 9]]
    assert objects.classes_N.tolist() == [1, 0] and objects.is_crowd_N.tolist() == [False, True]
    assert isinstance(objects.masks[0], Polygons) and isinstance(objects.masks[1], Runs)
    assert mask_pixels(objects.masks[0], SIZE).sum() == 30 * 15
    assert np.array_equal(mask_pixels(objects.masks[1], SIZE), pixels)
    assert len(pack.objects(0)) == 0 and pack.objects(3).masks == (None,)
    facts = pack.header.annotations
    assert facts is not None and (facts.num_objects, facts.num_images) == (3, 2)
    assert faults_of(pack) == {("category-gap", "kept"): 1}


def test_what_does_not_fit_in_coco_is_counted_and_named(folder: Path) -> None:
    box = {"image_id": 10, "category_id": 1}
    pack = packed(
        folder,
        coco(
            folder,
            [
                {**box, "bbox": [90, 50, 10, 10]},
                {**box, "bbox": [5, 5, 0, 3]},
                {**box, "bbox": [200, 5, 10, 3]},
                {**box, "bbox": [1, 1, 5, 5], "category_id": 2},
                {**box, "bbox": [1, 1, 5, 5], "image_id": 99},
                {**box, "bbox": [1, 1, 5, 5], "id": 0},
                {**box, "bbox": [1, 1, 5, 5], "segmentation": [[1, 2, 3, 4]]},
                {**box, "bbox": [1, 1, 5, 5],
                 "segmentation": {"size": [64, 96], "counts": [1, 2]}},
                {**box},
            ],
            categories=[{"id": 1, "name": "cat"}],
            images=[{"id": 10, "file_name": "0000.png"}, {"id": 11, "file_name": "missing.png"}],
        ),
    )  # fmt: skip
    assert faults_of(pack) == {
        ("outside-picture", "kept"): 1, ("zero-area", "dropped"): 1,
        ("beside-picture", "dropped"): 1, ("unknown-category", "dropped"): 1,
        ("unknown-image-id", "dropped"): 1, ("duplicate-id", "dropped"): 1,
        ("bad-mask", "dropped"): 2, ("no-box", "dropped"): 1, ("unknown-image", "dropped"): 1,
    }  # fmt: skip
    assert pack.objects(0).boxes_N4.tolist() == [[90, 50, 100, 60]]
    facts = pack.header.annotations
    assert facts is not None
    examples = {one.kind: one.examples for one in facts.faults}
    assert examples["zero-area"] == ["instances.json: annotation 1"]


@pytest.mark.parametrize(
    ("outside", "boxes", "done"),
    [("keep", [[-5, 50, 20, 70]], "kept"), ("clip", [[0, 50, 20, 64]], "clipped"),
     ("drop", [], "dropped")],
)  # fmt: skip
def test_a_box_past_the_edge_follows_the_rule(
    folder: Path, outside: str, boxes: list[list[float]], done: str
) -> None:
    file = coco(folder, [{"image_id": 10, "category_id": 1, "bbox": [-5, 50, 25, 20]}])
    pack = packed(folder, file, outside=outside)
    assert pack.objects(0).boxes_N4.tolist() == boxes
    assert faults_of(pack)["outside-picture", done] == 1


@pytest.mark.parametrize(
    ("changes", "match"),
    [({"categories": [{"id": 1, "name": "a"}, {"id": 1, "name": "b"}]}, "two categories"),
     ({"images": [{"id": 1, "file_name": "a"}, {"id": 1, "file_name": "b"}]}, "two images"),
     ({"categories": "no"}, "is no COCO file")],
)  # fmt: skip
def test_a_coco_file_that_contradicts_itself_is_refused(
    folder: Path, changes: dict[str, Any], match: str
) -> None:
    with pytest.raises(UserError, match=match) as caught:
        packed(folder, coco(folder, [], **changes))
    assert caught.value.hint


@pytest.mark.parametrize("word", ["coco", "coco:", "voc:x", "instances.json", "coco:nowhere.json"])
def test_annotations_that_are_none_are_refused_with_a_hint(folder: Path, word: str) -> None:
    with pytest.raises(UserError) as caught:
        packed(folder, word)
    assert caught.value.hint


def test_two_images_of_one_name_are_ambiguous_unless_the_path_tells(tmp_path: Path) -> None:
    folder = tmp_path / "images"
    write_images(folder / "a", 1)
    write_images(folder / "b", 1)
    box = {"category_id": 1, "bbox": [1, 1, 5, 5]}
    images = [{"id": 1, "file_name": "0000.png"}, {"id": 2, "file_name": "data/b/0000.png"}]
    file = coco(folder, [{"image_id": 1, **box}, {"image_id": 2, **box}], images=images)
    pack = packed(folder, file)
    assert [len(pack.objects(row)) for row in (0, 1)] == [0, 1]
    assert faults_of(pack)["ambiguous-image", "dropped"] == 1


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("drawn_on", ["upright", "stored"])
def test_boxes_lie_on_the_upright_picture(tmp_path: Path, orientation: int, drawn_on: str) -> None:
    folder = tmp_path / "images"
    pixels = np.zeros((64, 96, 3), np.uint8)
    pixels[10:20, 30:70] = 255
    path = folder / "0000.png"
    path.parent.mkdir()
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.fromarray(pixels).save(path, exif=exif)
    from PIL import ImageOps

    with Image.open(path) as image:
        seen = np.asarray(ImageOps.exif_transpose(image))[..., 0] > 0
    rows, columns = np.flatnonzero(seen.any(1)), np.flatnonzero(seen.any(0))
    wanted = [columns[0], rows[0], columns[-1] + 1, rows[-1] + 1]
    x1, y1, x2, y2 = [30, 10, 70, 20] if drawn_on == "stored" else wanted
    size = pixels.shape[:2] if drawn_on == "stored" else seen.shape
    stored = np.zeros(size, np.bool_)
    stored[y1:y2, x1:x2] = True
    from filmgate.pack.mask import pixels_runs

    runs = {"size": list(size), "counts": pixels_runs(stored).counts.tolist()}
    box = {"image_id": 1, "category_id": 1, "bbox": [int(x1), int(y1), int(x2 - x1), int(y2 - y1)]}
    images = [{"id": 1, "file_name": "0000.png", "height": size[0], "width": size[1]}]
    file = coco(folder, [{**box, "segmentation": runs}], images=images)
    is_told = pixels.shape[:2] != seen.shape
    pack = packed(folder, file, drawn_on="auto" if is_told else drawn_on)
    objects = pack.objects(0)
    assert objects.boxes_N4.tolist() == [wanted]
    assert np.array_equal(mask_pixels(objects.masks[0], seen.shape), seen)  # type: ignore[arg-type]


def test_an_annotation_of_another_size_is_dropped(folder: Path) -> None:
    images = [{"id": 10, "file_name": "0000.png", "height": 100, "width": 100}]
    box = {"image_id": 10, "category_id": 1, "bbox": [1, 1, 5, 5]}
    assert (
        faults_of(packed(folder, coco(folder, [box], images=images)))["other-size", "dropped"] == 1
    )


def test_yolo_boxes_and_outlines(tmp_path: Path) -> None:
    root = tmp_path / "set"
    write_images(root / "images" / "train", 3)
    labels = root / "labels" / "train"
    labels.mkdir(parents=True)
    (labels / "0000.txt").write_text("1 0.5 0.5 0.25 0.5\n\n0 0 0 0.5 0 0.5 0.5 0 0.5\n")
    (labels / "0002.txt").write_text("7 0.5 0.5 0.1 0.1\nx y\n0 1 2 3\n")
    (labels / "0009.txt").write_text("0 0.5 0.5 0.1 0.1\n")
    (root / "data.yaml").write_text("path: .\ntrain: images/train\nnames:\n  0: cat\n  1: 'dog'\n")
    pack = packed(root, f"yolo:{root / 'data.yaml'}")
    assert pack.classes == ["cat", "dog"]
    objects = pack.objects(0)
    assert objects.boxes_N4.tolist() == [[36, 16, 60, 48], [0, 0, 48, 32]]
    assert objects.classes_N.tolist() == [1, 0]
    assert mask_pixels(objects.masks[1], SIZE).sum() == 48 * 32  # type: ignore[arg-type]
    assert faults_of(pack) == {
        ("unknown-category", "dropped"): 1, ("bad-line", "dropped"): 2,
        ("unknown-image", "dropped"): 1,
    }  # fmt: skip


def test_yolo_without_names_calls_classes_by_number(folder: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels"
    labels.mkdir()
    (labels / "0001.txt").write_text("2 0.5 0.5 0.25 0.5\n")
    assert packed(folder, f"yolo:{labels}").classes == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("names: [cat, 'big dog']\nnc: 2\n", ["cat", "big dog"]),
        ("nc: 2\nnames:\n- cat\n- dog\n", ["cat", "dog"]),
        ("names:\n  - cat # small\n  - dog\nnc: 2\n", ["cat", "dog"]),
        ("names: {0: cat, 1: dog}\n", ["cat", "dog"]),
        ("names:\n  1: dog\n  0: cat\ntrain: x\n", ["cat", "dog"]),
        ("names:\n  0: cat\n  2: dog\n", []),
        ("names: [cat,\n  dog]\n", ["cat", "dog"]),
        ("nc: 3\n", []),
    ],
)
def test_names_of_a_data_yaml(text: str, names: list[str]) -> None:
    assert yaml_names(text) == names


def test_semantic_masks_are_an_object_for_each_class(folder: Path, tmp_path: Path) -> None:
    numbers = np.zeros(SIZE, np.uint8)
    numbers[10:20, 5:50] = 2
    numbers[40:64, 90:96] = 1
    numbers[0:3] = 255
    write_pixels(tmp_path / "masks" / "0001.png", numbers)
    palette = Image.fromarray(numbers, mode="P") if False else Image.fromarray(numbers)
    palette = palette.convert("L")
    paletted = Image.new("P", (96, 64))
    paletted.putpalette([0, 0, 0, 9, 9, 9, 128, 64, 0] + [1] * 759)
    paletted.putdata(palette.tobytes())
    paletted.save(tmp_path / "masks" / "0002.png")
    pack = packed(folder, f"masks:{tmp_path / 'masks'}")
    assert pack.classes == ["1", "2"]
    for row in (1, 2):
        objects = pack.objects(row)
        assert objects.classes_N.tolist() == [0, 1]
        assert objects.boxes_N4.tolist() == [[90, 40, 96, 64], [5, 10, 50, 20]]
        for number, mask in zip((1, 2), objects.masks, strict=True):
            assert mask is not None
            assert np.array_equal(mask_pixels(mask, SIZE), numbers == number)


def test_instance_masks_are_an_object_for_each_number(folder: Path, tmp_path: Path) -> None:
    numbers = np.zeros(SIZE, np.uint16)
    numbers[1:4, 1:4], numbers[10:20, 10:20] = 700, 3
    write_pixels(tmp_path / "masks" / "0003.png", numbers)
    Image.fromarray(np.zeros((*SIZE, 3), np.uint8)).save(tmp_path / "masks" / "0002.png")
    pack = packed(folder, f"instances:{tmp_path / 'masks'}")
    assert pack.classes == ["object"]
    assert pack.objects(3).boxes_N4.tolist() == [[10, 10, 20, 20], [1, 1, 4, 4]]
    assert faults_of(pack) == {("bad-mask", "dropped"): 1}


CVAT = """<?xml version="1.0" encoding="utf-8"?>
<annotations><version>1.1</version>
<meta><task><name>walk</name><original_size><width>96</width><height>64</height></original_size>
<labels><label><name>person</name></label><label><name>ball</name></label></labels></task></meta>
<track id="0" label="person">
  <box frame="0" keyframe="1" outside="0" xtl="10" ytl="10" xbr="20" ybr="30"/>
  <box frame="4" keyframe="1" outside="0" xtl="30" ytl="14" xbr="44" ybr="34"/>
  <box frame="5" keyframe="1" outside="1" xtl="30" ytl="14" xbr="44" ybr="34"/>
  <box frame="7" keyframe="1" outside="0" xtl="0" ytl="0" xbr="8" ybr="8"/>
</track>
<track id="1" label="ball">
  <polygon frame="2" keyframe="1" outside="0" points="10,10;20,10;20,20"/>
  <polygon frame="4" keyframe="1" outside="1" points="10,10;20,10;20,20"/>
</track>
<track id="2" label="ball">
  <mask frame="3" keyframe="1" outside="0" rle="1, 2, 1, 2" left="5" top="6" width="3" height="2"/>
  <box frame="4" outside="0" xtl="40" ytl="20" xbr="60" ybr="40" rotation="45"/>
  <points frame="5" points="1,2"/>
  <box frame="5" outside="1" xtl="40" ytl="20" xbr="60" ybr="40"/>
</track>
<track id="1" label="ball"/>
</annotations>
"""


@pytest.fixture
def video(tmp_path: Path) -> Path:
    folder = tmp_path / "videos"
    write_images(folder / "walk", 9, first=100)
    write_images(folder / "other", 2)
    return folder


def test_cvat_tracks_go_on_between_key_frames(video: Path, tmp_path: Path) -> None:
    (tmp_path / "walk.xml").write_text(CVAT)
    pack = packed(video, f"cvat:{tmp_path / 'walk.xml'}", kind="frames")
    assert pack.classes == ["person", "ball"]
    first = pack.first_of_video(1)
    frames = [pack.objects(first + frame) for frame in range(9)]
    of_person = {
        frame: objects.boxes_N4[objects.track_ids_N == 0].tolist()
        for frame, objects in enumerate(frames)
    }
    assert of_person[0] == [[10, 10, 20, 30]]
    assert of_person[1] == [[15, 11, 26, 31]], "a quarter of the way"
    assert of_person[4] == [[30, 14, 44, 34]]
    assert of_person[5] == of_person[6] == [], "outside"
    assert of_person[7] == of_person[8] == [[0, 0, 8, 8]], "to the end"
    assert [len(frames[frame]) for frame in range(9)] == [1, 1, 2, 3, 2, 0, 0, 1, 1]
    assert frames[2].masks[1] is not None and frames[2].track_ids_N.tolist() == [0, 1]
    mask = frames[3].masks[2]
    assert isinstance(mask, Runs)
    pixels = np.zeros(SIZE, np.bool_)
    pixels[6, 6:8], pixels[7, 6:8] = True, True
    assert np.array_equal(mask_pixels(mask, SIZE), pixels)
    turned = frames[4].boxes_N4[1]
    half = 10 * np.sqrt(2)
    assert np.allclose(turned, [50 - half, 30 - half, 50 + half, 30 + half])
    facts = pack.header.annotations
    assert facts is not None and facts.num_tracks == 3
    assert faults_of(pack) == {("unknown-shape", "dropped"): 1, ("duplicate-id", "dropped"): 1}


def test_cvat_frames_are_counted_over_broken_ones(video: Path, tmp_path: Path) -> None:
    (video / "walk" / "0101.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (tmp_path / "walk.xml").write_text(CVAT)
    pack = packed(video, f"cvat:{tmp_path / 'walk.xml'}", kind="frames")
    first = pack.first_of_video(1)
    assert pack.row(first + 3).image_id == "walk/0104.png"
    assert pack.objects(first + 3).boxes_N4[0].tolist() == [30, 14, 44, 34], "frame 4 of the task"
    assert faults_of(pack)["unknown-image", "dropped"] == 1


def test_a_cvat_file_about_no_video_is_counted(video: Path, tmp_path: Path) -> None:
    (tmp_path / "what.xml").write_text(CVAT.replace(">walk<", ">what<"))
    pack = packed(video, f"cvat:{tmp_path / 'what.xml'}", kind="frames")
    assert faults_of(pack) == {("unknown-video", "dropped"): 4}


@pytest.mark.parametrize("text", ["", "<annotations", "<html/>"])
def test_a_file_that_is_not_cvats_is_refused(video: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "walk.xml").write_text(text)
    with pytest.raises(UserError) as caught:
        packed(video, f"cvat:{tmp_path / 'walk.xml'}", kind="frames")
    assert "CVAT for video" in caught.value.hint


def test_other_annotations_make_another_pack_of_the_same_shards(folder: Path) -> None:
    box = {"image_id": 10, "category_id": 1, "bbox": [1, 1, 5, 5]}
    one = packed(folder, coco(folder, [box]))
    other = packed(folder, coco(folder, [{**box, "bbox": [1, 1, 6, 5]}]))
    assert other.header.num_made == 0 and other.header.shards == one.header.shards
    assert other.header.digest != one.header.digest
    assert other.objects(0).boxes_N4.tolist() == [[1, 1, 7, 6]]
    none = packed(folder)
    assert none.header.annotations is None and len(none.objects(0)) == 0


def test_an_image_file_is_enough_for_a_box(tmp_path: Path) -> None:
    write_image(tmp_path / "in" / "0000.png")
    file = coco(tmp_path / "in", [{"image_id": 10, "category_id": 1, "bbox": [1, 1, 5, 5]}])
    assert len(packed(tmp_path / "in", file).objects(0)) == 1


def test_a_coco_file_says_the_split_that_its_name_says(tmp_path: Path) -> None:
    folder = write_images(tmp_path / "images", 4)
    words = []
    for split, numbers in (("train2017", (0, 1)), ("val2017", (2,))):
        images = [{"id": n, "file_name": f"{n:04}.png"} for n in numbers]
        path = tmp_path / f"instances_{split}.json"
        path.write_text(json.dumps({"images": images, "categories": [], "annotations": []}))
        words.append(f"coco:{path}")
    pack = packed(folder, *words)
    assert pack.column("split").to_pylist() == ["train", "train", "val", None]
    assert open_catalog(pack.path).splits == ["train", "train", "val", None]
    images = [{"id": 0, "file_name": "0002.png"}]
    (tmp_path / "test.json").write_text(
        json.dumps({"images": images, "categories": [], "annotations": []})
    )
    with pytest.raises(UserError, match=r"0002\.png is val in .* and test in test\.json"):
        packed(folder, *words, f"coco:{tmp_path / 'test.json'}")


def test_a_split_changes_the_digests_of_pack_and_catalog(tmp_path: Path) -> None:
    plain = packed(write_images(tmp_path / "a" / "images", 3))
    again = packed(write_images(tmp_path / "b" / "val" / "images", 3))
    (tmp_path / "c" / "images" / "val").mkdir(parents=True)
    split = packed(write_images(tmp_path / "c" / "images" / "val", 3).parent)
    digests = [open_catalog(one.path).digest for one in (plain, again)]
    assert digests[0] == digests[1], "a folder above the packed one says nothing"
    assert split.column("split").to_pylist() == ["val"] * 3
    assert split.header.digest != plain.header.digest
