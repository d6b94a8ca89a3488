"""Small files of many codecs and containers, hurt, and what may come out of them.

A frame that comes out of a hurt file is exact when it is the frame that one sequential decode of
the same file by FFmpeg (through PyAV, no table, no seek) gives at that time, or the frame that was
there before the harm. Anything else would be a neighbour or rubbish of our own making.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import av
import numpy as np

from filmgate.catalog import Catalog, index_videos
from filmgate.feed.geometry import orientation_of
from filmgate.records import digest_bytes
from tests.feed.test_picture import painted
from tests.footage import write_video

SIZE = (64, 64)
"""x265 writes past its buffers below 64 pixels, which spoils other encoders and decoders."""
NUM_FRAMES = 20
# One thread each: what encoders make depends on the number of threads, which differs by machine.
ALONE = {"threads": "1"}
QUICK = {**ALONE, "cpu-used": "8", "deadline": "realtime"}
QUIET = {**ALONE, "x265-params": "bframes=2:keyint=10"}
PRESET = {"preset": "10", "svtav1-params": "lp=1"}
KINDS = {
    "h264.mp4": {"codec": "libx264", "options": ALONE},
    "h264.mkv": {"codec": "libx264", "b_frames": 0, "options": ALONE},
    "h264.ts": {"codec": "libx264", "options": ALONE},
    "h264.avi": {"codec": "libx264", "options": ALONE},
    "hevc.mp4": {"codec": "libx265", "options": QUIET},
    "hevc.mkv": {"codec": "libx265", "options": QUIET},
    "vp9.webm": {"codec": "libvpx-vp9", "options": QUICK},
    "vp9.mp4": {"codec": "libvpx-vp9", "options": QUICK},
    "av1.mkv": {"codec": "libsvtav1", "options": PRESET},
    "av1.mp4": {"codec": "libsvtav1", "options": PRESET},
    "mpeg4.avi": {"codec": "mpeg4", "options": ALONE},
    "mpeg4.mp4": {"codec": "mpeg4", "options": ALONE},
    "mpeg2.ts": {"codec": "mpeg2video", "options": ALONE},
    "mpeg2.mpg": {"codec": "mpeg2video", "options": ALONE},
    "mjpeg.avi": {"codec": "mjpeg", "pixel_format": "yuvj420p", "options": ALONE},
    "mjpeg.mov": {"codec": "mjpeg", "pixel_format": "yuvj420p", "options": ALONE},
}
"""File name -> how ``write_video`` makes it."""


def write_whole(folder: Path, names: Iterable[str] = KINDS) -> dict[str, bytes]:
    """The content of one sound video of each kind, the same every time."""
    height, width = SIZE
    return {
        name: write_video(
            folder / name, num_frames=NUM_FRAMES, height=height, width=width, **KINDS[name]
        ).read_bytes()
        for name in names
    }


def hurt(content: bytes, number: int) -> bytes:
    """A file with one to eight bits flipped, or its end cut off."""
    drawn = np.random.default_rng(number)
    if number % 5 == 4:
        return content[: int(drawn.integers(1, len(content)))]
    changed = bytearray(content)
    for place in drawn.integers(0, len(content), int(drawn.integers(1, 9))):
        changed[int(place)] ^= 1 << int(drawn.integers(0, 8))
    return bytes(changed)


def sequential_frames(path: Path) -> Iterator[av.VideoFrame]:
    """What FFmpeg gives for a file from its start to its end; packets that fail are passed over."""
    with av.open(str(path), metadata_errors="replace") as container:
        stream = container.streams.video[0]
        stream.thread_type = "NONE"
        is_jpeg = stream.codec_context.name == "mjpeg"
        if is_jpeg:  # otherwise FFmpeg gives what was in memory before, and never twice the same
            stream.codec_context.options = {"err_detect": "explode"}
        packets = container.demux(stream)
        while True:
            try:
                packet = next(packets)
            except StopIteration:
                return
            except av.FFmpegError:
                continue
            if is_jpeg and packet.size and b"\xff\xda" not in bytes(packet):
                continue
            try:
                yield from packet.decode()
            except av.FFmpegError:
                continue


class Exact:
    """The frames that may come out of one video: digests of their RGB at the size of clips.

    Frames of a table that was made by decoding are numbered as they come out, so there the place
    counts; those of a table from packets have their packet's time, so there the time counts.
    """

    def __init__(self, catalog: Catalog, row: int, sound: Mapping[int, str]) -> None:
        facts = catalog.video(row)
        self._pts = catalog.frame_table(row).pts.tolist()
        self._sound = sound
        self._by_place = facts.index_from == "decode"
        self._at: dict[int | None, set[str]] = defaultdict(set)
        for place, frame in enumerate(sequential_frames(Path(facts.path))):
            digest = digest_of(painted(frame, SIZE, orientation_of(facts)))
            self._at[place if self._by_place else frame.pts].add(digest)

    def has(self, index: int, digest: str) -> bool:
        """Whether frame ``index`` may look like that."""
        at = index if self._by_place else self._pts[index]
        return digest in self._at.get(at, ()) or digest == self._sound.get(index)


def digest_of(frame_HWC: np.ndarray) -> str:
    return digest_bytes(np.ascontiguousarray(frame_HWC).tobytes())


def index_one(path: Path, out: Path) -> Catalog:
    """The catalog of one file. Raises UserError when it cannot be used."""
    return index_videos([path], out, workers=0)
