"""Lists of frames, read from a reader that stays open, give the frames of one sequential decode.

Pictures that nothing refers to are left out on the way, runs are cut short, decoders are drained:
none of it may be seen in what comes out.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from filmgate.video import FrameTable, VideoReader, frame_digests, native_md5, probe
from tests.footage import write_video
from tests.video import recipes
from tests.video.corpus import SOUND, needs_corpus, reference

needs_ffmpeg = pytest.mark.skipif(recipes.FFMPEG is None, reason="the ffmpeg command is not here")
FEW_LISTS, MANY_LISTS = 12, 500
PIXELS_OF_QUICK_TEST, PIXELS_OF_SLOW_TEST = 60_000_000, 10**12
Recorder = Callable[[str, object], None]


def random_list(rng: random.Random, num_frames: int) -> list[int]:
    """A clip with a stride, a window with holes, frames from anywhere, or one frame."""
    kind, start = rng.randrange(4), rng.randrange(num_frames)
    if kind == 0:
        stride = rng.choice([1, 2, 3, 4, 8])
        return list(range(start, num_frames, stride))[: rng.choice([2, 8, 16])]
    if kind == 1:
        window = range(start, min(num_frames, start + 40))
        return [index for index in window if rng.random() < 0.3] or [start]
    if kind == 2:
        return [rng.randrange(num_frames) for _ in range(rng.choice([2, 5]))]
    return [start]


def check_lists(
    path: Path, table: FrameTable, want: list[str], lists: int, pixels: int, seed: int
) -> tuple[int, int]:
    """Lists and frames that were read and right; ends early when enough pixels were decoded."""
    rng = random.Random(seed)
    seen_pixels = num_frames = 0
    with VideoReader(path, table) as reader:
        for number in range(lists):
            wanted = random_list(rng, table.num_frames)
            before = reader.num_decoded
            got = []
            for index, frame in reader.frames(wanted):
                assert native_md5(frame) == want[index], (index, wanted)
                got.append(index)
            assert got == sorted(set(wanted))
            num_frames += len(got)
            frame_pixels = frame.width * frame.height
            seen_pixels += frame_pixels * (reader.num_decoded - before + len(got))
            if seen_pixels > pixels:
                return number + 1, num_frames
    return lists, num_frames


def sequential(path: Path, table: FrameTable) -> list[str]:
    md5s = [row.md5 for row in frame_digests(path, table)]
    assert None not in md5s
    return [md5 for md5 in md5s if md5 is not None]


@needs_corpus
@pytest.mark.parametrize("path", SOUND, ids=lambda path: path.name)
def test_a_few_lists_of_the_corpus_are_exact(path: Path) -> None:
    check_lists(path, probe(path)[1], reference(path), FEW_LISTS, PIXELS_OF_QUICK_TEST, seed=3)


@pytest.mark.slow
@needs_corpus
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("path", SOUND, ids=lambda path: path.name)
def test_hundreds_of_lists_of_the_corpus_are_exact(path: Path, record_property: Recorder) -> None:
    table, want = probe(path)[1], reference(path)
    record(record_property, check_lists(path, table, want, MANY_LISTS, PIXELS_OF_SLOW_TEST, seed=4))


@needs_ffmpeg
@pytest.mark.parametrize("name", recipes.RECIPES)
def test_a_few_lists_of_every_quirk_are_exact(name: str, tmp_path: Path) -> None:
    path = recipes.RECIPES[name](tmp_path)
    _, table = probe(path)
    check_lists(path, table, recipes.framemd5(path), FEW_LISTS, PIXELS_OF_QUICK_TEST, seed=5)


@pytest.mark.slow
@needs_ffmpeg
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", recipes.RECIPES)
def test_hundreds_of_lists_of_every_quirk_are_exact(
    name: str, tmp_path: Path, record_property: Recorder
) -> None:
    path = recipes.RECIPES[name](tmp_path)
    table, want = probe(path)[1], recipes.framemd5(path)
    record(record_property, check_lists(path, table, want, MANY_LISTS, PIXELS_OF_SLOW_TEST, seed=6))


def record(record_property: Recorder, done: tuple[int, int]) -> None:
    record_property("lists", done[0])
    record_property("frames", done[1])


LAYOUTS = {
    "x264": ("libx264", {"bf": "3", "b_strategy": "0", "x264-params": "b-pyramid=none"}),
    "x264_pyramid": ("libx264", {"bf": "3", "x264-params": "b-pyramid=normal:ref=4"}),
    "x264_open": ("libx264", {"bf": "3", "x264-params": "open-gop=1"}),
    "x265": ("libx265", {"x265-params": "bframes=4:b-pyramid=1:log-level=none"}),
    "x265_layers": ("libx265", {"x265-params": "bframes=3:temporal-layers=3:log-level=none"}),
    "mpeg4": ("mpeg4", {"bf": "2"}),
    "mpeg2": ("mpeg2video", {"bf": "2"}),
    "vp9": ("libvpx-vp9", {"deadline": "realtime", "cpu-used": "8"}),
}


@pytest.mark.parametrize("suffix", ["mp4", "mkv", "ts"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_lists_of_a_long_video_are_exact(name: str, suffix: str, tmp_path: Path) -> None:
    codec, options = LAYOUTS[name]
    if name == "vp9" and suffix == "ts":
        pytest.skip("TS holds no VP9")
    path = write_video(
        tmp_path / f"v.{suffix}", num_frames=150, gop=40, b_frames=3, codec=codec, options=options
    )
    _, table = probe(path)
    check_lists(path, table, sequential(path, table), 60, PIXELS_OF_QUICK_TEST, seed=7)


@pytest.mark.parametrize("name", LAYOUTS)
def test_requests_read_in_turns_are_exact(name: str, tmp_path: Path) -> None:
    codec, options = LAYOUTS[name]
    path = write_video(
        tmp_path / "v.mp4", num_frames=90, gop=30, b_frames=3, codec=codec, options=options
    )
    _, table = probe(path)
    want, rng = sequential(path, table), random.Random(8)
    with VideoReader(path, table) as reader:
        for _ in range(10):
            requests = [reader.frames(random_list(rng, 90)) for _ in range(3)]
            while requests:
                request = rng.choice(requests)
                for index, frame in request:
                    assert native_md5(frame) == want[index]
                    break
                else:
                    requests.remove(request)
