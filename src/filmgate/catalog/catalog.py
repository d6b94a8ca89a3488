"""An opened catalog: nothing is read before it is asked for."""

from __future__ import annotations

from collections import OrderedDict
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from filmgate.catalog.rows import SCHEMA_VERSION, CatalogHeader, LeftOut, VideoRow
from filmgate.catalog.store import DIGEST_KEY, frame_table_from_row, rows_from_table
from filmgate.errors import UserError
from filmgate.records import read_record
from filmgate.video import FrameTable

KEPT_ROW_GROUPS = 8
"""Unpacked row groups that each file keeps; a group is some hundred videos."""


class Catalog:
    """A folder written by ``index_videos``. Cheap to open, picklable as its path.

    Row numbers count from 0 in the order of ``video_id``.
    """

    def __init__(self, path: Path, header: CatalogHeader) -> None:
        self.path = path
        self.header = header
        self._videos = _ParquetRows(path / "videos.parquet", header.digest)
        self._frames = _ParquetRows(path / "frames.parquet", header.digest)

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
    def left_out(self) -> list[LeftOut]:
        """Files that cannot be used, each with the reason."""
        return rows_from_table(
            _ParquetRows(self.path / "left_out.parquet", self.digest).all(), LeftOut
        )

    def column(self, name: str) -> pa.ChunkedArray:
        """One column of ``videos.parquet``."""
        return self._videos.column(name)

    def video(self, row: int) -> VideoRow:
        """One video's facts. Raises IndexError outside 0..num_videos-1."""
        self._check(row)
        group, place = self._videos.locate(row)
        return rows_from_table(group.slice(place, 1), VideoRow)[0]

    def frame_table(self, row: int) -> FrameTable:
        """One video's frame table. Raises IndexError outside 0..num_videos-1."""
        self._check(row)
        return frame_table_from_row(*self._frames.locate(row))

    def _check(self, row: int) -> None:
        if not 0 <= row < self.num_videos:
            raise IndexError(f"video {row} of {self.num_videos}")


class _ParquetRows:
    """Rows of one Parquet file, fetched a row group at a time."""

    def __init__(self, path: Path, digest: str) -> None:
        self.path = path
        self.digest = digest
        self._kept: OrderedDict[int, pa.Table] = OrderedDict()

    @cached_property
    def _file(self) -> pq.ParquetFile:
        try:
            file = pq.ParquetFile(self.path, memory_map=True)
        except (OSError, pa.ArrowInvalid) as error:
            raise UserError(
                f"{self.path} cannot be read: {error}", hint="index the videos again"
            ) from None
        if (file.schema_arrow.metadata or {}).get(DIGEST_KEY) != self.digest.encode():
            raise UserError(
                f"{self.path} belongs to another state of the catalog",
                hint="index the videos again; indexing was interrupted or files were mixed",
            )
        return file

    @cached_property
    def _first_rows(self) -> NDArray[np.int64]:
        metadata = self._file.metadata
        counts = [metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)]
        return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])

    def all(self) -> pa.Table:
        return self._file.read(use_threads=False)

    def column(self, name: str) -> pa.ChunkedArray:
        return self._file.read(columns=[name], use_threads=False).column(name)

    def locate(self, row: int) -> tuple[pa.Table, int]:
        """(row group that holds the row, place in it)."""
        group = int(np.searchsorted(self._first_rows, row, side="right")) - 1
        if group not in self._kept:
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
