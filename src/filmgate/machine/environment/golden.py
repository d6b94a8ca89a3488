"""Fixed little videos, and what this machine's decoders make of them.

H.264, HEVC, VP8, VP9 and AV1 are defined to the last bit, so their frames are known beforehand. The
others allow a decoder to round in its own way; there only two environments can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import av
import msgspec

from filmgate.machine.environment.facts import NONE, Fact, Probe
from filmgate.records import digest_bytes
from filmgate.video import native_md5

FOLDER = Path(__file__).resolve().parent / "golden"
EXPECTED_FILE = FOLDER / "expected.json"
"""Codec -> digest of its frames; written by ``python -m tools.golden_clips``."""
CLIPS = {
    "av1": FOLDER / "av1.mkv",
    "h264": FOLDER / "h264.mp4",
    "hevc": FOLDER / "hevc.mp4",
    "mjpeg": FOLDER / "mjpeg.mkv",
    "mpeg2video": FOLDER / "mpeg2video.mkv",
    "mpeg4": FOLDER / "mpeg4.mp4",
    "vp8": FOLDER / "vp8.mkv",
    "vp9": FOLDER / "vp9.mkv",
}
EXACT = ("av1", "h264", "hevc", "vp8", "vp9")
"""Codecs whose standard leaves a decoder no choice."""


def decoder_facts() -> list[Fact]:
    """The decoder that FFmpeg takes for each codec, ``none`` where it has none."""
    return [Fact(name=f"decoder.{codec}", value=_decoder(path)) for codec, path in CLIPS.items()]


def frame_probes(options: Mapping[str, str] | None = None) -> list[Probe]:
    """A digest of the decoded frames of every golden clip.

    ``options`` are FFmpeg's for the decoder, as those of ``ffmpeg -h decoder=h264``.
    """
    expected = msgspec.json.decode(EXPECTED_FILE.read_bytes(), type=dict[str, str])
    return [
        _probe(codec, path, expected.get(codec), options or {}) for codec, path in CLIPS.items()
    ]


def frames_digest(path: Path, options: Mapping[str, str] | None = None) -> str:
    """Over the md5 of each frame, decoded one after another on one thread.

    No reader of filmgate is in between, so a difference is the decoder's. Raises
    av.error.FFmpegError for a clip that it cannot decode.
    """
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        stream.codec_context.thread_count = 1
        stream.codec_context.options = dict(options or {})
        rows = [native_md5(frame) for frame in container.decode(stream)]
    return digest_bytes("\n".join(rows).encode())


def _probe(codec: str, path: Path, expected: str | None, options: Mapping[str, str]) -> Probe:
    name = f"frames.{codec}"
    try:
        value = frames_digest(path, options)
    except (av.error.FFmpegError, av.codec.codec.UnknownCodecError) as error:
        return Probe(name=name, value=None, expected=expected, why_unknown=str(error))
    return Probe(name=name, value=value, expected=expected)


def _decoder(path: Path) -> str:
    with av.open(str(path)) as container:
        context = container.streams.video[0].codec_context
        return NONE if context is None else context.codec.name
