"""An opened catalog: nothing is read before it is asked for."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from filmgate.catalog.rows import SCHEMA_VERSION, CatalogHeader, LeftOut, VideoRow
from filmgate.catalog.store import (
    DIGEST_KEY,
    FRAMES_SCHEMA,
    LATER_COLUMNS,
    LEFT_OUT_SCHEMA,
    VIDEOS_SCHEMA,
    frame_table_from_row,
    rows_from_table,
)
from filmgate.errors import UserError
from filmgate.records import Record, digest_file, read_record
from filmgate.video import FrameTable

KEPT_ROW_GROUPS = 8
"""Unpacked row groups that each file keeps; a group is some hundred videos."""

R = TypeVar("R", bound=Record)


class Catalog:
    """A folder written by ``index_videos``. Cheap to open, picklable as its path.

    Row numbers count from 0 in the order of ``video_id``.
    """

    def __init__(self, path: Path, header: CatalogHeader) -> None:
        self.path = path
        self.header = header
        self._videos = _ParquetRows(path / "videos.parquet", VIDEOS_SCHEMA, header.digest)
        self._frames = _ParquetRows(path / "frames.parquet", FRAMES_SCHEMA, header.digest)
        self._left_out = _ParquetRows(path / "left_out.parquet", LEFT_OUT_SCHEMA, header.digest)

    def __reduce__(self) -> tuple[object, tuple[Path]]:
        return open_catalog, (self.path,)

    @property
    def digest(self) -> str:
        """Over content digests, labels and frame counts in row order."""
        return self.header.digest

    @property
    def num_videos(self) -> int:
        """Usable videos."""
        return self.header.num_videos

    @cached_property
    def num_frames(self) -> NDArray[np.int64]:
        """(videos,) displayed frames of each video."""
        num_frames: NDArray[np.int64] = self.column("num_frames").to_numpy()
        return num_frames

    @cached_property
    def labels(self) -> list[str | None]:
        """Label of each video."""
        labels: list[str | None] = self.column("label").to_pylist()
        return labels

    @cached_property
    def splits(self) -> list[str | None]:
        """Split of each video; None where it was not told."""
        splits: list[str | None] = self.column("split").to_pylist()
        return splits

    @cached_property
    def left_out(self) -> list[LeftOut]:
        """Files that cannot be used, each with the reason."""
        return self._left_out.records(LeftOut)

    def column(self, name: str) -> pa.ChunkedArray:
        """One column of ``videos.parquet``."""
        return self._videos.column(name)

    def video(self, row: int) -> VideoRow:
        """One video's facts. Raises IndexError outside 0..num_videos-1."""
        self._check(row)
        return self._videos.record(row, VideoRow)

    def frame_table(self, row: int) -> FrameTable:
        """One video's frame table. Raises IndexError outside 0..num_videos-1."""
        self._check(row)
        return frame_table_from_row(*self._frames.locate(row))

    def check(self) -> None:
        """Read every byte once. Raises UserError when a file is missing or damaged."""
        for rows in (self._videos, self._frames, self._left_out):
            rows.check(self.header.file_digests.get(rows.path.name))

    def _check(self, row: int) -> None:
        if not 0 <= row < self.num_videos:
            raise IndexError(f"video {row} of {self.num_videos}")


class _ParquetRows:
    """Rows of one Parquet file, fetched a row group at a time."""

    def __init__(self, path: Path, schema: pa.Schema, digest: str) -> None:
        self.path = path
        self.schema = schema
        self.digest = digest
        self._kept: OrderedDict[int, pa.Table] = OrderedDict()

    @cached_property
    def _file(self) -> pq.ParquetFile:
        with self._reading():
            file = pq.ParquetFile(self.path, memory_map=True, page_checksum_verification=True)
            if not file.schema_arrow.equals(self._schema_of(file)):
                raise OSError("it has other columns")
        if (file.schema_arrow.metadata or {}).get(DIGEST_KEY) != self.digest.encode():
            raise UserError(
                f"{self.path} belongs to another state of the catalog",
                hint="index the videos again; indexing was interrupted or files were mixed",
            )
        return file

    def _schema_of(self, file: pq.ParquetFile) -> pa.Schema:
        """What the file should have, less the later columns that it lacks."""
        there = file.schema_arrow.names
        return pa.schema(
            [one for one in self.schema if one.name in there or one.name not in LATER_COLUMNS]
        )

    @cached_property
    def _first_rows(self) -> NDArray[np.int64]:
        metadata = self._file.metadata
        counts = [metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)]
        return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Raises UserError for a file that is missing or damaged."""
        try:
            yield
        except (OSError, ValueError, pa.ArrowException, msgspec.ValidationError) as error:
            said = " ".join(str(error).split())
            raise UserError(
                f"{self.path} cannot be read: {said}", hint="index the videos again"
            ) from None

    def records(self, kind: type[R]) -> list[R]:
        """Every row. Raises UserError for damage, as all of these do."""
        with self._reading():
            return rows_from_table(self._file.read(use_threads=False), kind)

    def record(self, row: int, kind: type[R]) -> R:
        """One row."""
        group, place = self.locate(row)
        with self._reading():
            return rows_from_table(group.slice(place, 1), kind)[0]

    def column(self, name: str) -> pa.ChunkedArray:
        """One column of every row."""
        with self._reading():
            if name in LATER_COLUMNS and name not in self._file.schema_arrow.names:
                num_rows = self._file.metadata.num_rows
                return pa.chunked_array([pa.nulls(num_rows, self.schema.field(name).type)])
            return self._file.read(columns=[name], use_threads=False).column(name)

    def check(self, file_digest: str | None) -> None:
        """Raises UserError when the file is missing, or not the one of that digest."""
        with self._reading():
            if digest_file(self.path) != file_digest:
                raise OSError("it is damaged")

    def locate(self, row: int) -> tuple[pa.Table, int]:
        """(row group that holds the row, place in it)."""
        group = int(np.searchsorted(self._first_rows, row, side="right")) - 1
        if group not in self._kept:
            with self._reading():
                self._kept[group] = self._file.read_row_group(group, use_threads=False)
            if len(self._kept) > KEPT_ROW_GROUPS:
                self._kept.popitem(last=False)
        self._kept.move_to_end(group)
        return self._kept[group], row - int(self._first_rows[group])


def open_catalog(path: Path | str) -> Catalog:
    """Open a catalog folder.

    Raises UserError when there is none, or another version of filmgate wrote it.
    """
    path = Path(path)
    if not (path / "catalog.json").is_file():
        raise UserError(
            f"{path} is no catalog: it has no catalog.json",
            hint="make one with: filmgate index VIDEOS --out CATALOG",
        )
    header = read_record(path / "catalog.json", CatalogHeader)
    if header.header.schema_version != SCHEMA_VERSION:
        raise UserError(
            f"{path} is a catalog of version {header.header.schema_version}, "
            f"this filmgate reads version {SCHEMA_VERSION}",
            hint="index the videos again",
        )
    return Catalog(path, header)
