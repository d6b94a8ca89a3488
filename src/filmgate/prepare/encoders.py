"""Which encoders this machine can use, and how each is told about a layout.

Options are FFmpeg's: https://ffmpeg.org/ffmpeg-codecs.html; of x264 and x265 their own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from typing import Literal, cast

import av
import numpy as np

from filmgate.prepare.recipe import Codec, Layout
from filmgate.prepare.scheduling import as_scheduled_before

Options = dict[str, str]
_TRIAL_SIZE = 256
"""Hardware encoders refuse pictures of less than about 150 pixels."""


@dataclass(frozen=True, kw_only=True)
class Encoder:
    """One encoder of FFmpeg and what it needs to be told."""

    name: str
    """In FFmpeg."""
    codec: Codec
    options: Callable[[Layout], Options]
    pixel_format: str
    """Of 8-bit pictures."""
    hdr_pixel_format: str | None
    """Of 10-bit pictures; None: it takes none."""
    container: str
    """FFmpeg's name of the format; its files carry exact times for this codec."""
    suffix: str
    """Of its files."""
    keeps_tags: Literal["each", "together", "none"] = "each"
    """Whether its files say which matrix and range the samples have: always, only where primaries
    and transfer are known as well, or never. Where they cannot, samples are made what the rule for
    untagged files says: BT.601 of limited range."""
    smallest_side: int = 2
    """Pixels; x265 writes past its buffers where a side is shorter than its largest block."""
    is_full_range: bool = False
    """Whether it always takes samples of full range, BT.601, as JPEG has them."""


def _closed_groups(layout: Layout) -> list[str]:
    """What x264 and x265 call alike: key frames where they are wanted, references as told."""
    return [
        f"keyint={layout.key_every}",
        f"min-keyint={layout.key_every}",
        "scenecut=0",
        "open-gop=0",
        f"bframes={layout.reference_every - 1}",
        "b-adapt=0",
    ]


def _constant_quality(layout: Layout) -> Options:
    return {"preset": "medium", "tune": "fastdecode", "crf": str(layout.quality)}


def _x264(layout: Layout) -> Options:
    own = [
        *_closed_groups(layout),
        "b-pyramid=none",
        "weightp=0",
        # Small blocks and several references cost decoding more than they save bytes.
        "ref=1",
        "partitions=none",
        # Bits must not depend on the number of threads, nor on what lay in memory before: x264
        # reads some of it when it looks ahead.
        "threads=1",
        "rc-lookahead=0",
    ]
    return _constant_quality(layout) | {"x264-params": ":".join(own)}


def _x265(layout: Layout) -> Options:
    # Where every frame stands alone, groups and pyramids have no meaning.
    groups = _closed_groups(layout) if layout.key_every > 1 else ["keyint=1", "bframes=0"]
    pyramid = ["b-pyramid=0"] if layout.key_every > 1 else []
    own = [*groups, *pyramid, "pools=none", "frame-threads=1", "log-level=error"]
    return _constant_quality(layout) | {"x265-params": ":".join(own)}


def _svtav1(layout: Layout) -> Options:
    own = f"keyint={layout.key_every}:pred-struct=1:lp=1:fast-decode=1:scd=0"
    return {"preset": "8", "crf": str(layout.quality), "svtav1-params": own}


def _nvenc(layout: Layout) -> Options:
    return {
        "preset": "p5",
        "rc": "constqp",
        "qp": str(layout.quality),
        "bf": str(layout.reference_every - 1),
        "b_ref_mode": "disabled",
        "g": str(layout.key_every),
        "no-scenecut": "1",
        "forced-idr": "1",
        "strict_gop": "1",
    }


def _quantiser(layout: Layout) -> Options:
    # The quantiser is held at its bounds; a rate far above what it gives keeps rate control still.
    return {"b": "1000000000", "qmin": str(layout.quality), "qmax": str(layout.quality)}


