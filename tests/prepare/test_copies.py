"""Copies of a whole catalog: made once, listed in a catalog, in step with the sources."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

from filmgate.catalog import Catalog, index_videos, open_catalog
from filmgate.errors import UserError
from filmgate.feed import ClipReader
from filmgate.prepare.copies import Prepared, prepare_copies
from filmgate.prepare.recipe import Layout, Recipe
from filmgate.records import read_record
from filmgate.work import LocalExecutor
from tests.footage import write_video

RECIPE = Recipe(
    layout=Layout(name="temporal", codec="h264", quality=18, key_every=8, reference_every=4)
)


@pytest.fixture
def videos(tmp_path: Path, footage: Path) -> Path:
    return Path(shutil.copytree(footage, tmp_path / "videos"))


def index(videos: Path) -> Catalog:
    return index_videos(videos, videos.parent / "catalog", workers=0)


def prepare(catalog: Catalog, out: Path) -> Prepared:
    return prepare_copies(catalog, out, RECIPE, executor=LocalExecutor(workers=1))


def copy_files(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (out / "copies").rglob("*") if path.is_file()}


def test_every_video_has_a_copy_with_its_name_label_frames_and_times(
    videos: Path, tmp_path: Path
) -> None:
    source = index(videos)
    prepared = prepare(source, tmp_path / "copies")
    copies = open_catalog(tmp_path / "copies")
    assert (prepared.num_videos, prepared.num_made, prepared.left_out) == (4, 4, [])
    assert read_record(tmp_path / "copies" / "prepared.json", Prepared) == prepared
    assert copies.labels == source.labels
    assert copies.header.copy is not None and copies.header.copy.reference_every == 4
    with ClipReader(source, size=(64, 96)) as before, ClipReader(copies, size=(64, 96)) as after:
        for row in range(4):
            original, copy = source.video(row), copies.video(row)
            assert copy.video_id == original.video_id
            assert copy.source_digest == original.content_digest
            old, new = source.frame_table(row), copies.frame_table(row)
            assert [new.seconds(i) for i in range(60)] == [old.seconds(i) for i in range(60)]
            assert new.duration_seconds == old.duration_seconds
            frames = [0, 31, 59]
            far = before.read(row, frames).astype(int) - after.read(row, frames)
            assert np.abs(far).mean() < 6


def test_preparing_again_makes_nothing_anew(videos: Path, tmp_path: Path) -> None:
    prepare(index(videos), tmp_path / "copies")
    before = copy_files(tmp_path / "copies")
    again = prepare(index(videos), tmp_path / "copies")
    assert again.num_made == 0 and again.num_videos == 4
    assert copy_files(tmp_path / "copies") == before


def test_changed_bytes_under_the_same_path_are_prepared_again_and_others_are_not(
    videos: Path, tmp_path: Path
) -> None:
    prepare(index(videos), tmp_path / "copies")
    write_video(videos / "cold" / "cold0.mp4", num_frames=30, hue=200)
    again = prepare(index(videos), tmp_path / "copies")
    assert (again.num_videos, again.num_made) == (4, 1)
    copies = open_catalog(tmp_path / "copies")
    assert copies.num_frames.tolist() == [30, 60, 60, 60]


def test_a_source_that_changed_after_indexing_is_left_out_with_the_reason(
    videos: Path, tmp_path: Path
) -> None:
    catalog = index(videos)
    write_video(videos / "cold" / "cold0.mp4", num_frames=30, hue=200)
    prepared = prepare(catalog, tmp_path / "copies")
    assert prepared.num_videos == 3
    assert [(one.video_id, one.reason) for one in prepared.left_out] == [
        (catalog.video(0).video_id, prepared.left_out[0].reason)
    ]
    assert "its content changed since it was indexed" in prepared.left_out[0].reason


def test_videos_of_the_same_content_share_one_copy(videos: Path, tmp_path: Path) -> None:
    shutil.copy(videos / "cold" / "cold0.mp4", videos / "warm" / "again.mp4")
    prepared = prepare(index(videos), tmp_path / "copies")
    copies = open_catalog(tmp_path / "copies")
    assert (prepared.num_videos, prepared.num_made) == (5, 4)
    paths = {copies.video(row).path for row in range(5)}
    assert len(paths) == 4


def test_the_sources_catalog_is_not_written_over(videos: Path) -> None:
    catalog = index(videos)
    with pytest.raises(UserError, match="is the catalog of the sources"):
        prepare_copies(catalog, catalog.path, RECIPE)


def test_a_set_of_which_nothing_can_be_copied_is_an_error_with_the_reasons(tmp_path: Path) -> None:
    write_video(tmp_path / "videos.mp4", num_frames=20, options={"color_trc": "smpte2084"})
    catalog = index_videos(tmp_path / "videos.mp4", tmp_path / "catalog", workers=0)
    jpeg = Recipe(layout=Layout(name="jpeg", codec="jpeg", quality=4))
    with pytest.raises(UserError, match="HDR"):
        prepare_copies(catalog, tmp_path / "copies", jpeg, executor=LocalExecutor(workers=1))
    assert not (tmp_path / "copies" / "catalog.json").exists()


def test_a_source_that_changes_while_it_is_copied_is_left_out(videos: Path, tmp_path: Path) -> None:
    catalog, stop = index(videos), threading.Event()
    changed = videos / "cold" / "cold0.mp4"

    def touch() -> None:
        while not stop.wait(0.0005):
            os.utime(changed)

    toucher = threading.Thread(target=touch)
    toucher.start()
    try:
        prepared = prepare(catalog, tmp_path / "copies")
    finally:
        stop.set()
        toucher.join()
    assert [one.path for one in prepared.left_out] == [str(changed)]
    assert "it changed while it was copied" in prepared.left_out[0].reason
    assert prepared.num_videos == 3
