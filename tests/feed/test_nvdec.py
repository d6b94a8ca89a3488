"""Which videos go to NVDEC: pure decisions over a driver's recorded answers."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from filmgate.catalog import index_videos
from filmgate.feed.nvdec import EXACT_BITS, NvdecCapabilities, why_not_nvdec
from filmgate.video import VideoFacts
from tests.feed.nvdec_answers import recorded_capabilities
from tests.footage import write_video

GPU = recorded_capabilities()


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> VideoFacts:
    """Of an ordinary H.264 video."""
    folder = tmp_path_factory.mktemp("plain")
    path = write_video(folder / "plain.mp4", num_frames=20, width=320, height=240)
    return index_videos([path], folder / "catalog", workers=0).video(0)


def why_not(facts: VideoFacts, **changes: object) -> str | None:
    return why_not_nvdec(msgspec.structs.replace(facts, **changes), GPU)


def test_an_ordinary_video_is_decoded_by_nvdec(facts):
    assert why_not(facts) is None


@pytest.mark.parametrize("codec", ["h264", "hevc", "vp9"])
def test_codecs_that_fix_every_bit_are(facts, codec):
    assert why_not(facts, codec=codec) is None


@pytest.mark.parametrize(
    ("codec", "reason"),
    [
        ("mpeg2video", "inverse transform"),
        ("mpeg4", "inverse transform"),
        ("av1", "libdav1d"),
        ("vp8", "does not decode vp8"),
        ("mjpeg", "not compared"),
        ("prores", "not compared"),
    ],
)
def test_other_codecs_are_not_and_say_why(facts, codec, reason):
    assert reason in (why_not(facts, codec=codec) or "")


def test_hevc_of_10_bit_is_and_h264_of_10_bit_is_not(facts):
    deep = {"pixel_format": "yuv420p10le", "bits_per_sample": 10}
    assert why_not(facts, codec="hevc", **deep) is None
    assert "h264 of 10 bit" in (why_not(facts, **deep) or "")


@pytest.mark.parametrize("pixel_format", ["yuv422p", "yuv444p", "gray", "gbrp"])
def test_nothing_but_4_2_0_is(facts, pixel_format):
    assert pixel_format in (why_not(facts, pixel_format=pixel_format) or "")


@pytest.mark.parametrize(
    ("size", "reason"),
    [
        ((32, 360), "smaller than 48 x 16"),
        ((4098, 100), "larger than 4096 x 4096"),
        ((321, 240), "odd"),
        ((320, 241), "odd"),
        ((48, 16), None),
        ((4096, 4096), None),
    ],
)
def test_sizes_have_to_be_even_and_within_what_the_gpu_takes(facts, size, reason):
    answer = why_not(facts, width=size[0], height=size[1])
    assert answer is None if reason is None else reason in (answer or "")


def test_a_picture_of_too_many_macroblocks_is_not(facts):
    limits = [msgspec.structs.replace(GPU.limits[0], max_macroblocks=1000)]
    gpu = NvdecCapabilities(device_name="small", limits=limits)
    assert why_not_nvdec(facts, gpu) is None
    large = msgspec.structs.replace(facts, width=640, height=480)
    assert "macroblocks" in (why_not_nvdec(large, gpu) or "")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"damage": ["a packet is missing"]}, "damaged"),
        ({"mixed_sizes": True}, "change size"),
        ({"access": "sequential", "access_reason": "no entry point"}, "no entry point"),
    ],
)
def test_odd_files_are_not(facts, changes, reason):
    assert reason in (why_not(facts, **changes) or "")


def test_a_gpu_that_decodes_nothing_is_asked_for_nothing(facts):
    gpu = NvdecCapabilities(device_name="none", limits=[])
    for codec in EXACT_BITS:
        changed = msgspec.structs.replace(facts, codec=codec)
        assert why_not_nvdec(changed, gpu) == f"none does not decode {codec} of 8 bit"


def test_the_recorded_answers_name_their_sources():
    content = msgspec.json.decode(Path(__file__).with_name("nvdec_capabilities.json").read_bytes())
    listed = {limits["codec"] for limits in content["capabilities"]["limits"]}
    assert listed <= set(content["sources"])
