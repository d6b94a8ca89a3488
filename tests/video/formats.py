"""The test pattern in the formats of the wild: codecs, depths, layouts, containers, starts.

Each is one line of ffmpeg over ``recipes.pattern``; the quirks that need more are in recipes.py.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

PATTERN = "testsrc2=size=96x64:rate=25:duration=2"
X264 = "-c:v libx264 -bf 2 -g 10"
X265 = "-c:v libx265 -x265-params keyint=10:bframes=2:log-level=error"
VP9 = "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -g 20"

FORMATS: dict[str, tuple[str, str, str]] = {
    "x264_10_bits": ("x264_10.mp4", f"{X264} -pix_fmt yuv420p10le", PATTERN),
    "x264_422": ("x264_422.mkv", f"{X264} -pix_fmt yuv422p", PATTERN),
    "x264_full_range": ("x264_full.mp4", f"{X264} -pix_fmt yuvj420p", PATTERN),
    "x264_m2ts": ("x264.m2ts", f"{X264} -pix_fmt yuv420p", PATTERN),
    "x264_flv": ("x264.flv", f"{X264} -pix_fmt yuv420p", PATTERN),
    "x264_no_edit_list": ("no_edts.mp4", f"{X264} -pix_fmt yuv420p -use_editlist 0", PATTERN),
    "x264_negative_times": (
        "negative.mp4", f"{X264} -pix_fmt yuv420p -movflags negative_cts_offsets", PATTERN,
    ),
    "x264_late_start": ("late.mkv", f"{X264} -pix_fmt yuv420p -output_ts_offset 100", PATTERN),
    "x264_late_start_mp4": ("late.mp4", f"{X264} -pix_fmt yuv420p -output_ts_offset 100", PATTERN),
    "x264_fragments_of_one_frame": (
        "frames.mp4", f"{X264} -pix_fmt yuv420p -movflags frag_every_frame+empty_moov", PATTERN,
    ),
    "x264_828_wide": (
        "wide.mp4", f"{X264} -pix_fmt yuv420p -frames:v 12", PATTERN.replace("96x64", "828x480"),
    ),
    "x264_1294_wide": (
        "wider.mp4", f"{X264} -pix_fmt yuv420p -frames:v 6", PATTERN.replace("96x64", "1294x964"),
    ),
    "x265_10_bits": ("x265_10.mp4", f"{X265} -pix_fmt yuv420p10le -tag:v hvc1", PATTERN),
    "x265_12_bits_444": ("x265_12.mkv", f"{X265} -pix_fmt yuv444p12le", PATTERN),
    "x265_groups_of_three": (
        "x265_3.mp4",
        "-c:v libx265 -pix_fmt yuv420p -x265-params keyint=3:min-keyint=3:log-level=error",
        PATTERN.replace("duration=2", "duration=6.4"),
    ),
    "raw_h265": ("raw.h265", f"{X265} -pix_fmt yuv420p", PATTERN),
    "vp9_10_bits": ("vp9_10.webm", f"{VP9} -pix_fmt yuv420p10le", PATTERN),
    "vp9_streamed": ("live.webm", f"{VP9} -pix_fmt yuv420p -live 1", PATTERN),
    "av1_10_bits": (
        "av1_10.mkv", "-c:v libaom-av1 -cpu-used 8 -g 20 -pix_fmt yuv420p10le", PATTERN,
    ),
    "prores": ("prores.mov", "-c:v prores_ks -pix_fmt yuv422p10le -frames:v 12", PATTERN),
    "ffv1": ("ffv1.mkv", "-c:v ffv1 -g 10 -pix_fmt yuv420p", PATTERN),
    "huffyuv": ("huffyuv.avi", "-c:v huffyuv -pix_fmt yuv422p -frames:v 12", PATTERN),
    "raw_video": ("raw.avi", "-c:v rawvideo -pix_fmt yuv420p -frames:v 12", PATTERN),
    "h263": ("h263.3gp", "-c:v h263 -g 10 -pix_fmt yuv420p", PATTERN.replace("96x64", "176x144")),
    "msmpeg4": ("divx3.avi", "-c:v msmpeg4 -g 10 -pix_fmt yuv420p", PATTERN),
    "mpeg1": ("mpeg1.mpg", "-c:v mpeg1video -bf 2 -g 10 -pix_fmt yuv420p", PATTERN),
    "mpeg2_422": ("mpeg2_422.mkv", "-c:v mpeg2video -bf 2 -g 10 -pix_fmt yuv422p", PATTERN),
    "jpeg_mov": ("jpeg.mov", "-c:v mjpeg -q:v 3 -pix_fmt yuvj422p", PATTERN),
}  # fmt: skip
"""Name -> file name, how ffmpeg encodes it, the pattern."""


def format_recipes(encode: Callable[..., Path]) -> dict[str, Callable[[Path], Path]]:
    """Name -> what makes the file in a folder, by ``encode(path, *options, source=...)``."""

    def make(name: str, folder: Path) -> Path:
        file_name, options, source = FORMATS[name]
        return encode(folder / file_name, *options.split(), source=source)

    return {name: partial(make, name) for name in FORMATS}
