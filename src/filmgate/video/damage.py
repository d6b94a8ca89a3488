"""What tells that a packet is damaged though the decoder gives a picture all the same.

FFmpeg's decoders conceal what they cannot decode, out of whatever pictures their memory holds, and
say so with the picture that they concealed, if that one is ever shown, and in their log. So the log
is part of the answer. Where a decoder says nothing at all, a look at the packet is left.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import av.logging

JPEG_START = b"\xd8"
JPEG_PADDING = b"\0\xff"
JPEG_SCAN = b"\xff\xda"
"""Without this marker there is no picture, and FFmpeg gives what was in memory: an older one."""
LOOKED_AT_BYTES = 64
START_CODE = b"\0\0\1"
LAST_SLICE_CODE = 0xAF
"""Of MPEG-2: start codes 1 to here are slices, each in the row of macroblocks that it is called."""
PICTURE_EXTENSION = b"\0\0\1\xb5"
PICTURE_EXTENSION_ID = 8
WHOLE_FRAME = 3
"""``picture_structure`` of a picture that is no field. Source: ITU-T H.262 6.3.10."""
ROW_LINES = 16
HARMLESS_AFTER_ENTRY = "mmco: unref short failure"
"""H.264 drops a reference from before the key frame at which decoding began."""

LooksHurt = Callable[[bytes], bool]
"""Whether a packet surely lacks a part of its picture."""


def listen() -> None:
    """Have PyAV hand on what decoders log as errors, to who captures it and to nobody else.

    PyAV throws all messages away unless asked, for the whole process. Where somebody asked for
    them already they go where they went; repeated ones are no longer left out.
    """
    level = av.logging.get_level()
    if level is None:
        logging.getLogger("libav").setLevel(logging.CRITICAL + 1)
    if level is None or level < av.logging.ERROR:
        av.logging.set_level(av.logging.ERROR)
    if av.logging.get_skip_repeated():
        av.logging.set_skip_repeated(False)


def tells_error(messages: list[tuple[int, str, str]], *, from_start: bool) -> bool:
    """Whether captured messages hold an error, of a decode from the start of the file or not."""
    return any(
        level <= av.logging.ERROR and (from_start or HARMLESS_AFTER_ENTRY not in text)
        for level, _, text in messages
    )


def look_for(codec: str, height: int) -> LooksHurt | None:
    """The look that fits a codec and its height in pixels; None where the decoder tells enough."""
    if codec == "mjpeg":
        return is_hurt_jpeg
    if codec == "mpeg2video" and 0 < height <= LAST_SLICE_CODE * ROW_LINES:
        return lambda content: lacks_rows(content, height)
    return None


def is_hurt_jpeg(content: bytes) -> bool:
    """Whether a packet does not begin as a JPEG picture, or has no scan."""
    start = content[:LOOKED_AT_BYTES].lstrip(JPEG_PADDING)
    return not start.startswith(JPEG_START) or JPEG_SCAN not in content


def lacks_rows(content: bytes, height: int) -> bool:
    """Whether a row of macroblocks has no slice, in an MPEG-2 picture of ``height`` lines.

    FFmpeg counts macroblocks, so a slice that comes twice makes up for one that is missing. Every
    row has to have a slice of its own (ITU-T H.262 6.1.2.2). A field has half of the lines.
    """
    rows: set[int] = set()
    lines = -(-height // 2)
    at = content.find(START_CODE)
    while 0 <= at < len(content) - 3:
        code = content[at + 3]
        if 0 < code <= LAST_SLICE_CODE:
            rows.add(code)
        elif _tells_whole_frame(content[at : at + 7]):
            lines = height
        at = content.find(START_CODE, at + 3)
    return not rows.issuperset(range(1, -(-lines // ROW_LINES) + 1))


def _tells_whole_frame(head: bytes) -> bool:
    if len(head) < 7 or not head.startswith(PICTURE_EXTENSION):
        return False
    return head[4] >> 4 == PICTURE_EXTENSION_ID and head[6] & 3 == WHOLE_FRAME
