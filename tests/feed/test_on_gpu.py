"""NVDEC against the CPU decoder, on a real GPU: the same bits, the right frames, in any order."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
import torch

from filmgate.catalog import Catalog, index_videos
from filmgate.errors import UserError, VideoError
from filmgate.feed import ClipReader, open_device_reader
from filmgate.feed.device_lane import DeviceLane
from filmgate.feed.device_samples import chroma_levels, luma_levels, samples_of
from filmgate.feed.nvdec import why_not_nvdec
from filmgate.feed.nvdec_driver import nvdec_capabilities
from tests.footage import read_index, write_video

pytestmark = pytest.mark.gpu

SIZE = {"width": 320, "height": 240}
X264 = {"codec": "libx264", **SIZE}
VIDEOS: dict[str, dict[str, object]] = {
    "plain.mp4": X264,
    "long.mkv": {**X264, "gop": 250, "b_frames": 3},
    "open.mp4": {**X264, "options": {"x264-params": "open-gop=1:bframes=3:b-pyramid=normal"}},
    "fields.mp4": {**X264, "options": {"x264-params": "tff=1:bframes=2"}},
    "odd_rows.mp4": {"codec": "libx264", "width": 322, "height": 250},
    "full.mp4": {**X264, "pixel_format": "yuvj420p"},
    "stream.ts": X264,
    "uneven.mp4": {**X264, "pts": [i * 40 + (i % 3) * 7 for i in range(60)]},
    "hevc.mp4": {**SIZE, "codec": "libx265", "options": {"x265-params": "log-level=none"}},
    "deep.mp4": {
        **SIZE,
        "codec": "libx265",
        "pixel_format": "yuv420p10le",
        "options": {"x265-params": "log-level=none:bframes=3"},
    },
    "vp9.mkv": {**SIZE, "codec": "libvpx-vp9", "options": {"auto-alt-ref": "1", "cpu-used": "8"}},
}
NUM_FRAMES = 60


@pytest.fixture(scope="module")
def on_disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that NVDEC decodes, and two that it does not: mpeg4.avi and whole.mp4 (4:4:4)."""
    folder = tmp_path_factory.mktemp("nvdec")
    for number, (name, options) in enumerate(VIDEOS.items()):
        write_video(folder / name, num_frames=NUM_FRAMES, hue=number * 5, **options)
    write_video(folder / "mpeg4.avi", num_frames=NUM_FRAMES, codec="mpeg4", **SIZE)
    write_video(folder / "whole.mp4", num_frames=NUM_FRAMES, pixel_format="yuv444p", **SIZE)
    return folder


@pytest.fixture(scope="module")
def videos(on_disk: Path) -> Catalog:
    """Their catalog."""
    return index_videos([on_disk], on_disk / "catalog", workers=0)


@pytest.fixture
def gpu() -> torch.device:
    return torch.device("cuda", 0)


def row_of(catalog: Catalog, name: str) -> int:
    rows = range(catalog.num_videos)
    return next(row for row in rows if catalog.video(row).path.endswith(f"/{name}"))


def levels(lane: DeviceLane, row: int, indices: list[int]) -> dict[int, tuple[torch.Tensor, ...]]:
    """Frame -> its luma and chroma, in main memory."""
    return {
        index: (luma_levels(samples).cpu(), chroma_levels(samples).cpu())
        for index, frame in lane.frames(row, indices)
        for samples in (samples_of(frame),)
    }


def test_the_driver_tells_what_every_gpu_of_today_decodes() -> None:
    capabilities = nvdec_capabilities(0)
    assert capabilities.device_name == torch.cuda.get_device_name(0)
    listed = {(limits.codec, limits.bits_per_sample) for limits in capabilities.limits}
    assert {("h264", 8), ("hevc", 8), ("hevc", 10), ("vp9", 8)} <= listed
    for limits in capabilities.limits:
        assert limits.min_width < limits.max_width <= 65536, limits
        assert limits.max_macroblocks >= 8192, limits


@pytest.mark.parametrize("name", VIDEOS)
def test_every_sample_of_every_frame_is_the_cpu_decoders(videos, gpu, name):
    row = row_of(videos, name)
    assert why_not_nvdec(videos.video(row), nvdec_capabilities(0)) is None
    every = list(range(NUM_FRAMES))
    got = levels(DeviceLane(videos, gpu, cuda_device=0), row, every)
    expected = levels(DeviceLane(videos, torch.device("cpu")), row, every)
    assert list(got) == list(expected) == every
    for index in every:
        for one, other in zip(got[index], expected[index], strict=True):
            assert torch.equal(one, other), f"frame {index}"


