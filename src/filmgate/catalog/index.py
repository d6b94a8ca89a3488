"""Making a catalog: every file read once, on all cores, and only when it is new or changed."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from filmgate.catalog.catalog import Catalog, open_catalog
from filmgate.catalog.find import MADE_FOLDER, Found, find_videos
from filmgate.catalog.journal import hold_journal
from filmgate.catalog.known import KnownFiles, known_files
from filmgate.catalog.labels import Labels, labels_of
from filmgate.catalog.read_file import FileRead, row_of
from filmgate.catalog.read_new import read_new
from filmgate.catalog.rows import LeftOut, VideoRow
from filmgate.catalog.write import write_catalog
from filmgate.errors import UserError
from filmgate.video import FrameTable
from filmgate.work.task import OnProgress


def index_videos(
    paths: Path | str | Sequence[Path | str],
    out: Path | str,
    *,
    labels: Labels | str = "folder",
    workers: int | None = None,
    on_progress: OnProgress | None = None,
) -> Catalog:
    """Index videos and folders of videos into the catalog folder ``out``.

    Files that are unchanged since ``out`` was last written are not read again, nor are those that
    an index which was cut off had read by a while before its end. ``labels`` is
    ``"folder"``, a CSV file with the columns path,label, or None. ``workers`` processes read
    files, one per core by default; 0 reads them here.

    Raises UserError when a path is missing or unreadable, no file can be used, the labels do not
    fit, ``out`` cannot be written, or another process writes it.
    """
    roots = [Path(paths)] if isinstance(paths, Path | str) else [Path(path) for path in paths]
    out = Path(out)
    findings = find_videos(roots, skip=out)
    found_labels = labels_of(findings.videos, _labels(labels), roots)
    _make_folder(out)
    with hold_journal(out) as journal:
        known = known_files(out)
        known.add_all(journal.batches())
        fresh = read_new(findings.videos, known, journal, workers, on_progress)
        known.add_all(journal.batches())
        rows: list[VideoRow] = []
        left_out = [_made(folder) for folder in findings.made_folders]
        for found, label in zip(findings.videos, found_labels, strict=True):
            row = _row_of(found, label, fresh, known)
            if isinstance(row, LeftOut):
                left_out.append(row)
            else:
                rows.append(row)
        if not rows:
            raise _nothing_usable(left_out)
        tables = ((row.video_id, _table(row, fresh, known)) for row in rows)
        write_catalog(
            out,
            rows,
            left_out,
            tables,
            roots=[str(root.absolute()) for root in roots],
            num_ignored=findings.num_ignored,
        )
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


def _row_of(
    found: Found, label: str | None, fresh: dict[Path, FileRead], known: KnownFiles
) -> VideoRow | LeftOut:
    read = fresh.get(found.path)
    if read is not None:
        return row_of(found, read, label)
    old = known.row(found.path)
    return msgspec.structs.replace(old, video_id=found.video_id, **_labelled(old, label))


def _made(folder: Found) -> LeftOut:
    return LeftOut(video_id=folder.video_id, path=str(folder.path), reason=MADE_FOLDER, stamp=None)


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
