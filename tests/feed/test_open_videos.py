from __future__ import annotations

import resource

import pytest

from filmgate.errors import UnreadableVideo
from filmgate.feed.open_videos import MAX_OPEN_BYTES, OpenVideos, decoder_bytes, max_open_videos


def open_rows(videos: OpenVideos, count: int) -> list[int]:
    return [row for row in range(count) if row in videos]


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
