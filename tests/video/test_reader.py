from __future__ import annotations

import multiprocessing
import os
import pickle
import resource
import threading
from pathlib import Path

import numpy as np
import psutil
import pytest

from filmgate.errors import UndecodableFrame, VideoError
from filmgate.video import FrameTable, VideoReader, native_md5, probe
from tests.footage import read_index, write_video

GOP = 10


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_video(tmp_path_factory.mktemp("reader") / "v.mp4", num_frames=50, gop=GOP)


@pytest.fixture(scope="module")
def table(path: Path) -> FrameTable:
    return probe(path)[1]


def indices_in_pixels(reader: VideoReader, wanted: list[int]) -> list[int]:
    return [read_index(frame.to_ndarray(format="rgb24")) for _, frame in reader.frames(wanted)]


def test_each_distinct_frame_comes_once_and_ascending(path: Path, table: FrameTable) -> None:
    with VideoReader(path, table) as reader:
        assert indices_in_pixels(reader, [30, 3, 30, 4, 29]) == [3, 4, 29, 30]


def test_frames_carry_their_time(path: Path, table: FrameTable) -> None:
    with VideoReader(path, table) as reader:
        for index, frame in reader.frames(range(50)):
            assert frame.pts == table.pts[index]
            assert frame.time_base == table.time_base


def test_an_index_outside_is_refused_before_anything_is_decoded(
    path: Path, table: FrameTable
) -> None:
    with VideoReader(path, table) as reader:
        for wrong in (-1, 50):
            with pytest.raises(IndexError, match=f"frame {wrong} of 50"):
                reader.frames([5, wrong])
        assert reader.num_decoded == 0


def test_frames_ahead_are_decoded_on_without_a_seek(path: Path, table: FrameTable) -> None:
    with VideoReader(path, table) as reader:
        for wanted in ([31], [33], [35, 36]):
            assert indices_in_pixels(reader, wanted) == wanted
        assert reader.num_decoded <= 10


def test_a_far_jump_decodes_only_its_own_interval(path: Path, table: FrameTable) -> None:
    with VideoReader(path, table) as reader:
        indices_in_pixels(reader, [0])
        before = reader.num_decoded
        assert indices_in_pixels(reader, [41]) == [41]
        assert reader.num_decoded - before <= GOP + 4


def test_the_end_and_then_the_middle(path: Path, table: FrameTable) -> None:
    with VideoReader(path, table) as reader:
        for wanted in ([49], [35], [49], [0], [48, 49], [10]):
            assert indices_in_pixels(reader, wanted) == wanted


def test_two_requests_may_be_read_in_turns(path: Path, table: FrameTable) -> None:
    with VideoReader(path, table) as reader:
        one, other = reader.frames([2, 12, 42]), reader.frames([40, 41, 49])
        for (a, frame_a), (b, frame_b) in zip(one, other, strict=True):
            assert read_index(frame_a.to_ndarray(format="rgb24")) == a
            assert read_index(frame_b.to_ndarray(format="rgb24")) == b


def test_the_same_request_a_hundred_times_gives_the_same_bits(
    path: Path, table: FrameTable
) -> None:
    with VideoReader(path, table) as reader:
        seen = {
            tuple(native_md5(frame) for _, frame in reader.frames([7, 22, 23])) for _ in range(100)
        }
    assert len(seen) == 1


def test_a_closed_reader_opens_again(path: Path, table: FrameTable) -> None:
    reader = VideoReader(path, table)
    assert indices_in_pixels(reader, [11]) == [11]
    reader.close()
    assert indices_in_pixels(reader, [9]) == [9]
    reader.close()


def test_a_pickled_reader_works(path: Path, table: FrameTable) -> None:
    with VideoReader(path, table) as reader:
        indices_in_pixels(reader, [20])
        copy = pickle.loads(pickle.dumps(reader))
    assert indices_in_pixels(copy, [21]) == [21]
    copy.close()


def test_a_reader_that_was_open_before_a_fork_works_on_both_sides(
    path: Path, table: FrameTable
) -> None:
    reader = VideoReader(path, table)
    assert indices_in_pixels(reader, [25]) == [25]
    children = []
    for wanted in range(0, 40, 10):
        child = os.fork()
        if child == 0:
            os._exit(0 if indices_in_pixels(reader, [wanted + 7]) == [wanted + 7] else 1)
        children.append(child)
    assert indices_in_pixels(reader, [26, 5]) == [5, 26]
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0, 0]
    reader.close()


