"""Packing: what is in the shards, what is left out, and what packing again does."""

from __future__ import annotations

import multiprocessing
import os
import random
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from filmgate.catalog import open_catalog
from filmgate.catalog.rows import FileStamp
from filmgate.errors import UnreadableVideo, UserError
from filmgate.feed import ClipReader
from filmgate.pack import Pack, open_pack
from filmgate.pack.find import FoundImage, frame_number_of, split_of
from filmgate.pack.image import codec_of, decode_image
from filmgate.pack.make import pack_images
from filmgate.pack.shard import shard_tasks
from filmgate.work import LocalExecutor
from tests.footage import read_index
from tests.pack.images import write_image, write_images

HERE = LocalExecutor(workers=0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "images"
    write_images(root / "train" / "cats", 12, suffix=".jpg")
    write_images(root / "val" / "dogs", 9, suffix=".png", first=12)
    return root


@pytest.fixture
def pack(folder: Path, tmp_path: Path) -> Iterator[Pack]:
    with pack_images(folder, tmp_path / "out", shard_bytes=12_000, executor=HERE) as made:
        yield made


def test_every_image_comes_back_byte_for_byte_in_any_order(pack: Pack, folder: Path) -> None:
    assert len(pack) == 21 and len(pack.header.shards) > 2
    numbers = list(range(len(pack)))
    random.Random(0).shuffle(numbers)
    for number in numbers:
        assert pack.read(number) == (folder / pack.row(number).image_id).read_bytes()
    in_order = dict(pack.in_order())
    assert list(in_order) == sorted(numbers)
    assert all(in_order[number] == pack.read(number) for number in numbers)
    assert [number for number, _ in pack.in_order(5, 8)] == [5, 6, 7]


def test_a_shard_is_a_tar_file_of_the_images(pack: Pack, folder: Path) -> None:
    seen = {}
    for name in pack.header.shards:
        with tarfile.open(pack.path / "shards" / name) as tar:
            for member in tar:
                file = tar.extractfile(member)
                assert file is not None
                seen[member.name] = file.read()
    assert seen == {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_long_name_is_kept(tmp_path: Path) -> None:
    name = "/".join(["folder-of-a-long-name"] * 9) + "/bild-\u00e4\u753b.png"
    write_image(tmp_path / "in" / name)
    pack = pack_images(tmp_path / "in", tmp_path / "out", executor=HERE)
    assert pack.row(0).image_id == name
    with tarfile.open(pack.path / "shards" / next(iter(pack.header.shards))) as tar:
        assert tar.getnames() == [name]
    assert pack.read(0) == (tmp_path / "in" / name).read_bytes()


def test_a_packed_image_decodes_to_the_pixels_of_the_loose_file(pack: Pack, folder: Path) -> None:
    for number in (0, 20):
        content = (folder / pack.row(number).image_id).read_bytes()
        loose = decode_image(content, codec_of(content)).to_ndarray(format="rgb24")
        assert np.array_equal(pack.decode(number).to_ndarray(format="rgb24"), loose)


def test_labels_and_splits_come_from_folders(pack: Pack) -> None:
    first, last = pack.row(0), pack.row(20)
    assert (first.label, first.split) == ("cats", "train")
    assert (last.label, last.split) == ("dogs", "val")


@pytest.mark.parametrize(
    ("image_id", "split"),
    [("train2017/1.jpg", "train"), ("images/val/1.jpg", "val"), ("test-1/a/b.jpg", "test"),
     ("trained/a.jpg", None), ("train.jpg", None), ("train/val/a.jpg", "val")],
)  # fmt: skip
def test_a_split_is_the_name_of_a_folder(image_id: str, split: str | None) -> None:
    assert split_of(image_id) == split


def test_the_catalog_of_a_pack_gives_its_images(pack: Pack) -> None:
    catalog = open_catalog(pack.path)
    catalog.check()
    assert catalog.num_videos == 21 and set(catalog.labels) == {"cats", "dogs"}
    with ClipReader(catalog) as reader:
        for row in (20, 3, 11):
            assert catalog.video(row).video_id == pack.row(row).video_id
            assert read_index(reader.read(row, [0])[0]) == row


def test_packing_again_writes_nothing(pack: Pack, folder: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in (pack.path / "shards").iterdir()}
    again = pack_images(folder, pack.path, shard_bytes=12_000, executor=HERE)
    assert again.header.num_made == 0 and again.header.digest == pack.header.digest
    assert {p: p.stat().st_mtime_ns for p in (pack.path / "shards").iterdir()} == before


def test_one_image_more_rewrites_few_shards_and_old_ones_go(pack: Pack, folder: Path) -> None:
    write_image(folder / "train" / "cats" / "0005b.jpg", 99)
    again = pack_images(folder, pack.path, shard_bytes=12_000, executor=HERE)
    assert len(again) == 22
    assert 1 <= again.header.num_made <= 3
    names = {path.name for path in (pack.path / "shards").glob("*.tar")}
    assert names == set(again.header.shards)
    again.check()


def test_a_broken_image_is_left_out_and_listed(folder: Path, tmp_path: Path) -> None:
    broken = folder / "train" / "cats" / "0003.jpg"
    broken.write_bytes(broken.read_bytes()[:900])
    (folder / "val" / "photo.heic").write_bytes(b"x")
    (folder / "notes.txt").write_text("not an image")
    pack = pack_images(folder, tmp_path / "out", executor=HERE)
    reasons = {one.video_id: one.reason for one in pack.header.left_out}
    assert set(reasons) == {"train/cats/0003.jpg", "val/photo.heic"}
    assert (
        "cut off" in reasons["train/cats/0003.jpg"] or "come out" in reasons["train/cats/0003.jpg"]
    )
    assert ".heic files are not taken" in reasons["val/photo.heic"]
    assert pack.header.num_ignored == 1 and len(pack) == 20
    assert [one.video_id for one in open_catalog(pack.path).left_out] == sorted(reasons)


def test_nothing_to_pack_is_an_error_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with pytest.raises(UserError, match="no image in") as caught:
        pack_images(tmp_path / "in", tmp_path / "out", executor=HERE)
    assert caught.value.hint
    (tmp_path / "in" / "one.jpg").write_bytes(b"\xff\xd8\xff\xd9")
    with pytest.raises(UserError, match="none of 1 images can be used"):
        pack_images(tmp_path / "in", tmp_path / "out", executor=HERE)


def test_a_folder_that_is_no_pack_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is no pack") as caught:
        open_pack(tmp_path)
    assert "filmgate pack" in caught.value.hint


def test_threads_share_a_pack(pack: Pack) -> None:
    wanted = [pack.read(number) for number in range(len(pack))]
    pack.close()
    wrong: list[int] = []

    def read(seed: int) -> None:
        numbers = list(range(len(pack))) * 5
        random.Random(seed).shuffle(numbers)
        wrong.extend(number for number in numbers if pack.read(number) != wanted[number])

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wrong == []


def _read_in_child(pack: Pack, wanted: list[bytes]) -> None:
    numbers = list(range(len(pack))) * 5
    random.Random(os.getpid()).shuffle(numbers)
    os._exit(0 if all(pack.read(number) == wanted[number] for number in numbers) else 1)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_children_share_a_pack(pack: Pack) -> None:
    wanted = [pack.read(number) for number in range(len(pack))]
    context = multiprocessing.get_context("fork")
    children = [context.Process(target=_read_in_child, args=(pack, wanted)) for _ in range(3)]
    for child in children:
        child.start()
    assert [pack.read(number) for number in range(len(pack))] == wanted
    for child in children:
        child.join(60)
    assert [child.exitcode for child in children] == [0, 0, 0]


def test_changed_bytes_in_a_shard_are_noticed(pack: Pack) -> None:
    row = pack.row(4)
    shard = pack.path / "shards" / row.shard
    content = bytearray(shard.read_bytes())
    content[row.offset + row.size_bytes // 2] ^= 1
    shard.write_bytes(content)
    with pytest.raises(UnreadableVideo, match="have changed"):
        pack.decode(4)
    pack.decode(5)
    pack.close()
    shard.write_bytes(content[:-512])
    with pytest.raises(UnreadableVideo, match="another length"):
        pack.read(4)


def test_a_pack_can_be_moved(pack: Pack, tmp_path: Path, folder: Path) -> None:
    moved = pack.path.rename(tmp_path / "elsewhere")
    folder.rename(tmp_path / "gone")
    with ClipReader(open_catalog(moved)) as reader:
        assert read_index(reader.read(6, [0])[0]) == 6


def test_an_index_of_another_state_is_refused(pack: Pack, folder: Path, tmp_path: Path) -> None:
    write_image(folder / "one-more.png", 50)
    other = pack_images(folder, tmp_path / "other", executor=HERE)
    (pack.path / "images.arrow").write_bytes((other.path / "images.arrow").read_bytes())
    with pytest.raises(UserError, match="another state"):
        open_pack(pack.path).read(0)


@pytest.mark.parametrize(
    ("name", "number"),
    [("000012.png", 12), ("shot3_000007.jpg", 7), ("frame.png", None), ("a9b.png", 9)],
)
def test_a_frames_number_is_the_last_in_its_name(name: str, number: int | None) -> None:
    assert frame_number_of(name) == number


def test_a_folder_of_frames_is_a_video_in_the_order_of_its_numbers(tmp_path: Path) -> None:
    for name in ("walk", "run"):
        for index in range(8, 13):  # 9 comes before 10 by number and not by letters
            write_image(tmp_path / "in" / name / f"img{index}.png", index)
    (tmp_path / "in" / "run" / "img11.png").unlink()
    write_image(tmp_path / "in" / "run" / "cover.png")
    pack = pack_images(tmp_path / "in", tmp_path / "out", kind="frames", fps=10, executor=HERE)
    catalog = open_catalog(pack.path)
    assert [catalog.video(row).video_id for row in (0, 1)] == ["run", "walk"]
    assert catalog.num_frames.tolist() == [4, 5]
    assert [(gap.video_id, gap.first_missing, gap.num_missing) for gap in pack.header.gaps] == [
        ("run", 11, 1)
    ]
    assert [one.reason for one in pack.header.left_out] == ["its name has no frame number"]
    assert catalog.frame_table(0).seconds(3) == pytest.approx(0.4), "a gap is a longer frame"
    with ClipReader(catalog) as reader:
        assert [read_index(frame) for frame in reader.read(0, [3, 0, 1])] == [12, 8, 9]
        assert [read_index(frame) for frame in reader.read(1, [4, 2])] == [12, 10]


def test_a_frame_that_lies_another_way_is_left_out(tmp_path: Path) -> None:
    for index in range(4):
        write_image(tmp_path / "in" / f"{index}.jpg", index, orientation=3 if index == 2 else 1)
    pack = pack_images(tmp_path / "in", tmp_path / "out", kind="frames", executor=HERE)
    assert [one.video_id for one in pack.header.left_out] == ["2.jpg"]
    assert pack.header.gaps[0].first_missing == 2 and len(pack) == 3


@given(
    sizes=st.lists(st.integers(1, 30_000), min_size=1, max_size=300),
    shard_bytes=st.integers(4_096, 200_000),
)
def test_every_image_is_in_one_shard_and_shards_keep_to_their_size(
    sizes: list[int], shard_bytes: int
) -> None:
    images = [found(number, size) for number, size in enumerate(sizes)]
    tasks = shard_tasks(images, shard_bytes)
    assert [image for task in tasks for image in task.payload.images] == images
    for task in tasks:
        *others, _ = [image.stamp.size_bytes for image in task.payload.images]
        assert sum(others) < shard_bytes


@settings(max_examples=15, deadline=None)
@given(removed=st.integers(0, 1999))
def test_one_image_less_changes_few_shards(removed: int) -> None:
    images = [found(number, 1000) for number in range(2000)]
    before = {task.key for task in shard_tasks(images, 40_000)}
    after = {task.key for task in shard_tasks(images[:removed] + images[removed + 1 :], 40_000)}
    assert len(after - before) <= 12 < len(before) / 3


def found(number: int, size: int) -> FoundImage:
    name = f"{number:06}.jpg"
    stamp = FileStamp(size_bytes=size, mtime_ns=0, inode=number)
    return FoundImage(image_id=name, path=Path(name), stamp=stamp, video_id=name, frame_number=None)
