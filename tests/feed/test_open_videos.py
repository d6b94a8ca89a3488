from __future__ import annotations

import os
import resource
import shutil
from pathlib import Path

import pytest

from filmgate.catalog import index_videos
from filmgate.errors import UnreadableVideo
from filmgate.feed import ClipReader
from filmgate.feed.open_videos import (
    MAX_OPEN_BYTES,
    MAX_OPEN_VIDEOS,
    OpenVideos,
    decoder_bytes,
    max_open_videos,
)


def open_rows(videos: OpenVideos, count: int) -> list[int]:
    return [row for row in range(count) if row in videos]


def num_open_videos(folder: Path) -> int:
    """Of this process in a folder; other descriptors, of servers and pools, come and go."""
    links = Path("/proc/self/fd").iterdir()
    return sum(os.path.realpath(link).startswith(f"{folder.resolve()}/") for link in links)


def test_the_video_unused_longest_is_closed_first(catalog):
    videos = OpenVideos(catalog, max_open=2)
    first = videos.get(0)
    list(first.reader.frames([0]))
    videos.get(1)
    assert videos.get(0) is first
    videos.get(2)
    assert open_rows(videos, 4) == [0, 2]
    videos.close()
    assert open_rows(videos, 4) == []


def test_a_dropped_video_begins_afresh(catalog):
    videos = OpenVideos(catalog)
    first = videos.get(0)
    videos.drop(0)
    videos.drop(3)
    assert videos.get(0) is not first


def test_large_videos_are_bounded_by_their_memory(catalog):
    facts = catalog.video(0)
    assert decoder_bytes(facts) == 20 * 96 * 64 * 3 // 2
    num_4k = MAX_OPEN_BYTES // (20 * 3840 * 2160 * 3 // 2)
    assert 1 <= num_4k < 4


def test_as_many_decoders_stay_open_as_the_bytes_allow(catalog, monkeypatch):
    largest = max(decoder_bytes(catalog.video(row)) for row in range(4))
    monkeypatch.setattr("filmgate.feed.open_videos.MAX_OPEN_BYTES", 2 * largest)
    videos = OpenVideos(catalog, max_open=4)
    for row in (0, 1, 2, 3, 0, 2):
        list(videos.get(row).reader.frames([0]))
        opened = open_rows(videos, 4)
        assert row in opened
        assert sum(decoder_bytes(catalog.video(number)) for number in opened) <= 2 * largest
    videos.close()


def test_a_video_larger_than_the_bytes_allow_is_open_alone(catalog, monkeypatch):
    monkeypatch.setattr("filmgate.feed.open_videos.MAX_OPEN_BYTES", 1)
    videos = OpenVideos(catalog)
    videos.get(0)
    videos.get(1)
    assert open_rows(videos, 4) == [1]


def test_reading_many_videos_keeps_few_descriptors_open(footage, tmp_path):
    for number in range(90):
        shutil.copy(footage / "cold" / "cold0.mp4", tmp_path / f"{number:02}.mp4")
    catalog = index_videos([tmp_path], tmp_path / "catalog", workers=0)
    catalog.video(0), catalog.frame_table(0)  # the catalog's own files are open from here on
    before = num_open_videos(tmp_path)
    with ClipReader(catalog, size=(16, 16)) as reader:
        for video in range(90):
            reader.read(video, [0, 3])
            assert num_open_videos(tmp_path) - before <= MAX_OPEN_VIDEOS
        assert num_open_videos(tmp_path) - before == MAX_OPEN_VIDEOS
    assert num_open_videos(tmp_path) == before


def test_a_low_limit_on_open_files_is_kept():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
        assert max_open_videos() == 24
        resource.setrlimit(resource.RLIMIT_NOFILE, (40, hard))
        assert max_open_videos() == 1
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_copy_of_a_video_is_as_good_as_the_original(own_catalog, own_footage):
    path = own_footage / "cold" / "cold0.mp4"
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content)
    videos = OpenVideos(own_catalog)
    videos.get(0)
    videos.check(0)


def test_other_content_of_the_same_size_is_found(own_catalog, own_footage):
    path = own_footage / "cold" / "cold0.mp4"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))
    videos = OpenVideos(own_catalog)
    videos.get(0)
    for _ in range(2):
        with pytest.raises(UnreadableVideo, match="content changed since it was indexed"):
            videos.check(0)
