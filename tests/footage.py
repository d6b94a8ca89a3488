"""Small real videos for the tests: moving shapes with the frame's index written into the pixels."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np

from filmgate.prepare.scheduling import as_scheduled_before

INDEX_BITS = 12
"""The index of each frame stands in its top rows as 12 black or white blocks."""

# What x264 and x265 decide by looking ahead depends on memory that they did not write to.
SAME_EVERY_TIME = {
    "libx264": (
        "x264-params",
        "threads=1:b-adapt=0:scenecut=0:mbtree=0:rc-lookahead=0:weightp=0",
    ),
    "libx265": (
        "x265-params",
        "log-level=none:pools=none:frame-threads=1:qp=32:b-adapt=0:scenecut=0:aq-mode=0:weightp=0:"
        "weightb=0:cutree=0:psy-rd=0:psy-rdoq=0:rdoq-level=0",
    ),
}
"""Encoder -> FFmpeg's option and what it is set to, ahead of what a caller wants."""


def picture(index: int, width: int, height: int, *, hue: int = 0) -> np.ndarray:
    """Frame ``index``, uint8 (H, W, 3) RGB: drifting gradient, moving square, index on top."""
    y, x = np.mgrid[0:height, 0:width]
    red = (x * 2 + index * 3 + hue) % 256
    green = (y * 2 + index * 5 + hue * 2) % 256
    blue = ((x + y) + hue * 3) % 256
    image = np.stack([red, green, blue], axis=-1).astype(np.uint8)
    side = max(4, height // 6)
    left = (index * 3) % max(1, width - side)
    image[height // 2 : height // 2 + side, left : left + side] = (255 - hue % 256, 255, hue % 256)
    block = width // INDEX_BITS
    for bit in range(INDEX_BITS):
        image[: height // 4, bit * block : (bit + 1) * block] = 255 * (index >> bit & 1)
    return image


def read_index(image: np.ndarray) -> int:
    """The index that ``picture`` wrote, read back from uint8 (H, W, 3) after compression."""
    height, width, _ = image.shape
    block = width // INDEX_BITS
    row = image[height // 8, :, 1].astype(int)
    return sum(1 << bit for bit in range(INDEX_BITS) if row[bit * block + block // 2] > 128)


def write_video(
    path: Path,
    *,
    num_frames: int = 50,
    width: int = 96,
    height: int = 64,
    fps: int = 25,
    codec: str = "libx264",
    gop: int = 10,
    b_frames: int = 2,
    hue: int = 0,
    pixel_format: str = "yuv420p",
    options: dict[str, str] | None = None,
    pts: list[int] | None = None,
    audio: bool = False,
) -> Path:
    """Write a video and return its path; ``pts`` (ticks of 1/1000 s) makes it variable-rate."""
    # Without random identifiers: the same bytes every time.
    with av.open(str(path), "w", options={"fflags": "bitexact"}) as container:
        stream = container.add_stream(codec, rate=fps, options=_fixed(codec, options or {}))
        stream.width, stream.height, stream.pix_fmt = width, height, pixel_format
        stream.codec_context.gop_size = gop
        if codec in ("libx264", "libx265", "mpeg4", "mpeg2video"):
            stream.codec_context.max_b_frames = b_frames
        time_base = Fraction(1, fps) if pts is None else Fraction(1, 1000)
        stream.codec_context.time_base = time_base
        with as_scheduled_before():  # the tests must not run at real-time priority from here on
            stream.codec_context.open(strict=False)
        sound = container.add_stream("aac", rate=48000) if audio else None
        for index in range(num_frames):
            frame = av.VideoFrame.from_ndarray(
                picture(index, width, height, hue=hue), format="rgb24"
            )
            frame.pts = index if pts is None else pts[index]
            frame.time_base = time_base
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
        if sound is not None:
            silence = av.AudioFrame.from_ndarray(
                np.zeros((1, 1024), np.float32), format="fltp", layout="mono"
            )
            silence.sample_rate, silence.pts = 48000, 0
            container.mux(sound.encode(silence))
            container.mux(sound.encode())
    return path


def _fixed(codec: str, options: dict[str, str]) -> dict[str, str]:
    """The options, with which an encoder gives the same bytes every time."""
    if codec not in SAME_EVERY_TIME:
        return options
    name, fixed = SAME_EVERY_TIME[codec]
    return options | {name: ":".join(filter(None, (fixed, options.get(name))))}
