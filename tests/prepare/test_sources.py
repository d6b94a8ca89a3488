"""Every kind of source: frames, times and colours of the copy are those of the source."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import av
import numpy as np
import pytest
from av.video.reformatter import ColorRange, Colorspace

from filmgate.catalog import index_videos
from filmgate.errors import UserError
from filmgate.prepare.copies import prepare_copies
from filmgate.prepare.recipe import Recipe
from filmgate.work import LocalExecutor
from tests.footage import write_video
from tests.prepare.copying import LAYOUTS, TEMPORAL, copied, largest_difference, same_times
from tests.video import recipes
from tests.video.recipes import X264, ffmpeg, pattern

TOLERANCE = 14.0
"""Levels between cells of 8x8 pixels, the worst of four frames: the reader itself spreads chroma of
10 bits, or of 4:4:4, a little otherwise than that of 8 bits. Another turn is 60 and more away."""
COLOUR_TOLERANCE = 6.0
"""The same for plain bars: BT.709 turned into BT.601 in 8 bits is up to 5 off; another matrix is 15
and more, another range 16."""
FIELDS = "testsrc2=size=96x64:rate=50:duration=1,gblur=sigma=5"
ODD = "testsrc2=size=65x49:rate=25:duration=1,format=rgb24,gblur=sigma=5"
needs_ffmpeg = pytest.mark.skipif(recipes.FFMPEG is None, reason="needs the ffmpeg command")
SMALL = "testsrc2=size=96x64:rate=25:duration=1,gblur=sigma=5"
"""Soft, so that halving chroma and scaling change it little, and all that differs is a fault."""


def vfr(folder: Path) -> Path:
    steps = [0, 40, 75, 130, 160, 200, 241, 280, 333, 360, 400, 450]
    return write_video(folder / "vfr.mkv", num_frames=12, pts=steps)


def late_start(folder: Path) -> Path:
    path = folder / "late.mp4"
    ffmpeg("-itsoffset", "2.5", "-i", str(recipes.r00(folder)), "-c", "copy", str(path))
    return path


def wide_pixels(folder: Path) -> Path:
    return pattern(folder / "sar.mp4", *X264, "-vf", "setsar=3/2", source=SMALL)


def turned_wide_pixels(folder: Path) -> Path:
    """By 90 degrees clockwise, as the matrix in the track header says."""
    path = wide_pixels(folder)
    content, one = bytearray(path.read_bytes()), 1 << 16
    at = content.index(b"tkhd") + 4 + 40
    content[at : at + 36] = struct.pack(">9i", 0, one, 0, -one, 0, 0, 0, 0, 1 << 30)
    path.write_bytes(content)
    return path


def odd_sides(folder: Path) -> Path:
    return pattern(folder / "odd.webm", "-c:v", "libvpx-vp9", "-pix_fmt", "yuv420p", source=ODD)


def odd_full_chroma(folder: Path) -> Path:
    return pattern(folder / "odd.mp4", "-c:v", "libx264", "-pix_fmt", "yuv444p", source=ODD)


def interlaced(folder: Path) -> Path:
    options = (*X264, "-vf", "tinterlace=interleave_top,setfield=tff", "-flags", "+ildct+ilme",
               "-x264opts", "tff=1")  # fmt: skip
    return pattern(folder / "fields.mp4", *options, source=FIELDS)


def ten_bits(folder: Path) -> Path:
    return pattern(folder / "ten.mkv", "-c:v", "libx265", "-pix_fmt", "yuv420p10le",
                   "-x265-params", "log-level=error", source=SMALL)  # fmt: skip


def rgb(folder: Path) -> Path:
    return pattern(folder / "rgb.mkv", "-c:v", "libx264rgb", "-crf", "1", source=SMALL)


def gray(folder: Path) -> Path:
    return pattern(folder / "gray.mkv", "-c:v", "ffv1", "-pix_fmt", "gray", source=SMALL)


def palette(folder: Path) -> Path:
    few = "split[a][b];[a]palettegen[p];[b][p]paletteuse=dither=none"
    return pattern(folder / "few.gif", "-filter_complex", few, source=SMALL)


KINDS: dict[str, Callable[[Path], Path]] = {
    "times of its own": vfr,
    "a start later than zero": late_start,
    "an edit list": recipes.r01,
    "turned by 90": lambda folder: recipes.r08(folder, 90),
    "turned by 180": lambda folder: recipes.r08(folder, 180),
    "turned by 270": lambda folder: recipes.r08(folder, 270),
    "mirrored": lambda folder: recipes.r08(folder, 0, mirrored=True),
    "mirrored and turned": lambda folder: recipes.r08(folder, 90, mirrored=True),
    "wide pixels": wide_pixels,
    "wide pixels, turned": turned_wide_pixels,
    "odd sides": odd_sides,
    "odd sides, full chroma": odd_full_chroma,
    "ten bits": ten_bits,
    "RGB": rgb,
    "gray": gray,
    "a palette": palette,
    "fragments": recipes.r12,
    "open groups": recipes.hevc_open,
}


@needs_ffmpeg
@pytest.mark.parametrize("layout", ["temporal", "decoded"])
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_a_copy_has_the_frames_times_and_looks_of_its_source(
    kind: Callable[[Path], Path], layout: str, tmp_path: Path
) -> None:
    pair = copied(kind(tmp_path), tmp_path, Recipe(layout=LAYOUTS[layout]))
    facts, copy = pair.source.video(0), pair.copies.video(0)
    assert copy.num_frames == facts.num_frames
    assert same_times(pair)
    assert (copy.rotation_degrees, copy.mirrored, copy.sample_aspect in (None, (1, 1))) == (
        0, False, True,
    )  # fmt: skip
    assert largest_difference(pair) < TOLERANCE


@needs_ffmpeg
def test_an_interlaced_source_gives_one_full_frame_for_each_of_its_own(tmp_path: Path) -> None:
    pair = copied(interlaced(tmp_path), tmp_path, Recipe(layout=TEMPORAL))
    assert pair.source.video(0).interlacing == "top-first"
    assert pair.copies.video(0).interlacing not in ("top-first", "bottom-first")
    assert same_times(pair)


@needs_ffmpeg
def test_woven_fields_stay_at_the_sources_height_and_are_left_out_at_another(
    tmp_path: Path,
) -> None:
    path = interlaced(tmp_path)
    pair = copied(path, tmp_path / "a", Recipe(layout=TEMPORAL, interlaced="weave"))
    assert largest_difference(pair) < TOLERANCE
    with pytest.raises(UserError, match="its fields cannot stay woven"):
        copied(path, tmp_path / "b", Recipe(layout=TEMPORAL, interlaced="weave", short_side=32))
    with pytest.raises(UserError, match="it is interlaced"):
        copied(path, tmp_path / "c", Recipe(layout=TEMPORAL, interlaced="leave-out"))


@needs_ffmpeg
@pytest.mark.parametrize(
    ("kind", "why"),
    [(recipes.r13, "change shape"), (recipes.repeated_times, "shown for no time")],
)
def test_what_no_copy_can_hold_is_left_out_with_the_reason(
    kind: Callable[[Path], Path], why: str, tmp_path: Path
) -> None:
    (tmp_path / "videos").mkdir()
    (tmp_path / "work").mkdir()
    kind(tmp_path / "work").rename(tmp_path / "videos" / "odd.mkv")
    write_video(tmp_path / "videos" / "plain.mp4", num_frames=5)
    pair = copied(tmp_path / "videos", tmp_path, Recipe(layout=TEMPORAL))
    reasons = {one.video_id: one.reason for one in pair.prepared.left_out}
    if reasons or kind is recipes.r13:
        assert list(reasons) == ["odd.mkv"] and why in reasons["odd.mkv"]
        assert [one.reason for one in pair.copies.left_out] == list(reasons.values())


TAGS = {
    "bt601": ("smpte170m", 6, 6, 6, Colorspace.ITU601, ColorRange.MPEG),
    "bt601 full": ("smpte170m", 6, 6, 6, Colorspace.ITU601, ColorRange.JPEG),
    "bt709": ("bt709", 1, 1, 1, Colorspace.ITU709, ColorRange.MPEG),
    "bt709 full": ("bt709", 1, 1, 1, Colorspace.ITU709, ColorRange.JPEG),
    "bt2020": ("bt2020nc", 9, 9, 14, Colorspace.BT2020, ColorRange.MPEG),
    "bt709, no primaries": ("bt709", 1, 2, 2, Colorspace.ITU709, ColorRange.MPEG),
    "untagged": ("unspecified", 2, 2, 2, Colorspace.ITU601, ColorRange.UNSPECIFIED),
}
COLOURS = ((220, 30, 40), (30, 200, 60), (40, 50, 210), (230, 220, 30), (128, 128, 128),
           (250, 250, 250), (10, 10, 10), (200, 40, 200))  # fmt: skip


def bars(path: Path, tags: str) -> Path:
    """Bars of plain colours, 12 frames, stored as the tags say."""
    _, matrix, primaries, transfer, space, colour_range = TAGS[tags]
    image = np.repeat(np.array([COLOURS], np.uint8), 24, axis=1).repeat(64, axis=0)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=25, options={"crf": "4"})
        assert isinstance(stream, av.VideoStream)
        stream.height, stream.width, stream.pix_fmt = 64, image.shape[1], "yuv420p"
        context = stream.codec_context
        context.colorspace, context.color_primaries = matrix, primaries
        context.color_trc, context.color_range = transfer, int(colour_range)
        stored = ColorRange.MPEG if colour_range == ColorRange.UNSPECIFIED else colour_range
        for _ in range(12):
            frame = av.VideoFrame.from_ndarray(image, format="rgb24").reformat(
                format="yuv420p", dst_colorspace=space, dst_color_range=stored
            )
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("tags", TAGS)
def test_colours_of_a_copy_are_those_of_the_source_whatever_their_tags(
    tags: str, layout: str, tmp_path: Path
) -> None:
    pair = copied(bars(tmp_path / "bars.mp4", tags), tmp_path, Recipe(layout=LAYOUTS[layout]))
    assert largest_difference(pair, num_frames=2) < COLOUR_TOLERANCE


def test_copies_inside_the_folder_of_the_videos_are_no_videos_when_it_is_indexed_again(
    tmp_path: Path,
) -> None:
    (tmp_path / "nas").mkdir()
    write_video(tmp_path / "nas/v.mp4", num_frames=10)
    source = index_videos(tmp_path / "nas", tmp_path / "catalog", workers=0)
    recipe = Recipe(layout=LAYOUTS["jpeg"])
    with pytest.raises(UserError, match="is the folder of the videos themselves"):
        prepare_copies(source, tmp_path / "nas", recipe, executor=LocalExecutor(workers=0))
    prepare_copies(source, tmp_path / "nas/copies", recipe, executor=LocalExecutor(workers=0))
    again = index_videos(tmp_path / "nas", tmp_path / "catalog", workers=0)
    assert again.digest == source.digest
    assert [one.video_id for one in again.left_out] == ["copies"]
