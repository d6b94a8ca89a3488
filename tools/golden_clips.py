"""Write the golden clips of `filmgate env`, and what their frames have to be.

    python -m tools.golden_clips

Encoders differ between builds of FFmpeg, so the clips are kept in the repository and are only
made anew on purpose: then every lock that was written before compares nothing with a later one.
"""

from __future__ import annotations

import sys
from pathlib import Path

import av
import msgspec
import numpy as np
from numpy.typing import NDArray

from filmgate.machine.environment.golden import CLIPS, EXACT, EXPECTED_FILE, FOLDER, frames_digest
from filmgate.records import write_file

WIDTH, HEIGHT, NUM_FRAMES = 96, 64, 12
ENCODERS = {
    "av1": "libsvtav1", "h264": "libx264", "hevc": "libx265", "mjpeg": "mjpeg",
    "mpeg2video": "mpeg2video", "mpeg4": "mpeg4", "vp8": "libvpx", "vp9": "libvpx-vp9",
}  # fmt: skip
OPTIONS = {
    "libx264": {"preset": "slow", "crf": "24"},
    "libx265": {"preset": "medium", "crf": "26", "x265-params": "log-level=none"},
    "libsvtav1": {"preset": "8", "crf": "35"},
    "libvpx": {"crf": "20", "b": "200k"},
    "libvpx-vp9": {"crf": "35", "b": "0"},
}


def picture(index: int) -> NDArray[np.uint8]:
    """Frame ``index``, uint8 (H, W, 3): moving gradients, a square, and a patch of noise."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    red = (x * 2 + index * 5) % 256
    green = (y * 3 + index * 3) % 256
    blue = (x + y * 2 + index * 7) % 256
    image = np.stack([red, green, blue], axis=-1).astype(np.uint8)
    image[20:44, 4 + 5 * index : 28 + 5 * index] = (240, 60, 30)
    noise = np.random.Generator(np.random.PCG64(7)).integers(0, 256, (16, 24, 3), np.uint8)
    image[44:60, 64:88] = noise
    return image


def write_clip(codec: str, path: Path) -> None:
    """One clip, in whatever bytes this FFmpeg's encoder gives."""
    encoder = ENCODERS[codec]
    with av.open(str(path), "w") as container:
        stream = container.add_stream(encoder, rate=12, options=OPTIONS.get(encoder, {}))
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height = WIDTH, HEIGHT
        stream.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
        for index in range(NUM_FRAMES):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture(index), "rgb24")))
        container.mux(stream.encode())


def main() -> int:
    """Write all of it."""
    FOLDER.mkdir(exist_ok=True)
    for codec, path in CLIPS.items():
        write_clip(codec, path)
        print(f"{path.name}: {path.stat().st_size} bytes")
    expected = {codec: frames_digest(CLIPS[codec]) for codec in EXACT}
    write_file(EXPECTED_FILE, msgspec.json.format(msgspec.json.encode(expected), indent=2) + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