@pytest.mark.parametrize("name", VIDEOS)
def test_random_lists_give_the_frames_asked_for(videos, gpu, name):
    row, drawn = row_of(videos, name), np.random.default_rng(1)
    nvdec, cpu = DeviceLane(videos, gpu, cuda_device=0), DeviceLane(videos, gpu)
    for _ in range(12):
        indices = drawn.integers(0, NUM_FRAMES, drawn.integers(1, 9)).tolist()
        (clip,), (expected,) = nvdec.read(row, [indices]), cpu.read(row, [indices])
        assert clip.device == gpu and torch.equal(clip, expected), indices
        assert [read_index(f.permute(1, 2, 0).cpu().numpy()) for f in clip] == indices


def test_requests_over_many_videos_come_back_in_order_and_say_who_decoded(videos):
    drawn = np.random.default_rng(2)
    rows = drawn.integers(0, videos.num_videos, 40).tolist()
    requests = [(row, drawn.integers(0, NUM_FRAMES, 4).tolist()) for row in rows]
    with open_device_reader(videos, device="cuda") as reader:
        for (_, indices), clip in zip(requests, reader.read_many(requests), strict=True):
            assert clip.is_cuda
            assert [read_index(f.permute(1, 2, 0).cpu().numpy()) for f in clip] == indices
        stats = reader.stats()
        on_cpu = {videos.video(d.video).path.rsplit("/")[-1] for d in stats.videos_on_cpu}
        assert reader.decoder_of(row_of(videos, "plain.mp4")).decoder == "nvdec"
    assert on_cpu == {"mpeg4.avi", "whole.mp4"}
    assert all(decoder.reason for decoder in stats.videos_on_cpu)
    assert stats.frames_from_nvdec > 0 and stats.frames_from_cpu > 0


@pytest.mark.parametrize("sizes", [{}, {"size": (112, 112)}, {"short_side": 300}])
@pytest.mark.parametrize("name", ["plain.mp4", "full.mp4", "deep.mp4", "whole.mp4"])
def test_values_are_those_of_the_clip_reader_within_two_levels(videos, name, sizes):
    row, indices = row_of(videos, name), [0, 17, 59]
    with open_device_reader(videos, device="cuda", **sizes) as reader:
        clip_TCHW = reader.read(row, indices).cpu().numpy().astype(int)
    expected = ClipReader(videos, **sizes).read(row, indices).transpose(0, 3, 1, 2)
    assert np.abs(clip_TCHW - expected).max() <= 2


def test_another_stream_and_another_thread_see_whole_frames(videos, gpu):
    row, indices = row_of(videos, "long.mkv"), [59, 3, 30, 31]
    (expected,) = DeviceLane(videos, gpu).read(row, [indices])
    wrong: list[int] = []

    def work() -> None:
        lane = DeviceLane(videos, gpu, cuda_device=0)
        with torch.cuda.stream(torch.cuda.Stream(gpu)):
            for number in range(20):
                (clip,) = lane.read(row, [indices])
                if not torch.equal(clip, expected):
                    wrong.append(number)
        lane.close()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
        assert not thread.is_alive()
    assert wrong == []


def test_memory_stays_flat_over_many_opens(videos, gpu):
    row, lane = row_of(videos, "plain.mp4"), DeviceLane(videos, gpu, cuda_device=0)

    def open_and_close(times: int) -> int:
        for number in range(times):
            lane.read(row, [[number % NUM_FRAMES]])
            lane.close()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        return torch.cuda.mem_get_info(gpu)[0]

    free_bytes = open_and_close(10)
    assert open_and_close(150) > free_bytes - 32_000_000


def test_more_videos_than_decoders_are_read_by_turns(videos, gpu):
    lane = DeviceLane(videos, gpu, cuda_device=0)
    rows = [row_of(videos, name) for name in VIDEOS]
    for index in (40, 5, 41):
        for row in rows:
            (clip,) = lane.read(row, [[index]])
            assert read_index(clip[0].permute(1, 2, 0).cpu().numpy()) == index


def test_auto_holds_one_trial_and_shows_it(videos):
    first = open_device_reader(videos, device="auto", size=(112, 112)).backend
    again = open_device_reader(videos, device="auto", size=(112, 112)).backend
    assert first.device == "cuda:0" and first.trial is not None and first.trial.are_equal
    assert again.trial is first.trial
    assert "clips/s by NVDEC" in first.reason
    many = open_device_reader(videos, size=(112, 112), num_cores=100_000).backend
    assert many.decoder == "cpu" and many.trial is first.trial


def test_a_gpu_that_is_not_there_is_refused(videos):
    with pytest.raises(UserError, match="no GPU 99"):
        open_device_reader(videos, device="cuda", device_index=99)


def test_a_file_that_changed_is_an_error_and_not_another_frame(on_disk, tmp_path):
    path = tmp_path / "plain.mp4"
    path.write_bytes((on_disk / "plain.mp4").read_bytes())
    catalog = index_videos([path], tmp_path / "catalog", workers=0)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 255
    path.write_bytes(content)
    with open_device_reader(catalog, device="cuda") as reader, pytest.raises(VideoError):
        reader.read(0, [30])
