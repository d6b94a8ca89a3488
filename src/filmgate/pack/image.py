"""One encoded image: which decoder it needs, its picture, and which way up it is.

A fresh decoder for each, so that what an earlier image left behind never shows in a damaged one.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Literal, cast

import av
from av.codec.context import ThreadType
from av.packet import Packet
from av.video.codeccontext import VideoCodecContext
from PIL import Image, UnidentifiedImageError

JPEG_SCAN = b"\xff\xda"
"""Without this marker there is no picture, and FFmpeg gives what was in memory."""
JPEG_END = b"\xff\xd9"
"""Without it the last rows may be missing, and FFmpeg does not say so."""
ORIENTATION_TAG = 0x0112
MAX_PIXELS = 2**28
"""A picture with more is refused: 16384 x 16384."""
Rotation = Literal[0, 90, 180, 270]
_TURNS: dict[int, tuple[Rotation, bool]] = {
    1: (0, False), 2: (0, True), 3: (180, False), 4: (180, True),
    5: (270, True), 6: (90, False), 7: (90, True), 8: (270, False),
}  # fmt: skip
"""EXIF orientation -> clockwise turn, after a flip left to right. Source: CIPA DC-008, 4.6.5."""


class UnreadableImage(Exception):
    """It gives no picture; says why in one clause."""


@dataclass(frozen=True, kw_only=True)
class ImageFacts:
    """What reading one image showed."""

    codec: str
    pixel_format: str
    bits_per_sample: int
    width: int
    height: int
    rotation_degrees: Rotation
    mirrored: bool


def codec_of(content: bytes) -> str:
    """FFmpeg's name of the decoder, by the first bytes. Raises UnreadableImage."""
    if not content:
        raise UnreadableImage("the file is empty")
    if content.startswith(b"\xff\xd8\xff"):
        return "mjpeg"
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "webp"
    if content.startswith(b"BM"):
        return "bmp"
    if content[:4] in (b"II*\0", b"MM\0*"):
        return "tiff"
    raise UnreadableImage("not JPEG, PNG, WebP, BMP or TIFF by its first bytes")


def decode_image(content: bytes, codec: str) -> av.VideoFrame:
    """The picture as it is stored, in the decoder's own format.

    Raises UnreadableImage for one that is damaged, cut off, empty or too large.
    """
    if codec == "mjpeg" and JPEG_SCAN not in content:
        raise UnreadableImage("it is cut off before its picture")
    if codec == "mjpeg" and content.rfind(JPEG_END) < content.rfind(JPEG_SCAN):
        raise UnreadableImage("it is cut off: its picture has no end")
    context = cast(VideoCodecContext, av.CodecContext.create(codec, "r"))
    context.thread_type, context.thread_count = ThreadType.NONE, 1
    context.options = {"max_pixels": str(MAX_PIXELS)}
    if codec == "mjpeg":  # the others tell damage by themselves; TIFF's would refuse EXIF as well
        context.options["err_detect"] = "explode"
    try:
        frames = [*context.decode(Packet(content)), *context.decode(None)]
    except (av.FFmpegError, ValueError) as error:
        said = error.strerror if isinstance(error, av.FFmpegError) else str(error)
        raise UnreadableImage(f"its picture does not come out: {said}") from None
    if len(frames) != 1:
        raise UnreadableImage(f"{len(frames)} pictures come out of it")
    if frames[0].is_corrupt:
        raise UnreadableImage("its picture is damaged")
    return frames[0]


def read_facts(content: bytes) -> ImageFacts:
    """Decode an image once, for its facts. Raises UnreadableImage."""
    codec = codec_of(content)
    frame = decode_image(content, codec)
    rotation_degrees, mirrored = _turn_of(content)
    return ImageFacts(
        codec=codec,
        pixel_format=frame.format.name,
        bits_per_sample=max(component.bits for component in frame.format.components),
        width=frame.width,
        height=frame.height,
        rotation_degrees=rotation_degrees,
        mirrored=mirrored,
    )


def _turn_of(content: bytes) -> tuple[Rotation, bool]:
    """By the EXIF orientation; 1 (as it is) where there is none, or one that EXIF does not know."""
    try:
        with Image.open(io.BytesIO(content)) as image:
            orientation = image.getexif().get(ORIENTATION_TAG, 1)
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError):
        return _TURNS[1]  # FFmpeg gives its picture; Pillow would only have told the turn
    return _TURNS.get(orientation, _TURNS[1])