def _read_in_child(reader: VideoReader, answers: multiprocessing.SimpleQueue[list[int]]) -> None:
    answers.put(indices_in_pixels(reader, [13, 44]))


def test_a_reader_can_be_given_to_a_spawned_process(path: Path, table: FrameTable) -> None:
    context = multiprocessing.get_context("spawn")
    answers = context.SimpleQueue()
    process = context.Process(target=_read_in_child, args=(VideoReader(path, table), answers))
    process.start()
    assert answers.get() == [13, 44]
    process.join(20)
    assert process.exitcode == 0


def test_leaving_a_loop_early_starts_no_thread_and_keeps_no_file(
    path: Path, table: FrameTable
) -> None:
    threads, files = threading.active_count(), len(list(Path("/proc/self/fd").iterdir()))
    with VideoReader(path, table) as reader:
        for index, _ in reader.frames(range(50)):
            if index == 3:
                break
    assert threading.active_count() == threads
    assert len(list(Path("/proc/self/fd").iterdir())) == files


def test_a_file_that_changed_is_not_read_by_its_old_table(tmp_path: Path) -> None:
    path = write_video(tmp_path / "v.mp4", num_frames=20)
    table = probe(path)[1]
    write_video(path, num_frames=30)
    with VideoReader(path, table) as reader, pytest.raises(UndecodableFrame, match="changed"):
        list(reader.frames([0]))
    path.unlink()
    with VideoReader(path, table) as reader, pytest.raises(UndecodableFrame, match="no such file"):
        list(reader.frames([0]))


def test_other_content_of_the_same_size_is_noticed(tmp_path: Path) -> None:
    path = write_video(tmp_path / "v.mkv", num_frames=20, gop=5)
    table = probe(path)[1]
    content = bytearray(path.read_bytes())
    for position, size in zip(table.entries.position, table.entries.size, strict=True):
        start = content.find(b"\x00\x00\x00\x01\x65", int(position)) if position >= 0 else -1
        middle = (start if start >= 0 else int(position)) + int(size) // 2
        content[middle] ^= 0xFF
    path.write_bytes(content)
    with VideoReader(path, table) as reader, pytest.raises(UndecodableFrame):
        list(reader.frames([12]))


def test_frames_keep_their_own_memory(path: Path, table: FrameTable) -> None:
    with VideoReader(path, table) as reader:
        kept = list(reader.frames([0, 10, 20]))
        before = [frame.to_ndarray(format="rgb24") for _, frame in kept]
        list(reader.frames(range(50)))
        after = [frame.to_ndarray(format="rgb24") for _, frame in kept]
    for one, other in zip(before, after, strict=True):
        assert np.array_equal(one, other)


def test_hundreds_of_files_are_opened_with_few_at_a_time(path: Path, table: FrameTable) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(64, limits[1]), limits[1]))
    try:
        for wanted in range(200):
            with VideoReader(path, table) as reader:
                assert indices_in_pixels(reader, [wanted % 50]) == [wanted % 50]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_too_many_open_files_are_called_by_their_name(path: Path, table: FrameTable) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    next_free = os.dup(0)
    os.close(next_free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (next_free, limits[1]))
    try:
        with pytest.raises(VideoError) as caught, VideoReader(path, table) as reader:
            list(reader.frames([0]))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert "Too many open files" in caught.value.reason


@pytest.mark.parametrize("suffix", ["mkv", "webm"])
def test_matroska_decodes_no_more_frames_than_mp4(tmp_path: Path, suffix: str) -> None:
    codec = "libx264" if suffix == "mkv" else "libvpx-vp9"
    num_decoded = []
    for name in ("v.mp4", f"v.{suffix}"):
        video = write_video(tmp_path / name, num_frames=120, gop=30, codec=codec)
        with VideoReader(video, probe(video)[1]) as reader:
            for index in (100, 3, 64, 66, 31, 119):
                list(reader.frames([index]))
            num_decoded.append(reader.num_decoded)
    assert num_decoded[1] <= num_decoded[0] + 6


def test_a_long_run_up_to_a_frame_keeps_no_frame_of_it_in_memory(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", num_frames=160, width=640, height=360, gop=160)
    _, table = probe(path)
    frame_bytes = 640 * 360 * 3 // 2
    with VideoReader(path, table) as reader:
        list(reader.frames([0]))
        before = psutil.Process().memory_info().rss
        list(reader.frames([150]))
        grown = psutil.Process().memory_info().rss - before
    assert grown < 60 * frame_bytes
