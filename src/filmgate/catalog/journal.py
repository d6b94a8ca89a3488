"""What an index that goes on has read so far: a file in the catalog's folder, gone at its end.

One entry for each batch of files: a head of 64 bytes, and three Arrow streams with the columns of
the catalog's three Parquet files. The head holds the number of bytes that follow and their BLAKE3
digest, so that an entry which a kill cut off, and all behind it, is known and dropped.
"""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
from blake3 import blake3

from filmgate.catalog.rows import SCHEMA_VERSION, LeftOut, VideoRow
from filmgate.catalog.store import (
    LEFT_OUT_SCHEMA,
    VIDEOS_SCHEMA,
    frame_table_from_row,
    frames_as_table,
    rows_as_table,
    rows_from_table,
)
from filmgate.errors import UserError
from filmgate.records.files import remove_unfinished
from filmgate.video import FrameTable

NAME = ".reading"
_HEAD = struct.Struct("<8sqq32s8x")
_MAGIC = b"filmgate"


@dataclass(frozen=True, kw_only=True, eq=False)
class ReadBatch:
    """Some files that were read; its tables stay in the mapped file until they are asked for."""

    videos: pa.Table
    frames: pa.Table
    left_out_table: pa.Table

    @property
    def left_out(self) -> list[LeftOut]:
        """Files that cannot be used."""
        return rows_from_table(self.left_out_table, LeftOut)

    def column(self, name: str) -> pa.ChunkedArray:
        """One column of the videos."""
        return self.videos.column(name)

    def video(self, row: int) -> VideoRow:
        """One video's facts."""
        return rows_from_table(self.videos.slice(row, 1), VideoRow)[0]

    def frame_table(self, row: int) -> FrameTable:
        """One video's frame table."""
        return frame_table_from_row(self.frames, row)


class ReadJournal:
    """The journal of one folder, held by this process; made by ``hold_journal``."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def batches(self) -> list[ReadBatch]:
        """Every whole entry; what comes behind the last of them is cut off."""
        size = os.fstat(self._file.fileno()).st_size
        if size == 0:
            return []
        content = pa.memory_map(self._file.name).read_buffer()
        found, end = [], 0
        while (payload := _payload_at(content, end)) is not None:
            found.append(_decode(payload))
            end += _HEAD.size + payload.size
        if end < size:
            self._file.truncate(end)
        return found

    def append(
        self, rows: Sequence[tuple[VideoRow, FrameTable]], left_out: Sequence[LeftOut]
    ) -> None:
        """Add one batch; it is durable when this returns. An OSError names the file."""
        frames = frames_as_table([(row.video_id, table) for row, table in rows])
        videos = rows_as_table([row for row, _ in rows], VIDEOS_SCHEMA)
        payload = _encode(videos, frames, rows_as_table(left_out, LEFT_OUT_SCHEMA))
        head = _HEAD.pack(_MAGIC, SCHEMA_VERSION, len(payload), blake3(payload).digest())
        try:
            self._file.seek(0, os.SEEK_END)
            self._file.write(head + payload)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            error.filename = self._file.name
            raise


def _encode(*tables: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    for table in tables:
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content + bytes(-len(content) % _HEAD.size)  # streams begin where Arrow can map them


def _payload_at(content: pa.Buffer, place: int) -> pa.Buffer | None:
    """The bytes of the entry at a place; None where no whole entry of this version is."""
    if place + _HEAD.size > content.size:
        return None
    head = content.slice(place, _HEAD.size).to_pybytes()
    magic, version, num_bytes, digest = _HEAD.unpack(head)
    rest = content.size - place - _HEAD.size
    if magic != _MAGIC or version != SCHEMA_VERSION or not 0 <= num_bytes <= rest:
        return None
    payload = content.slice(place + _HEAD.size, num_bytes)
    return payload if blake3(payload).digest() == digest else None


def _decode(payload: pa.Buffer) -> ReadBatch:
    source = pa.BufferReader(payload)
    videos, frames, left_out = (pa.ipc.open_stream(source).read_all() for _ in range(3))
    return ReadBatch(videos=videos, frames=frames, left_out_table=left_out)


@contextmanager
def hold_journal(folder: Path) -> Iterator[ReadJournal]:
    """The folder's journal, which is also its lock. What killed writes left there is removed.

    At a good end the journal goes; after an error it stays, if anything is in it. Raises UserError
    when another process indexes into the folder.
    """
    with ExitStack() as stack:
        file = stack.enter_context(_locked(folder / NAME))
        remove_unfinished(folder)
        try:
            yield ReadJournal(file)
        except BaseException:
            if os.fstat(file.fileno()).st_size == 0:
                Path(file.name).unlink()
            raise
        Path(file.name).unlink()


def _locked(path: Path) -> BinaryIO:
    while True:
        file = path.open("a+b")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise UserError(
                f"{path.parent} is being written by another filmgate process",
                hint="wait for it to end, or choose another folder with --out",
            ) from None
        if os.fstat(file.fileno()).st_nlink:
            return file
        file.close()  # its owner removed it at its end, between the two calls
