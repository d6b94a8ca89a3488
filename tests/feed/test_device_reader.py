"""The reader that gives tensors: its choice, its fallbacks, its values, as far as a CPU shows them.

A lane that asks for NVDEC fails here for real, because there is no driver; what takes over is the
CPU's. What NVDEC itself gives is in test_on_gpu.py.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import torch

from filmgate.catalog import Catalog, index_videos
from filmgate.errors import UndecodableFrame, UserError, VideoError
from filmgate.feed import ClipReader
from filmgate.feed.backend import Backend, Trial, faster
from filmgate.feed.device_lane import DeviceLane
from filmgate.feed.device_reader import DeviceClipReader, open_device_reader
from filmgate.feed.device_trial import NUM_VIDEOS, hold_trial, middle_frames, trial_clips
from tests.feed.nvdec_answers import recorded_capabilities
from tests.footage import read_index, write_video

CPU = torch.device("cpu")
no_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
REQUESTS = [(0, [5, 30, 5]), (1, [0, 59]), (0, [31])]
TRIAL = Trial(
    num_clips=8,
    frames_per_clip=16,
    nvdec_seconds_per_clip=0.02,
    nvdec_cpu_seconds_per_clip=0.005,
    cpu_seconds_per_clip=0.1,
    are_equal=True,
)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """One video that NVDEC would decode, and one that it would not."""
    folder = tmp_path_factory.mktemp("mixed")
    write_video(folder / "a.mp4", num_frames=40, width=192, height=160)
    write_video(folder / "b.avi", num_frames=40, width=192, height=160, codec="mpeg4")
    return index_videos([folder], folder / "catalog", workers=0)


def reader_that_asks_for_nvdec(catalog: Catalog) -> DeviceClipReader:
    """As on a machine whose GPU is gone: the table says yes, and opening fails."""
    backend = Backend(decoder="nvdec", device="cpu", device_name="gone", reason="a test")
    return DeviceClipReader(
        catalog,
        backend,
        nvdec=DeviceLane(catalog, CPU, cuda_device=0),
        cpu=DeviceLane(catalog, CPU),
        capabilities=recorded_capabilities(),
    )


@pytest.mark.parametrize("sizes", [{}, {"size": (40, 40)}, {"short_side": 32}])
def test_on_the_cpu_values_are_those_of_the_clip_reader(catalog, sizes):
    with open_device_reader(catalog, device="cpu", **sizes) as reader:
        clips = reader.read_many(REQUESTS)
        again = reader.read(0, [5, 30, 5])
    expected = ClipReader(catalog, **sizes).read_many(REQUESTS)
    for clip_TCHW, other_THWC in zip(clips, expected, strict=True):
        assert clip_TCHW.dtype == torch.uint8 and clip_TCHW.is_contiguous()
        assert (clip_TCHW.numpy() == other_THWC.transpose(0, 3, 1, 2)).all()
    assert torch.equal(again, clips[0])


def test_what_was_asked_for_is_the_reason(catalog):
    backend = open_device_reader(catalog, device="cpu").backend
    assert (backend.decoder, backend.device) == ("cpu", "cpu")
    assert "was asked for" in backend.reason and backend.trial is None


@no_gpu
def test_auto_without_a_gpu_is_the_cpu_and_says_why(catalog):
    with open_device_reader(catalog) as reader:
        assert reader.backend.decoder == "cpu" and "torch" in reader.backend.reason
        assert reader.decoder_of(0).reason == reader.backend.reason
        reader.read(0, [0])
        assert reader.stats().frames_from_cpu > 0 and reader.stats().frames_from_nvdec == 0


@no_gpu
def test_cuda_without_a_gpu_is_refused_with_a_way_out(catalog):
    with pytest.raises(UserError) as caught:
        open_device_reader(catalog, device="cuda")
    assert caught.value.hint


def test_an_unknown_device_is_refused(catalog):
    with pytest.raises(UserError, match="no device 'gpu'"):
        open_device_reader(catalog, device="gpu")


def test_what_is_not_there_is_an_index_error(catalog):
    with open_device_reader(catalog, device="cpu") as reader:
        for video, frame in ((0, 60), (4, 0)):
            with pytest.raises(IndexError):
                reader.read(video, [frame])


def test_no_frames_are_an_empty_clip(catalog):
    assert open_device_reader(catalog, device="cpu").read(0, []).shape == (0, 3, 64, 96)


@pytest.mark.parametrize(
    ("codec", "suffix", "pixel_format"),
    [
        ("libx264", ".mp4", "yuv420p"),
        ("libx264", ".mp4", "yuv422p"),
        ("libx265", ".mp4", "yuv420p10le"),
        ("libvpx", ".mkv", "yuv420p"),
        ("libvpx-vp9", ".mkv", "yuv420p"),
        ("mpeg4", ".mp4", "yuv420p"),
        ("mpeg2video", ".mkv", "yuv420p"),
    ],
)
def test_the_conversion_of_the_device_gives_the_values_of_the_clip_reader(
    tmp_path, codec, suffix, pixel_format
):
    path = tmp_path / f"a{suffix}"
    write_video(path, num_frames=12, width=192, codec=codec, pixel_format=pixel_format)
    catalog = index_videos([path], tmp_path / "catalog", workers=0)
    for sizes, most in (({}, 2), ({"size": (50, 70)}, 1), ({"size": (200, 400)}, 1)):
        (clip_TCHW,) = DeviceLane(catalog, CPU).read(0, [[3, 11]], **sizes)
        expected = ClipReader(catalog, **sizes).read(0, [3, 11]).transpose(0, 3, 1, 2)
        assert abs(clip_TCHW.numpy().astype(int) - expected).max() <= most, sizes


def test_a_layout_that_the_device_does_not_convert_is_painted(tmp_path):
    write_video(tmp_path / "gray.mkv", codec="ffv1", pixel_format="gray")
    catalog = index_videos([tmp_path], tmp_path / "catalog", workers=0)
    (clip_TCHW,) = DeviceLane(catalog, CPU).read(0, [[7]])
    expected = ClipReader(catalog).read(0, [7]).transpose(0, 3, 1, 2)
    assert (clip_TCHW.numpy() == expected).all()


@no_gpu
def test_when_nvdec_fails_the_cpu_takes_over_and_the_reader_says_so(mixed):
    with reader_that_asks_for_nvdec(mixed) as reader:
        assert reader.decoder_of(0).decoder == "nvdec"
        clip_TCHW = reader.read(0, [7, 33])
        assert reader.decoder_of(0).decoder == "cpu"
        assert "NVDEC failed: NVDEC does not open it" in (reader.decoder_of(0).reason or "")
        stats = reader.stats()
    assert [read_index(frame.permute(1, 2, 0).numpy()) for frame in clip_TCHW] == [7, 33]
    assert stats.num_videos_on_cpu == 1 and stats.videos_on_cpu[0].video == 0
    assert stats.frames_from_cpu > 0


def test_a_video_that_nvdec_does_not_decode_goes_to_the_cpu_at_once(mixed):
    with reader_that_asks_for_nvdec(mixed) as reader:
        reader.read(1, [3])
        assert reader.decoder_of(1).decoder == "cpu"
        assert "inverse transform" in (reader.decoder_of(1).reason or "")
        assert reader.stats().frames_from_nvdec == 0


@no_gpu
def test_a_frame_that_neither_gives_is_an_error(mixed, tmp_path):
    path = Path(mixed.video(0).path)
    copy = tmp_path / "a.mp4"
    copy.write_bytes(path.read_bytes())
    catalog = index_videos([copy], tmp_path / "catalog", workers=0)
    copy.write_bytes(path.read_bytes() + b"more")
    with reader_that_asks_for_nvdec(catalog) as reader, pytest.raises(VideoError, match="changed"):
        reader.read(0, [0])


def test_a_frame_in_main_memory_is_no_frame_of_nvdec(mixed):
    lane = DeviceLane(mixed, CPU)
    lane._cuda_device = 0
    with pytest.raises(UndecodableFrame, match="NVDEC was asked, and a yuv420p frame came"):
        lane.read(0, [[0]])


@pytest.mark.parametrize(("num_frames", "expected"), [(1, [0]), (10, [0, 2, 4, 6, 8])])
def test_a_trial_takes_what_a_short_video_has(num_frames, expected):
    assert middle_frames(num_frames) == expected


def test_a_trial_takes_frames_around_the_middle():
    frames = middle_frames(1000)
    assert len(frames) == 16 and (frames[0] + frames[-1]) // 2 == 499


def test_a_trial_takes_videos_that_nvdec_decodes(mixed, tmp_path):
    assert [clip.video for clip in trial_clips(mixed, recorded_capabilities())] == [0]
    for number in range(11):
        write_video(tmp_path / f"{number}.mp4", num_frames=3, width=64, height=48)
    many = index_videos([tmp_path], tmp_path / "catalog", workers=0)
    assert 1 < len(trial_clips(many, recorded_capabilities())) <= NUM_VIDEOS


def test_two_decoders_that_agree_are_found_equal_and_both_cost_something(mixed):
    clips = trial_clips(mixed, recorded_capabilities())
    trial = hold_trial(clips, DeviceLane(mixed, CPU), DeviceLane(mixed, CPU), (32, 32), None)
    assert trial.are_equal and trial.num_clips == 2 and trial.frames_per_clip == 16
    assert trial.nvdec_seconds_per_clip > 0 and trial.cpu_seconds_per_clip > 0


def test_two_decoders_that_differ_are_found_out(mixed, tmp_path):
    write_video(tmp_path / "a.mp4", num_frames=40, width=192, height=160, hue=9)
    other = index_videos([tmp_path], tmp_path / "catalog", workers=0)
    clips = trial_clips(mixed, recorded_capabilities())
    trial = hold_trial(clips, DeviceLane(other, CPU), DeviceLane(mixed, CPU), None, 32)
    assert not trial.are_equal
    assert faster(trial, 1)[0] == "cpu" and "other samples" in faster(trial, 1)[1]


@pytest.mark.parametrize(("num_cores", "decoder"), [(1, "nvdec"), (4, "nvdec"), (6, "cpu")])
def test_the_faster_decoder_is_taken_and_cores_count(num_cores, decoder):
    chosen, reason = faster(TRIAL, num_cores)
    assert chosen == decoder
    assert "50.0 clips/s by NVDEC" in reason and f"{num_cores * 10}.0 by {num_cores}" in reason


def test_other_samples_are_worse_than_any_speed():
    differs = msgspec.structs.replace(TRIAL, are_equal=False, nvdec_seconds_per_clip=1e-6)
    assert faster(differs, 1)[0] == "cpu"
