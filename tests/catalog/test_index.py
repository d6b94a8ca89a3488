from __future__ import annotations

import os
import pickle
import shutil
from pathlib import Path

import msgspec
import numpy as np
import pytest

from filmgate.catalog import Catalog, index_videos, open_catalog
from filmgate.errors import UserError
from filmgate.video import VideoReader, probe
from filmgate.work import Progress
from tests.footage import write_video


@pytest.fixture(scope="module")
def catalog(footage: Path, tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    return index_videos(footage, tmp_path_factory.mktemp("index") / "catalog", workers=0)


def test_a_catalog_holds_facts_labels_and_frame_tables(catalog: Catalog, footage: Path) -> None:
    assert catalog.num_videos == 4
    assert catalog.labels == ["cold", "cold", "warm", "warm"]
    assert catalog.num_frames.tolist() == [60] * 4
    for row in range(4):
        video = catalog.video(row)
        facts, table = probe(footage / video.video_id)
        for name in type(facts).__struct_fields__:
            assert getattr(video, name) == getattr(facts, name), name
        assert_same_table(catalog, row, table)


def assert_same_table(catalog: Catalog, row: int, table: object) -> None:
    got = catalog.frame_table(row)
    for name in ("time_base", "end_ticks", "access", "access_reason", "seek_by",
                 "times_from_packets", "stream_index", "file_bytes"):  # fmt: skip
        assert getattr(got, name) == getattr(table, name)
    for name in ("pts", "is_key", "packet"):
        one, other = getattr(got, name), getattr(table, name)
        assert np.array_equal(one, other)
        assert one.dtype == other.dtype
    for name in ("packet", "first_frame", "seek_target", "position", "size", "crc32"):
        one, other = getattr(got.entries, name), getattr(table.entries, name)  # type: ignore[attr-defined]
        assert np.array_equal(one, other)
        assert one.dtype == other.dtype


def test_frames_can_be_read_with_a_table_from_the_catalog(catalog: Catalog) -> None:
    with VideoReader(catalog.video(2).path, catalog.frame_table(2)) as reader:
        assert [index for index, _ in reader.frames([59, 1, 30])] == [1, 30, 59]


def test_workers_and_place_do_not_change_the_digest(
    catalog: Catalog, footage: Path, tmp_path: Path
) -> None:
    moved = tmp_path / "elsewhere"
    shutil.copytree(footage, moved)
    other = index_videos(moved, tmp_path / "catalog", workers=2)
    assert other.digest == catalog.digest
    assert other.video(0).path != catalog.video(0).path


def test_labels_and_content_change_the_digest(
    catalog: Catalog, footage: Path, tmp_path: Path
) -> None:
    unlabelled = index_videos(footage, tmp_path / "one", labels=None, workers=0)
    assert unlabelled.digest != catalog.digest
    moved = tmp_path / "footage"
    shutil.copytree(footage, moved)
    write_video(moved / "cold/cold0.mp4", num_frames=60, hue=99)
    assert index_videos(moved, tmp_path / "two", workers=0).digest != catalog.digest


def count_reads(progress: list[Progress]) -> int:
    return progress[-1].done if progress else 0


def test_unchanged_files_are_not_read_again(footage: Path, tmp_path: Path) -> None:
    root, out = tmp_path / "footage", tmp_path / "catalog"
    shutil.copytree(footage, root)
    (root / "broken.mp4").write_bytes(b"rubbish" * 100)
    first = index_videos(root, out, workers=0)
    # Other bytes behind the same size, time and inode: a read would find a broken file.
    for path in root.rglob("*.mp4"):
        status = path.stat()
        with path.open("r+b") as file:
            file.write(b"\0" * status.st_size)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    progress: list[Progress] = []
    second = index_videos(root, out, workers=0, on_progress=progress.append)
    assert count_reads(progress) == 0
    assert second.digest == first.digest
    assert [second.video(row) for row in range(4)] == [first.video(row) for row in range(4)]
    assert second.left_out == first.left_out
    assert_same_table(second, 3, first.frame_table(3))


def test_only_new_and_changed_files_are_read(footage: Path, tmp_path: Path) -> None:
    root, out = tmp_path / "footage", tmp_path / "catalog"
    shutil.copytree(footage, root)
    index_videos(root, out, workers=0)
    write_video(root / "cold/cold0.mp4", num_frames=30)
    write_video(root / "new.mp4", num_frames=20)
    (root / "warm/warm1.mp4").unlink()
    progress: list[Progress] = []
    catalog = index_videos(root, out, workers=0, on_progress=progress.append)
    assert count_reads(progress) == 2
    assert [catalog.video(row).video_id for row in range(4)] == [
        "cold/cold0.mp4", "cold/cold1.mp4", "new.mp4", "warm/warm0.mp4",
    ]  # fmt: skip
    assert catalog.num_frames.tolist() == [30, 60, 20, 60]
    assert catalog.digest == index_videos(root, tmp_path / "afresh", workers=0).digest


def test_new_labels_need_no_reading(footage: Path, tmp_path: Path) -> None:
    out = tmp_path / "catalog"
    index_videos(footage, out, workers=0)
    progress: list[Progress] = []
    catalog = index_videos(footage, out, labels=None, workers=0, on_progress=progress.append)
    assert catalog.labels == [None] * 4
    assert count_reads(progress) == 0


def test_a_half_written_or_older_catalog_is_made_anew(footage: Path, tmp_path: Path) -> None:
    out = tmp_path / "catalog"
    first = index_videos(footage, out, workers=0)
    (out / "frames.parquet").write_bytes(b"cut off")
    with pytest.raises(UserError, match="cannot be read"):
        open_catalog(out).frame_table(0)
    (out / "videos.parquet").write_bytes(b"cut off")
    progress: list[Progress] = []
    again = index_videos(footage, out, workers=0, on_progress=progress.append)
    assert count_reads(progress) == 4
    assert again.digest == first.digest
    assert again.frame_table(0).num_frames == 60


def test_files_of_two_catalogs_do_not_mix(footage: Path, tmp_path: Path) -> None:
    index_videos(footage, tmp_path / "one", workers=0)
    index_videos(footage, tmp_path / "two", labels=None, workers=0)
    shutil.copy(tmp_path / "one/videos.parquet", tmp_path / "two/videos.parquet")
    with pytest.raises(UserError, match="another state of the catalog"):
        open_catalog(tmp_path / "two").video(0)


def test_unusable_files_are_left_out_with_their_reason(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "bad").mkdir(parents=True)
    write_video(root / "good.mp4", num_frames=10)
    (root / "bad/empty.mp4").touch()
    (root / "bad/page.mp4").write_text("<html>gone</html>")
    (root / "notes.txt").write_text("no video")
    catalog = index_videos(root, tmp_path / "catalog", workers=0)
    assert catalog.num_videos == 1
    assert {one.video_id: one.reason for one in catalog.left_out} == {
        "bad/empty.mp4": "the file is empty",
        "bad/page.mp4": "a web page or other markup, not a video",
    }
    assert catalog.header.num_ignored == 1


def test_a_folder_in_which_nothing_can_be_used_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty.mp4").touch()
    with pytest.raises(UserError, match=r"none of 1 files can be used .*the file is empty"):
        index_videos(tmp_path, tmp_path / "catalog", workers=0)


def test_a_place_that_cannot_be_written_is_an_error(footage: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot be written") as caught:
        index_videos(footage, tmp_path / "file" / "catalog", workers=0)
    assert caught.value.hint


def test_progress_tells_bytes_for_a_forecast(footage: Path, tmp_path: Path) -> None:
    progress: list[Progress] = []
    index_videos(footage, tmp_path / "catalog", workers=2, on_progress=progress.append)
    assert [one.done for one in progress] == [1, 2, 3, 4]
    assert progress[-1].bytes_done == progress[-1].bytes_total
    assert progress[-1].bytes_total == sum(p.stat().st_size for p in footage.rglob("*.mp4"))
    assert all(one.seconds > 0 for one in progress)


def test_a_catalog_is_pickled_as_its_path(catalog: Catalog) -> None:
    catalog.frame_table(0)
    content = pickle.dumps(catalog)
    assert len(content) < 1000
    assert pickle.loads(content).video(1) == catalog.video(1)


def test_rows_outside_are_refused(catalog: Catalog) -> None:
    for wrong in (-1, 4):
        with pytest.raises(IndexError, match=f"video {wrong} of 4"):
            catalog.video(wrong)
        with pytest.raises(IndexError, match=f"video {wrong} of 4"):
            catalog.frame_table(wrong)


def test_a_folder_that_is_no_catalog_is_a_user_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no catalog") as caught:
        open_catalog(tmp_path)
    assert "filmgate index" in caught.value.hint


def test_a_catalog_of_another_version_is_refused(footage: Path, tmp_path: Path) -> None:
    out = tmp_path / "catalog"
    index_videos(footage, out, workers=0)
    header = msgspec.json.decode((out / "catalog.json").read_bytes())
    header["header"]["schema_version"] = 99
    (out / "catalog.json").write_bytes(msgspec.json.encode(header))
    with pytest.raises(UserError, match="version 99"):
        open_catalog(out)
    assert index_videos(footage, out, workers=0).num_videos == 4
