"""What tells that a packet is damaged though the decoder gives a picture all the same.

FFmpeg's decoders conceal what they cannot decode, out of whatever pictures their memory holds, and
say so with the picture that they concealed, if that one is ever shown, and in their log. So the log
is part of the answer. Where a decoder says nothing at all, a look at the packet is left.
"""

from __future__ import annotations

import logging

import av.logging

JPEG_START = b"\xd8"
JPEG_PADDING = b"\0\xff"
JPEG_SCAN = b"\xff\xda"
"""Without this marker there is no picture, and FFmpeg gives what was in memory: an older one."""
LOOKED_AT_BYTES = 64
OUR_LEVEL = av.logging.ERROR + 1
"""Takes errors and nothing below, and differs from every level that somebody else would set."""
SILENT = logging.CRITICAL + 1
HARMLESS_AFTER_ENTRY = "mmco: unref short failure"
"""H.264 drops a reference from before the key frame at which decoding began."""


def listen() -> None:
    """Have PyAV hand on what decoders log as errors, to who captures it.

    PyAV throws all messages away unless asked, and who asks, asks for the whole process. Where
    nobody else asked, Python's ``libav`` logger stays silent. A level that somebody set stays, or
    is raised to errors. Repeated messages are no longer left out: each stands for a packet. This
    is for decoders without threads of their own: what those log, nobody captures.
    """
    level, logger = av.logging.get_level(), logging.getLogger("libav")
    if level is None and logger.level != SILENT:
        _Before.logger_level = logger.level
        logger.setLevel(SILENT)
    elif level not in (None, OUR_LEVEL) and logger.level == SILENT:
        logger.setLevel(_Before.logger_level)
    av.logging.set_level(OUR_LEVEL if level is None else max(level, av.logging.ERROR))
    av.logging.set_skip_repeated(False)


class _Before:
    """How the logger was set before it was silenced."""

    logger_level = logging.WARNING


def tells_error(messages: list[tuple[int, str, str]], *, from_start: bool) -> bool:
    """Whether captured messages hold an error, of a decode from the start of the file or not."""
    return any(
        level <= av.logging.ERROR and (from_start or HARMLESS_AFTER_ENTRY not in text)
        for level, _, text in messages
    )


def hand_on(messages: list[tuple[int, str, str]]) -> None:
    """Log captured messages once more, for whoever else listens: a logger, or a capture around."""
    for level, name, text in messages:
        av.logging.log(level, name, text)


def is_hurt_jpeg(content: bytes) -> bool:
    """Whether a packet does not begin as a JPEG picture, or has no scan."""
    start = content[:LOOKED_AT_BYTES].lstrip(JPEG_PADDING)
    return not start.startswith(JPEG_START) or JPEG_SCAN not in content
