"""The lines of a journal: one JSON object each, complete or the torn last line of a killed work.

The last field of each is the CRC-32 of what stands before it, for a flipped bit in a row would
else be a fact of its file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import msgspec

from filmgate.errors import UserError
from filmgate.records.base import Header, Record

SCHEMA = "filmgate.work"
SCHEMA_VERSION = 1


class Line(msgspec.Struct, frozen=True, kw_only=True, tag_field="state"):
    """One line of a journal."""


class Begun(Line, frozen=True, tag="begun"):
    """The first line."""

    header: Header
    """Of the journal."""


class Output(Record, frozen=True):
    """One file of a finished task."""

    name: str
    """Below the folder, with forward slashes."""
    size_bytes: int
    """Its length."""


class Finished(Line, frozen=True, kw_only=True, tag="finished"):
    """A task is done and its files are hard on disk; written before they are put in place."""

    key: str
    """Of the task."""
    name: str
    """What people call it."""
    attempts: int
    """How often it was tried, over all starts."""
    seconds: float
    """How long the last attempt took."""
    worker: str
    """``host:process``."""
    unix_seconds: float
    """When."""
    row: msgspec.Raw
    """What the function returned."""
    outputs: list[Output] = []
    """Its files, the one that decides last."""
    place: str | None = None
    """Folder of the attempt, while its files have to be put in place; None where nothing is left
    to be done."""


class Published(Line, frozen=True, tag="published"):
    """The files of these tasks are in place."""

    keys: list[str]
    """Of the tasks."""


class Failed(Line, frozen=True, tag="failed"):
    """An attempt failed."""

    key: str
    """Of the task."""
    name: str
    """What people call it."""
    attempts: int
    """How often it was tried, over all starts."""
    seconds: float
    """How long the attempt took."""
    worker: str
    """``host:process``."""
    unix_seconds: float
    """When."""
    fault: str
    """One clause."""
    quarantined: bool
    """Whether it was the last try."""
    lost: bool = False
    """Whether it took its worker: by a crash or past the deadline."""


class Dropped(Line, frozen=True, tag="dropped"):
    """These tasks are to be done again: a file is gone or replaced, or it was asked for."""

    keys: list[str]
    """Of the tasks."""


AnyLine = Begun | Finished | Published | Failed | Dropped
_DECODER = msgspec.json.Decoder(AnyLine)
_ENCODER = msgspec.json.Encoder()
_SUM = b',"crc32":"'
_SUM_BYTES = len(_SUM) + 8 + len(b'"}\n')


def encode_line(line: AnyLine) -> bytes:
    """The line with its checksum and its end."""
    content = _ENCODER.encode(line)[:-1]
    return b'%b%b%08x"}\n' % (content, _SUM, crc32(content))


def read_lines(path: Path) -> Iterator[tuple[int, int, AnyLine]]:
    """Byte offset, end and content of every whole line; a torn last line is passed over.

    Raises UserError when a line before the last is damaged, or the journal is another version's.
    """
    with path.open("rb") as file:
        offset = 0
        for number, text in enumerate(file, start=1):
            if not text.endswith(b"\n"):
                return
            yield offset, offset + len(text), _decode_checked(text, path, number)
            offset += len(text)


def cut_off_damage(path: Path) -> int:
    """Cut a journal off before its first damaged line; how many bytes went.

    For works whose tasks have no files, and that nobody holds: what is cut off is done again.
    """
    end = 0
    try:
        for _, after, _ in read_lines(path):
            end = after
    except UserError:
        num_bytes = path.stat().st_size - end
        os.truncate(path, end)
        return num_bytes
    return 0


def decode_line(text: bytes) -> AnyLine:
    """A whole line of any kind."""
    return _DECODER.decode(text)


def decode_finished(text: bytes) -> Finished:
    """A line that is known to tell of a finished task."""
    line = _DECODER.decode(text)
    assert isinstance(line, Finished)
    return line


def decode_failed(text: bytes) -> Failed:
    """A line that is known to tell of a failed attempt."""
    line = _DECODER.decode(text)
    assert isinstance(line, Failed)
    return line


def _decode_checked(text: bytes, path: Path, number: int) -> AnyLine:
    try:
        _check_sum(text)
        line = _DECODER.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(
            f"{path} line {number} is damaged: {error}",
            hint="if nothing else wrote there, remove the line; its tasks are done again",
        ) from None
    if isinstance(line, Begun) and line.header.schema_version != SCHEMA_VERSION:
        raise UserError(
            f"{path} is of version {line.header.schema_version}, not {SCHEMA_VERSION}",
            hint="finish with the filmgate that began it, or remove it to begin anew",
        )
    return line


def _check_sum(text: bytes) -> None:
    """Raises DecodeError when the sum is not that of the line; older lines have none."""
    content, end = text[:-_SUM_BYTES], text[-_SUM_BYTES:]
    if end.startswith(_SUM) and end[len(_SUM) : -3] != b"%08x" % crc32(content):
        raise msgspec.DecodeError("its checksum is that of another content")
