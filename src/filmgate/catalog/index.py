"""Making a catalog: every file read once, on all cores, and only when it is new or changed."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from filmgate.catalog.catalog import Catalog, open_catalog
from filmgate.catalog.find import Findings, Found, find_videos
from filmgate.catalog.known import KnownFiles, known_files
from filmgate.catalog.labels import Labels, labels_of
from filmgate.catalog.read_file import FileRead, read_file, stamp_of
from filmgate.catalog.rows import SCHEMA, SCHEMA_VERSION, CatalogHeader, LeftOut, VideoRow
from filmgate.catalog.store import (
    LEFT_OUT_SCHEMA,
    VIDEOS_SCHEMA,
    write_frame_tables,
    write_rows,
)
from filmgate.errors import UserError
from filmgate.records import Header, Record, digest_bytes, digest_file, write_record
from filmgate.video import FrameTable, VideoFacts
from filmgate.work import run_jobs

FILE_DEADLINE_SECONDS = 1800.0
"""A file that takes longer to read is left out."""


class IndexProgress(Record, frozen=True):
    """How far indexing has come."""

    done: int
    """Files that were read."""
    total: int
    """Files that have to be read; unchanged ones are not among them."""
    bytes_done: int
    """Size of the files that were read."""
    bytes_total: int
    """Size of the files that have to be read."""
    seconds: float
    """Since reading began."""


OnProgress = Callable[[IndexProgress], None]


def index_videos(
    paths: Path | str | Sequence[Path | str],
    out: Path | str,
    *,
    labels: Labels | str = "folder",
    workers: int | None = None,
    on_progress: OnProgress | None = None,
) -> Catalog:
    """Index videos and folders of videos into the catalog folder ``out``.

    Files that are unchanged since ``out`` was last written are not read again. ``labels`` is
    ``"folder"``, a CSV file with the columns path,label, or None. ``workers`` processes read
    files, one per core by default; 0 reads them here.

    Raises UserError when a path is missing or unreadable, no file can be used, the labels do not
    fit, or ``out`` cannot be written.
    """
    roots = [Path(paths)] if isinstance(paths, Path | str) else [Path(path) for path in paths]
    out = Path(out)
    findings = find_videos(roots, skip=out)
    found_labels = labels_of(findings.videos, _labels(labels), roots)
    _make_folder(out)
    known = known_files(out)
    fresh = _read_new(findings.videos, known, workers, on_progress)
    rows: list[VideoRow] = []
    left_out: list[LeftOut] = []
    for found, label in zip(findings.videos, found_labels, strict=True):
        row = _row_of(found, label, fresh, known)
        if isinstance(row, LeftOut):
            left_out.append(row)
        else:
            rows.append(row)
    if not rows:
        raise _nothing_usable(left_out)
    tables = ((row.video_id, _table(row, fresh, known)) for row in rows)
    _write(out, rows, left_out, tables, findings, roots)
    return open_catalog(out)


def _labels(labels: Labels | str) -> Labels:
    return labels if labels is None or labels == "folder" else Path(labels)  # type: ignore[return-value]


def _make_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise UserError(
            f"{out} cannot be written: {error.strerror}", hint="name another folder for the catalog"
        ) from None


def _read_new(
    videos: list[Found], known: KnownFiles, workers: int | None, on_progress: OnProgress | None
) -> dict[Path, FileRead]:
    """Read every file that is new or changed, the largest first."""
    sizes: dict[Path, int] = {}
    for found in videos:
        stamp = stamp_of(found.path)
        if not known.is_unchanged(found.path, stamp):
            sizes[found.path] = stamp.size_bytes if stamp is not None else 0
    paths = sorted(sizes, key=lambda path: -sizes[path])
    since, bytes_done, fresh = time.monotonic(), 0, dict[Path, FileRead]()
    outcomes = run_jobs(
        read_file,
        paths,
        num_workers=len(os.sched_getaffinity(0)) if workers is None else workers,
        deadline_seconds=FILE_DEADLINE_SECONDS,
    )
    for outcome in outcomes:
        path = paths[outcome.index]
        fresh[path] = outcome.value or FileRead(
            stamp=None, reason=f"reading it failed: {outcome.fault}"
        )
        bytes_done += sizes[path]
        if on_progress is not None:
            on_progress(
                IndexProgress(
                    done=len(fresh),
                    total=len(paths),
                    bytes_done=bytes_done,
                    bytes_total=sum(sizes.values()),
                    seconds=time.monotonic() - since,
                )
            )
    return fresh


def _left_out(found: Found, read: FileRead) -> LeftOut:
    assert read.reason is not None
    return LeftOut(
        video_id=found.video_id, path=str(found.path), reason=read.reason, stamp=read.stamp
    )


def _row_of(
    found: Found, label: str | None, fresh: dict[Path, FileRead], known: KnownFiles
) -> VideoRow | LeftOut:
    read = fresh.get(found.path)
    if read is None:
        old = known.row(found.path)
        return msgspec.structs.replace(old, video_id=found.video_id, **_labelled(old, label))
    if read.facts is None:
        return _left_out(found, read)
    assert read.table is not None and read.stamp is not None
    facts = {name: getattr(read.facts, name) for name in VideoFacts.__struct_fields__}
    return VideoRow(
        **facts,
        video_id=found.video_id,
        path=str(found.path),
        content_digest=read.content_digest,
        label=label,
        num_frames=read.table.num_frames,
        duration_seconds=read.table.duration_seconds,
        stamp=read.stamp,
    )


def _labelled(row: VideoRow | LeftOut, label: str | None) -> dict[str, str | None]:
    return {"label": label} if isinstance(row, VideoRow) else {}


def _table(row: VideoRow, fresh: dict[Path, FileRead], known: KnownFiles) -> FrameTable:
    read = fresh.get(Path(row.path))
    if read is None:
        return known.table(Path(row.path))
    assert read.table is not None
    return read.table


def _nothing_usable(left_out: list[LeftOut]) -> UserError:
    reasons = "; ".join(f"{one.video_id}: {one.reason}" for one in left_out[:3])
    return UserError(
        f"none of {len(left_out)} files can be used ({reasons})",
        hint="play one of them in a video player; it may be cut off, or no video at all",
    )


def _write(
    out: Path,
    rows: list[VideoRow],
    left_out: list[LeftOut],
    tables: Iterable[tuple[str, FrameTable]],
    findings: Findings,
    roots: list[Path],
) -> None:
    """Write the tables, and last the header that makes them valid."""
    digest = _digest(rows)
    files = [out / f"{name}.parquet" for name in ("frames", "videos", "left_out")]
    write_frame_tables(files[0], tables, digest)
    write_rows(files[1], rows, VIDEOS_SCHEMA, digest)
    write_rows(files[2], left_out, LEFT_OUT_SCHEMA, digest)
    header = CatalogHeader(
        header=Header(schema=SCHEMA, schema_version=SCHEMA_VERSION),
        digest=digest,
        file_digests={file.name: digest_file(file) for file in files},
        roots=[str(root.absolute()) for root in roots],
        num_videos=len(rows),
        num_frames=sum(row.num_frames for row in rows),
        num_left_out=len(left_out),
        num_ignored=findings.num_ignored,
    )
    write_record(out / "catalog.json", header)


def _digest(rows: list[VideoRow]) -> str:
    lines = [f"{row.content_digest}\0{row.label or ''}\0{row.num_frames}\n" for row in rows]
    return digest_bytes(*(line.encode() for line in lines))
