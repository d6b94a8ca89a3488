"""The memory of a work: an append-only file from which any start knows what is left to do.

A group of lines is one write and one fsync. A line is whole or is the torn end of a killed work,
so every prefix of the file is a valid state. In memory there are some 150 bytes for each task:
a digest of its key, and where its line is.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO

import msgspec

from filmgate.errors import UserError
from filmgate.records import Header, write_file
from filmgate.work.lines import (
    SCHEMA,
    SCHEMA_VERSION,
    AnyLine,
    Begun,
    Dropped,
    Failed,
    Finished,
    Published,
    decode_failed,
    decode_finished,
    decode_line,
    encode_line,
    read_lines,
)

COMPACT_LINES = 1000
"""A journal with more lines than this that no longer count, and more than those that do, is
written anew when it is opened."""
_READ_BYTES = 4096
"""For a line; one that is longer is read in parts that grow."""


class Journal:
    """Held by the coordinator alone; ``lines.read_lines`` is for everybody, at any time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = -1
        self._end = 0
        self._num_lines = 0
        self._is_hard = True
        """Whether all that was written is on disk."""
        self._finished: dict[bytes, int] = {}
        self._failed: dict[bytes, int] = {}
        self._unpublished: set[str] = set()

    def open(self) -> None:
        """Read what is there, cut off a torn end, compact it when it has grown too long.

        Raises UserError when it is damaged or cannot be written.
        """
        try:
            if not self.path.exists():
                write_file(self.path, encode_line(_begun()))
            self._load()
            num_known = len(self._finished) + len(self._failed)
            if self._num_lines > COMPACT_LINES + 2 * num_known:
                self._compact()
            self._attach()
        except OSError as error:
            raise self._cannot_write(error) from None

    def open_to_read(self) -> None:
        """Read what is there, in a journal into which nobody writes now."""
        self._load()
        self._descriptor = os.open(self.path, os.O_RDONLY)

    def close(self) -> None:
        """Flush to disk and close."""
        if self._descriptor >= 0:
            if not self._is_hard:
                os.fsync(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def append(self, lines: Sequence[AnyLine], *, durable: bool = True) -> None:
        """Write the lines, all or none; ``durable``: and have them on disk on return.

        Raises UserError when the disk does not take them.
        """
        texts = [encode_line(line) for line in lines]
        try:
            _write_all(self._descriptor, b"".join(texts))
            self._is_hard = False
            if durable:
                os.fsync(self._descriptor)
                self._is_hard = True
        except OSError as error:
            os.ftruncate(self._descriptor, self._end)
            raise self._cannot_write(error) from None
        for line, text in zip(lines, texts, strict=True):
            self._take(line, self._end)
            self._end += len(text)

    def finished(self, key: str) -> Finished | None:
        """What is written of a finished task; None when it is not finished."""
        offset = self._finished.get(short_key(key))
        return None if offset is None else decode_finished(self._line_at(offset))

    def failed(self, key: str) -> Failed | None:
        """The last failed attempt at a task that is not finished; None without one."""
        offset = self._failed.get(short_key(key))
        return None if offset is None else decode_failed(self._line_at(offset))

    def unpublished(self) -> list[Finished]:
        """Finished tasks whose files may not all be in place."""
        lines = (self.finished(key) for key in sorted(self._unpublished))
        return [line for line in lines if line is not None]

    def all_finished(self) -> Iterator[Finished]:
        """Every finished task, in the order of the file."""
        for offset in sorted(self._finished.values()):
            yield decode_finished(self._line_at(offset))

    def _load(self) -> None:
        self._finished, self._failed, self._unpublished = {}, {}, set()
        self._num_lines = self._end = 0
        for offset, end, line in read_lines(self.path):
            self._take(line, offset)
            self._end = end

    def _take(self, line: AnyLine, offset: int) -> None:
        """Let one line change the state."""
        self._num_lines += 1
        match line:
            case Finished():
                self._forget(line.key)
                self._finished[short_key(line.key)] = offset
                if line.place is not None:
                    self._unpublished.add(line.key)
            case Published():
                self._unpublished.difference_update(line.keys)
            case Failed():
                self._forget(line.key)
                self._failed[short_key(line.key)] = offset
            case Dropped():
                for key in line.keys:
                    self._forget(key)
            case Begun():
                pass

    def _forget(self, key: str) -> None:
        self._finished.pop(short_key(key), None)
        self._failed.pop(short_key(key), None)
        self._unpublished.discard(key)

    def _attach(self) -> None:
        self._descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND)
        # On NFS a lock that was lost makes writes fail: a coordinator that was cut off and
        # replaced cannot go on.
        fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(self._descriptor, self._end)
        if self._end == 0:  # even the first line was torn
            self.append([_begun()])

    def _line_at(self, offset: int) -> bytes:
        text = b""
        while not text.endswith(b"\n"):
            num_bytes = max(_READ_BYTES, len(text))
            part = os.pread(self._descriptor, num_bytes, offset + len(text))
            if not part:
                raise EOFError(f"{self.path} was cut off while it was in use")
            text += part[: part.find(b"\n") + 1 or None]
        return text

    def _compact(self) -> None:
        """Write only what counts, in the order of the file."""
        with self.path.open("rb") as old:

            def write(new: BinaryIO) -> None:
                """The lines that count, copied."""
                new.write(encode_line(_begun()))
                for offset in sorted([*self._finished.values(), *self._failed.values()]):
                    old.seek(offset)
                    new.write(self._settled(old.readline()))

            write_file(self.path, write)
        self._load()

    def _settled(self, text: bytes) -> bytes:
        line = decode_line(text)
        if isinstance(line, Finished) and line.key not in self._unpublished:
            return encode_line(msgspec.structs.replace(line, place=None))
        return text

    def _cannot_write(self, error: OSError) -> UserError:
        return UserError(
            f"{self.path} cannot be written: {error.strerror or error}",
            hint="free some space there or give yourself write permission, then start again; "
            "what is finished is kept",
        )


def short_key(key: str) -> bytes:
    """16 bytes that stand for a key of any length."""
    return blake2b(key.encode(), digest_size=16).digest()


def _begun() -> Begun:
    return Begun(header=Header(schema=SCHEMA, schema_version=SCHEMA_VERSION))


def _write_all(descriptor: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
