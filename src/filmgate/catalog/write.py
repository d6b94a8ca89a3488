"""Writing a catalog: its three tables, and last the header that makes them valid."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from filmgate.catalog.rows import (
    SCHEMA,
    SCHEMA_VERSION,
    CatalogHeader,
    CopyFacts,
    LeftOut,
    VideoRow,
)
from filmgate.catalog.store import (
    LEFT_OUT_SCHEMA,
    VIDEOS_SCHEMA,
    write_frame_tables,
    write_rows,
)
from filmgate.records import Header, digest_bytes, digest_file, write_record
from filmgate.video import FrameTable


def write_catalog(
    out: Path,
    rows: Sequence[VideoRow],
    left_out: Sequence[LeftOut],
    tables: Iterable[tuple[str, FrameTable]],
    *,
    roots: Sequence[str],
    num_ignored: int = 0,
    copy: CopyFacts | None = None,
) -> None:
    """Write rows, in the order of ``video_id``, and the (video_id, table) of each."""
    digest = _digest(rows)
    files = [out / f"{name}.parquet" for name in ("frames", "videos", "left_out")]
    write_frame_tables(files[0], tables, digest)
    write_rows(files[1], rows, VIDEOS_SCHEMA, digest)
    write_rows(files[2], left_out, LEFT_OUT_SCHEMA, digest)
    inputs = {} if copy is None else {"catalog": copy.catalog_digest, "recipe": copy.recipe_digest}
    header = CatalogHeader(
        header=Header(schema=SCHEMA, schema_version=SCHEMA_VERSION, inputs=inputs),
        digest=digest,
        file_digests={file.name: digest_file(file) for file in files},
        roots=list(roots),
        num_videos=len(rows),
        num_frames=sum(row.num_frames for row in rows),
        num_left_out=len(left_out),
        num_ignored=num_ignored,
        copy=copy,
    )
    write_record(out / "catalog.json", header)


def _digest(rows: Sequence[VideoRow]) -> str:
    return digest_bytes(*(_line(row).encode() for row in rows))


def _line(row: VideoRow) -> str:
    """A split is said where there is one, so that catalogs without keep their digest."""
    split = "" if row.split is None else f"\0{row.split}"
    return f"{row.content_digest}\0{row.label or ''}\0{row.num_frames}{split}\n"