def _mpeg4(layout: Layout) -> Options:
    return _quantiser(layout) | {
        "g": str(layout.key_every),
        "bf": str(layout.reference_every - 1),
        "b_strategy": "0",
        "sc_threshold": "1000000000",
        "flags": "+cgop",
    }


def _raw(layout: Layout) -> Options:
    return {}


ENCODERS: tuple[Encoder, ...] = (
    Encoder(
        name="h264_nvenc", codec="h264", options=_nvenc, pixel_format="yuv420p",
        hdr_pixel_format=None, container="mp4", suffix=".mp4",
    ),
    Encoder(
        name="libx264", codec="h264", options=_x264, pixel_format="yuv420p",
        hdr_pixel_format="yuv420p10le", container="mp4", suffix=".mp4",
    ),
    Encoder(
        name="hevc_nvenc", codec="hevc", options=_nvenc, pixel_format="yuv420p",
        hdr_pixel_format="p010le", container="mp4", suffix=".mp4",
    ),
    Encoder(
        name="libx265", codec="hevc", options=_x265, pixel_format="yuv420p",
        hdr_pixel_format="yuv420p10le", container="mp4", suffix=".mp4", smallest_side=64,
    ),
    Encoder(
        name="libsvtav1", codec="av1", options=_svtav1, pixel_format="yuv420p",
        hdr_pixel_format="yuv420p10le", container="mp4", suffix=".mp4",
    ),
    Encoder(
        name="mpeg4", codec="mpeg4", options=_mpeg4, pixel_format="yuv420p",
        hdr_pixel_format=None, container="mp4", suffix=".mp4", keeps_tags="together",
    ),
    Encoder(
        name="mjpeg", codec="jpeg", options=_quantiser, pixel_format="yuvj420p",
        hdr_pixel_format=None, container="mov", suffix=".mov", is_full_range=True,
    ),
    Encoder(
        name="rawvideo", codec="raw", options=_raw, pixel_format="yuv420p",
        hdr_pixel_format=None, container="nut", suffix=".nut", keeps_tags="none",
    ),
)  # fmt: skip
SOFTWARE = tuple(encoder for encoder in ENCODERS if "nvenc" not in encoder.name)


def encoders_of(codec: Codec) -> list[Encoder]:
    """Encoders of a codec that work on this machine, hardware first."""
    return [one for one in ENCODERS if one.codec == codec and why_unusable(one.name) is None]


def hush_encoders() -> None:
    """SVT-AV1 writes its settings to stderr at every start unless it is told otherwise."""
    os.environ.setdefault("SVT_LOG", "1")


def open_encoder(stream: av.VideoStream) -> None:
    """Open the encoder of a stream whose size and format are set, and change nothing else.

    Raises av.FFmpegError where it cannot be opened.
    """
    hush_encoders()
    with as_scheduled_before():
        stream.codec_context.open(strict=False)


@cache
def why_unusable(name: str) -> str | None:
    """Why an encoder cannot be used here, found out by encoding one gray picture; None if it can.

    Raises KeyError for a name that is not in ``ENCODERS``.
    """
    encoder = {one.name: one for one in ENCODERS}[name]
    layout = Layout(name="intra", codec=encoder.codec, quality=20)
    try:
        with av.open(BytesIO(), "w", format="nut") as container:
            stream = cast(
                av.VideoStream,
                container.add_stream(encoder.name, rate=30, options=encoder.options(layout)),
            )
            stream.width = stream.height = _TRIAL_SIZE
            stream.pix_fmt = encoder.pixel_format
            open_encoder(stream)
            gray = np.full((_TRIAL_SIZE * 3 // 2, _TRIAL_SIZE), 128, np.uint8)
            frame = av.VideoFrame.from_ndarray(gray, format="yuv420p")
            container.mux(stream.encode(frame.reformat(format=encoder.pixel_format)))
            container.mux(stream.encode(None))
    except (av.FFmpegError, ValueError, OSError) as error:
        return f"{name} does not work here: {error}"
    return None
