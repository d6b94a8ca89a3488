"""Videos that this machine makes for itself, so that any two machines decode much the same.

They hold what makes decoding work: moving gradients and textures, and grain. Nobody filmed them;
footage of one's own costs more or less.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import cast

import av
import numpy as np
from numpy.typing import NDArray

from filmgate.prepare.encoders import open_encoder

FPS = 24
KEY_EVERY = 48
"""Frames; two seconds, as streaming services have it."""
GRAIN_LEVELS = 3


@dataclass(frozen=True, kw_only=True)
class Made:
    """How files of one codec are made."""

    codec: str
    """As VideoFacts calls it, but ``jpeg`` for Motion JPEG."""
    encoder: str
    """Of FFmpeg."""
    options: dict[str, str]
    """Fast settings of middling quality."""
    suffix: str
    pixel_format: str = "yuv420p"


MADE = (
    Made(codec="h264", encoder="libx264", suffix=".mp4",
         options={"preset": "veryfast", "crf": "23"}),
    Made(codec="hevc", encoder="libx265", suffix=".mp4",
         options={"preset": "superfast", "crf": "26", "x265-params": "log-level=none"}),
    Made(codec="av1", encoder="libsvtav1", suffix=".mp4",
         options={"preset": "12", "crf": "35"}),
    Made(codec="vp9", encoder="libvpx-vp9", suffix=".mkv",
         options={"deadline": "realtime", "cpu-used": "8", "crf": "33", "b": "0"}),
    Made(codec="mpeg4", encoder="mpeg4", suffix=".mp4",
         options={"qmin": "4", "qmax": "4", "b": "1000000000"}),
    Made(codec="jpeg", encoder="mjpeg", suffix=".mov", pixel_format="yuvj420p",
         options={"qmin": "4", "qmax": "4", "b": "1000000000"}),
)  # fmt: skip


def make_video(made: Made, width: int, height: int, num_frames: int, path: Path) -> None:
    """Write one; sides are even. Raises av.FFmpegError or ValueError where FFmpeg cannot."""
    with av.open(str(path), "w") as container:
        stream = cast(
            av.VideoStream, container.add_stream(made.encoder, rate=FPS, options=made.options)
        )
        stream.width, stream.height, stream.pix_fmt = width, height, made.pixel_format
        stream.codec_context.gop_size = KEY_EVERY
        open_encoder(stream)
        for index, samples in enumerate(pictures(width, height, num_frames)):
            frame = av.VideoFrame.from_ndarray(samples, format="yuv420p")
            frame = frame.reformat(format=made.pixel_format)
            frame.pts, frame.time_base = index, Fraction(1, FPS)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def pictures(width: int, height: int, num_frames: int) -> Iterator[NDArray[np.uint8]]:
    """Planes of YUV 4:2:0, uint8 (H * 3 / 2, W), the same ones every time."""
    chance = np.random.default_rng(0)
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    grain = chance.integers(-GRAIN_LEVELS, GRAIN_LEVELS + 1, (height, width)).astype(np.float32)
    texture = 30 * np.sin(x / 7) * np.sin(y / 11) + 50 * np.sin((x + y) / 97)
    samples = np.empty((height * 3 // 2, width), np.uint8)
    side = height // 4
    for index in range(num_frames):
        luma = 120 + np.roll(texture, (index, 3 * index), (0, 1))
        luma += np.roll(grain, (17 * index, 29 * index), (0, 1))
        left = (5 * index) % (width - side)
        luma[side : 2 * side, left : left + side] = 230 - luma[side : 2 * side, :side] / 2
        samples[:height] = luma.clip(16, 235)
        chroma = 128 + 40 * np.sin((x + 4 * index) / 131)[: height // 2]
        samples[height:] = chroma
        yield samples
