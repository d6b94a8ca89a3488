"""What the container and the first decoded frame say about a video stream."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import av
from av.sidedata.sidedata import SideDataContainer, Type

from filmgate.video.container import OpenVideo
from filmgate.video.table import SeekBy

FIELD_ORDERS = {
    1: "progressive",
    2: "top-first",
    3: "bottom-first",
    4: "top-first",
    5: "bottom-first",
}
"""AVFieldOrder. 4 and 5 as muxers use them: interleaved fields, top or bottom one first in time."""
ALWAYS_PROGRESSIVE = {"vp8", "vp9", "av1", "gif", "h263"}
"""Codecs that know no fields."""
RANGES = {1: "limited", 2: "full"}
MATRICES = {
    0: "gbr", 1: "bt709", 4: "fcc", 5: "bt470bg", 6: "smpte170m", 7: "smpte240m", 8: "ycgco",
    9: "bt2020nc", 10: "bt2020c", 11: "smpte2085", 12: "chroma-derived-nc",
    13: "chroma-derived-c", 14: "ictcp",
}  # fmt: skip
PRIMARIES = {
    1: "bt709", 4: "bt470m", 5: "bt470bg", 6: "smpte170m", 7: "smpte240m", 8: "film",
    9: "bt2020", 10: "smpte428", 11: "smpte431", 12: "smpte432", 22: "ebu3213",
}  # fmt: skip
TRANSFERS = {
    1: "bt709", 4: "bt470m", 5: "bt470bg", 6: "smpte170m", 7: "smpte240m", 8: "linear",
    9: "log100", 10: "log316", 11: "iec61966-2-4", 12: "bt1361e", 13: "iec61966-2-1",
    14: "bt2020-10", 15: "bt2020-12", 16: "smpte2084", 17: "smpte428", 18: "arib-std-b67",
}  # fmt: skip
"""FFmpeg's names of ITU-T H.273 code points; 2 is "unspecified" and therefore missing."""


@dataclass(frozen=True, kw_only=True)
class StreamProperties:
    """What indexing needs to know, and the facts that come straight from the file."""

    told: dict[str, Any]
    """Fields of VideoFacts by name."""
    time_base: Fraction
    """Seconds per tick of packet times."""
    frame_ticks: int
    """Ticks per frame at the nominal rate, at least 1."""
    nominal_fps: Fraction
    """What the container calls its frame rate; 25 where it calls none."""
    stream_index: int
    file_bytes: int
    seek_by: SeekBy
    """What the demuxer should understand."""
    is_intra_only: bool
    """Whether every packet of the codec stands alone."""


def stream_properties(video: OpenVideo, frame: av.VideoFrame) -> StreamProperties:
    """Read them off an open file and the first frame that came out of it."""
    stream, container = video.stream, video.container
    time_base = stream.time_base or Fraction(1, 90_000)
    fps = stream.average_rate or stream.guessed_rate or stream.base_rate or Fraction(25)
    return StreamProperties(
        told=_told(video, frame),
        time_base=time_base,
        frame_ticks=max(1, round(1 / (fps * time_base))),
        nominal_fps=fps,
        stream_index=stream.index,
        file_bytes=container.size,
        seek_by=_seek_by(container.format.name),
        is_intra_only=stream.codec_context.codec.intra_only,
    )


def _seek_by(container_name: str) -> SeekBy:
    """What a demuxer's own index is keyed by; bytes where its search by time is not to be had."""
    if container_name.startswith("matroska"):
        return "pts"
    return "dts" if container_name in ("avi", "flv", "asf") or "mp4" in container_name else "byte"


def _told(video: OpenVideo, frame: av.VideoFrame) -> dict[str, Any]:
    stream, context = video.stream, video.stream.codec_context
    rotation, mirrored = _orientation(frame)
    aspect = stream.sample_aspect_ratio
    return {
        "container": video.container.format.name,
        "codec": context.codec.canonical_name,
        "pixel_format": frame.format.name,
        "width": frame.width,
        "height": frame.height,
        "rotation_degrees": rotation,
        "mirrored": mirrored,
        "sample_aspect": (aspect.numerator, aspect.denominator) if aspect else None,
        "interlacing": _interlacing(context),
        "color_range": _range(context, frame),
        "color_matrix": MATRICES.get(_tag(context.colorspace, frame.colorspace)),
        "color_primaries": PRIMARIES.get(_tag(context.color_primaries, frame.color_primaries)),
        "color_transfer": TRANSFERS.get(_tag(context.color_trc, frame.color_trc)),
        "bits_per_sample": max(component.bits for component in frame.format.components),
        "has_audio": bool(video.container.streams.audio),
        "frames_from_header": stream.frames or None,
    }


def _tag(of_stream: int, of_frame: int) -> int:
    """The stream's code point, or the frame's where the stream has none."""
    return of_stream if of_stream != 2 else of_frame


def _range(context: av.VideoCodecContext, frame: av.VideoFrame) -> str | None:
    if frame.format.name.startswith("yuvj"):
        return "full"
    return RANGES.get(context.color_range or frame.color_range)


def _interlacing(context: av.VideoCodecContext) -> str | None:
    if context.codec.canonical_name in ALWAYS_PROGRESSIVE:
        return "progressive"
    return FIELD_ORDERS.get(context.field_order)


def _orientation(frame: av.VideoFrame) -> tuple[int, bool]:
    """(clockwise degrees to apply, whether to flip left to right before) from the display matrix.

    The matrix takes stored (x, y) to displayed (a x + c y, b x + d y), y pointing down, as in
    libavutil/display.h; a clockwise turn by t is a = d = cos t, b = -c = sin t.
    """
    side_data = cast(SideDataContainer, frame.side_data)  # its stub names it a plain dict
    if Type.DISPLAYMATRIX not in side_data:
        return 0, False
    a, b, _, c, d, *_ = struct.unpack("=9i", bytes(side_data[Type.DISPLAYMATRIX]))
    mirrored = a * d - b * c < 0
    turn = math.degrees(math.atan2(-b, -a) if mirrored else math.atan2(b, a))
    return round(turn / 90) * 90 % 360, mirrored
