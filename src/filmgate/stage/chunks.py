"""A file that arrives in chunks: which of them are there for good, also after a kill."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
from blake3 import blake3

from filmgate.records import Record, digest_bytes, write_file
from filmgate.stage.source import Identity

CHUNKS_FILE = "chunks.jsonl"


class Beginning(Record, frozen=True, kw_only=True, tag="beginning"):
    """First line of the list of chunks."""

    identity: Identity
    """Of the source whose bytes these are."""
    chunk_bytes: int
    """Size of every chunk but the last."""


class Chunk(Record, frozen=True, kw_only=True, tag="chunk"):
    """A chunk that is hard on disk."""

    number: int
    """From 0."""
    digest: str
    """Of its bytes as they came."""


class PartialFile:
    """The file and the list beside it. A chunk is listed once its bytes would survive a power cut.

    What is there of another source, or in chunks of another size, is thrown away.
    """

    def __init__(self, path: Path, folder: Path, identity: Identity, chunk_bytes: int) -> None:
        self.path = path
        self._list = folder / CHUNKS_FILE
        self._size_bytes = identity.size_bytes
        self._beginning = Beginning(identity=identity, chunk_bytes=chunk_bytes)
        self._chunks: dict[int, str] = {}

    @property
    def num_chunks(self) -> int:
        """Of the whole file."""
        return -(-self._size_bytes // self._beginning.chunk_bytes)

    def open(self) -> None:
        """Take up what an earlier attempt left."""
        lines = list(_lines_of(self._list))
        if not self.path.exists() or not lines or lines[0] != self._beginning:
            self.clear()
            return
        self._chunks = {one.number: one.digest for one in lines if isinstance(one, Chunk)}
        self._rewrite_list()

    def clear(self) -> None:
        """Begin anew. The whole size is set aside, so that a full disk is known at the start."""
        self._list.unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)
        self._chunks = {}
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            if self._size_bytes:
                os.posix_fallocate(descriptor, 0, self._size_bytes)
        finally:
            os.close(descriptor)
        self._rewrite_list()

    def missing(self) -> list[tuple[int, int, int]]:
        """(number, start, stop) of the chunks that are not there."""
        return [
            (number, *self._range_of(number))
            for number in range(self.num_chunks)
            if number not in self._chunks
        ]

    def write(self, number: int, pieces: Iterator[bytes]) -> int:
        """Write a chunk and list it; its size. Raises ConnectionError when pieces are missing."""
        start, stop = self._range_of(number)
        hasher, at = blake3(), start
        descriptor = os.open(self.path, os.O_WRONLY)
        try:
            for piece in pieces:
                hasher.update(piece)
                _write_all(descriptor, piece, at)
                at += len(piece)
            if at != stop:
                raise ConnectionError(f"chunk {number} has {at - start} bytes of {stop - start}")
            os.fdatasync(descriptor)
        finally:
            os.close(descriptor)
        self._chunks[number] = f"blake3:{hasher.hexdigest()}"
        self._append(Chunk(number=number, digest=self._chunks[number]))
        return stop - start

    def digest(self) -> str:
        """Of the whole file as the disk gives it back, not as memory has it."""
        hasher = blake3()
        descriptor = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            for number in range(self.num_chunks):
                hasher.update(self._read(descriptor, number))
        finally:
            os.close(descriptor)
        return f"blake3:{hasher.hexdigest()}"

    def drop_damaged(self) -> int:
        """Count chunks as missing that are not on disk as they came; how many."""
        descriptor = os.open(self.path, os.O_RDONLY)
        try:
            damaged = [
                number
                for number, digest in self._chunks.items()
                if digest_bytes(self._read(descriptor, number)) != digest
            ]
        finally:
            os.close(descriptor)
        for number in damaged:
            del self._chunks[number]
        self._rewrite_list()
        return len(damaged)

    def _range_of(self, number: int) -> tuple[int, int]:
        start = number * self._beginning.chunk_bytes
        return start, min(start + self._beginning.chunk_bytes, self._size_bytes)

    def _read(self, descriptor: int, number: int) -> bytes:
        start, stop = self._range_of(number)
        return os.pread(descriptor, stop - start, start)

    def _rewrite_list(self) -> None:
        chunks = [Chunk(number=number, digest=one) for number, one in self._chunks.items()]
        write_file(self._list, b"".join([_line(self._beginning), *map(_line, chunks)]))

    def _append(self, chunk: Chunk) -> None:
        descriptor = os.open(self._list, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(descriptor, _line(chunk))
            os.fdatasync(descriptor)
        finally:
            os.close(descriptor)


def _line(line: Beginning | Chunk) -> bytes:
    return msgspec.json.encode(line) + b"\n"


def _lines_of(path: Path) -> Iterator[Beginning | Chunk]:
    """Whole lines; a torn one is where a killed attempt stopped."""
    decoder = msgspec.json.Decoder(Beginning | Chunk)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return
    for line in content.split(b"\n"):
        try:
            yield decoder.decode(line)
        except msgspec.DecodeError:
            return


def _write_all(descriptor: int, piece: bytes, at: int) -> None:
    view = memoryview(piece)
    while view:
        num_written = os.pwrite(descriptor, view, at)
        view, at = view[num_written:], at + num_written
