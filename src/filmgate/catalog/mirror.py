"""The same catalog in another folder, with its videos where they are or below another root."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import BinaryIO

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from filmgate.catalog.catalog import Catalog, open_catalog
from filmgate.catalog.rows import CatalogHeader
from filmgate.catalog.store import ROWS_PER_GROUP
from filmgate.errors import UserError
from filmgate.records import digest_file, read_record, write_file, write_record

_SAME = ("frames.parquet", "left_out.parquet")
_VIDEOS = "videos.parquet"


def mirror_catalog(catalog: Catalog, out: Path, root: str | None = None) -> Catalog:
    """Write the catalog into ``out``; with ``root``, a folder or URL, videos lie there by their id.

    Nothing is written that is there. The digest stays, for it does not depend on where files lie.
    """
    header = catalog.header
    for name in _SAME:
        if not _is_there(out / name, header.file_digests.get(name)):
            _copy(catalog.path / name, out / name)
    videos = _with_root(catalog, root)
    digest = _write_videos(out / _VIDEOS, videos) if videos else header.file_digests.get(_VIDEOS)
    if videos is None and not _is_there(out / _VIDEOS, digest):
        _copy(catalog.path / _VIDEOS, out / _VIDEOS)
    assert digest is not None
    header = msgspec.structs.replace(header, file_digests={**header.file_digests, _VIDEOS: digest})
    if not _has_header(out, header):
        write_record(out / "catalog.json", header)
    return open_catalog(out)


def _with_root(catalog: Catalog, root: str | None) -> pa.Table | None:
    """The videos with other paths; None when they stay."""
    if root is None:
        return None
    table = pq.read_table(catalog.path / _VIDEOS)
    ids = table.column("video_id").to_pylist()
    paths = pa.array([f"{root.rstrip('/')}/{one}" for one in ids], pa.string())
    at = table.column_names.index("path")
    return table.set_column(at, table.schema.field(at), paths)


def _write_videos(path: Path, table: pa.Table) -> str:
    """Write as ``store.write_rows`` does, unless it is there; its digest."""

    def write(file: BinaryIO) -> None:
        """The table as Parquet."""
        pq.write_table(
            table, file, compression="zstd", row_group_size=ROWS_PER_GROUP, write_page_checksum=True
        )

    if not path.is_file() or not pq.read_table(path).equals(table, check_metadata=True):
        write_file(path, write)
    return digest_file(path)


def _is_there(path: Path, digest: str | None) -> bool:
    return path.is_file() and digest_file(path) == digest


def _copy(source: Path, path: Path) -> None:
    def write(file: BinaryIO) -> None:
        """The bytes."""
        with source.open("rb") as content:
            shutil.copyfileobj(content, file, 1 << 20)

    write_file(path, write)


def _has_header(out: Path, header: CatalogHeader) -> bool:
    try:
        return read_record(out / "catalog.json", CatalogHeader) == header
    except UserError:
        return False
