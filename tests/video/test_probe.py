from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from filmgate.errors import UnreadableVideo
from filmgate.video import VideoFacts, probe
from tests.footage import write_video
from tests.video import recipes
from tests.video.corpus import BROKEN, VIDEOS, needs_corpus
from tests.video.test_exact import needs_ffmpeg


def facts_of(path: Path) -> VideoFacts:
    return probe(path)[0]


def test_an_untagged_video_has_no_invented_facts(tmp_path: Path) -> None:
    facts, table = probe(write_video(tmp_path / "v.mp4", num_frames=30))
    assert (facts.codec, facts.pixel_format, facts.width, facts.height) == (
        "h264",
        "yuv420p",
        96,
        64,
    )
    assert facts.color_range is facts.color_matrix is facts.color_transfer is None
    assert facts.interlacing == "progressive"
    assert facts.average_fps == (25, 1)
    assert not facts.has_audio
    assert facts.index_from == "packets"
    assert table.duration_seconds == 1.2


def test_sound_beside_the_picture_is_told(tmp_path: Path) -> None:
    assert facts_of(write_video(tmp_path / "v.mp4", num_frames=20, audio=True)).has_audio


def test_key_frames_far_apart_are_told(tmp_path: Path) -> None:
    assert (
        facts_of(
            write_video(tmp_path / "v.mp4", num_frames=60, gop=250)
        ).max_frames_between_entry_points
        == 60
    )


@needs_ffmpeg
@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
def test_the_display_matrix_is_a_clockwise_turn_after_a_flip(
    tmp_path: Path, degrees: int, mirrored: bool
) -> None:
    facts = facts_of(recipes.r08(tmp_path, degrees, mirrored=mirrored))
    assert (facts.rotation_degrees, facts.mirrored) == (degrees, mirrored)
    assert (facts.width, facts.height) == (96, 64)


@needs_corpus
def test_the_turn_of_a_phone_video_is_the_one_players_apply() -> None:
    # ffprobe says "rotation of 90.00 degrees", counter-clockwise.
    assert facts_of(VIDEOS / "synthetic" / "R08_rot.mp4").rotation_degrees == 270


@needs_ffmpeg
@pytest.mark.parametrize(
    ("tags", "want"),
    [
        (("tv", "bt709", "bt709", "bt709"), ("limited", "bt709", "bt709", "bt709")),
        (("pc", "smpte170m", "smpte170m", "smpte170m"), ("full", *["smpte170m"] * 3)),
        (("tv", "bt2020nc", "bt2020", "smpte2084"), ("limited", "bt2020nc", "bt2020", "smpte2084")),
    ],
)
def test_colour_tags_are_read(tmp_path: Path, tags: tuple[str, ...], want: tuple[str, ...]) -> None:
    names = ("-color_range", "-colorspace", "-color_primaries", "-color_trc")
    options = [word for pair in zip(names, tags, strict=True) for word in pair]
    facts = facts_of(recipes.pattern(tmp_path / "c.mp4", *recipes.X264, *options))
    got = (facts.color_range, facts.color_matrix, facts.color_primaries, facts.color_transfer)
    assert got == want


@needs_ffmpeg
def test_fields_are_told_with_their_order(tmp_path: Path) -> None:
    assert facts_of(recipes.x264_fields(tmp_path)).interlacing == "top-first"


@needs_corpus
def test_the_corpus_says_what_is_known_of_it() -> None:
    synthetic = VIDEOS / "synthetic"
    assert facts_of(synthetic / "xdcam-hd-1080i50.mov").interlacing == "top-first"
    assert facts_of(synthetic / "dv-pal-interlaced.mov").interlacing == "bottom-first"
    assert facts_of(synthetic / "R13_sizechange.mkv").mixed_sizes
    bt2020 = facts_of(synthetic / "bt2020_10bit.mp4")
    assert (bt2020.color_transfer, bt2020.bits_per_sample) == ("smpte2084", 10)
    lead_in = facts_of(synthetic / "R01_cutcopy.mp4")
    assert lead_in.frames_from_header == 40
    assert facts_of(synthetic / "R06_vfr.mp4").average_fps == (225, 23)


@needs_ffmpeg
@pytest.mark.parametrize(
    ("recipe", "reason"),
    [
        (recipes.r09, "its index (moov) is missing or damaged; the file is probably cut off"),
        (recipes.r20_zero, "no video stream in it"),
        (recipes.empty, "the file is empty"),
        (recipes.web_page, "a web page or other markup, not a video"),
        (recipes.audio_only, "audio only, no video stream"),
        (recipes.picture_as_video, "a still image, not a video"),
    ],
)
def test_an_unusable_file_is_refused_with_its_reason(
    tmp_path: Path, recipe: Callable[[Path], Path], reason: str
) -> None:
    path = recipe(tmp_path)
    with pytest.raises(UnreadableVideo) as caught:
        probe(path)
    assert caught.value.reason == reason
    assert str(path) in str(caught.value)


def test_a_missing_file_and_a_text_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableVideo, match="no such file"):
        probe(tmp_path / "none.mp4")
    text = tmp_path / "notes.txt"
    text.write_text("two lines\nof text\n" * 50)
    with pytest.raises(UnreadableVideo, match="text, not a video"):
        probe(text)


@needs_ffmpeg
@pytest.mark.parametrize("recipe", [recipes.r25, recipes.r09b, recipes.r01])
def test_a_header_that_promises_too_much_gives_the_true_count_at_once(
    tmp_path: Path, recipe: Callable[[Path], Path]
) -> None:
    path = recipe(tmp_path)
    frames = len(recipes.framemd5(path))
    since = time.process_time()
    facts, table = probe(path)
    assert time.process_time() - since < 1
    assert table.num_frames == frames
    assert facts.frames_from_header is not None
    assert facts.frames_from_header > frames


@needs_corpus
def test_the_broken_corpus_is_sorted_out() -> None:
    for name, frames in (("R09b_truncated.mp4", 29), ("R25_gaps.avi", 18)):
        assert probe(BROKEN / name)[1].num_frames == frames
    for name in ("R09_nomoov.mp4", "R20_zero.mp4"):
        with pytest.raises(UnreadableVideo):
            probe(BROKEN / name)


@needs_ffmpeg
def test_packets_that_show_nothing_are_no_frames(tmp_path: Path) -> None:
    path = recipes.vp8(tmp_path)
    facts, table = probe(path)
    assert facts.index_from == "packets"
    assert table.num_frames == len(recipes.framemd5(path)) == 50
    assert table.packet[-1] > 49
