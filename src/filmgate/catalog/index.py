"""Making a catalog: every file read once, on all cores, and only when it is new or changed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from filmgate.catalog.catalog import Catalog, open_catalog
from filmgate.catalog.find import MADE_FOLDER, Findings, Found, find_videos
from filmgate.catalog.known import KnownFiles, known_files
from filmgate.catalog.labels import Labels, labels_of
from filmgate.catalog.read_new import NewFiles, held_reading, new_files
from filmgate.catalog.rows import LeftOut, VideoRow
from filmgate.catalog.write import write_catalog
from filmgate.errors import UserError
from filmgate.video import FrameTable
from filmgate.work import Limits, LocalExecutor
from filmgate.work.executor import Executor
from filmgate.work.task import OnProgress


def index_videos(
    paths: Path | str | Sequence[Path | str],
    out: Path | str,
    *,
    labels: Labels | str = "folder",
    workers: int | None = None,
    executor: Executor | None = None,
    limits: Limits | None = None,
    retry_left_out: bool = False,
    on_progress: OnProgress | None = None,
) -> Catalog:
    """Index videos and folders of videos into the catalog folder ``out``.

    Files that are unchanged since ``out`` was last written are not read again, nor are those that
    an index which was cut off had read; with ``retry_left_out`` those that were left out are.
    ``labels`` is ``"folder"``, a CSV file with the columns path,label, or None. ``workers``
    processes read files, one per core by default; 0 reads them here; or an ``executor`` does.
    A file that crashes its worker, or holds it up, ``limits.attempts`` times is left out.

    Raises UserError when a path is missing or unreadable, no file can be used, the labels do not
    fit, ``out`` cannot be written, or another process writes it; WorkError past the error budget;
    ValueError when both ``workers`` and an ``executor`` are given.
    """
    if executor is not None and workers is not None:
        raise ValueError("workers and an executor are given; an executor has its own workers")
    roots = [Path(paths)] if isinstance(paths, Path | str) else [Path(path) for path in paths]
    out = Path(out)
    findings = find_videos(roots, skip=out)
    found_labels = labels_of(findings.videos, _labels(labels), roots)
    _make_folder(out)
    with held_reading(out) as folder:
        known = known_files(out, retry_left_out=retry_left_out)
        found = {one.path: one for one in findings.videos}
        new = NewFiles(new_files(found, known.stamps), folder)
        read = new.read(
            found,
            executor or LocalExecutor(workers),
            limits,
            on_progress,
            retry_left_out=retry_left_out,
        )
        rows, left_out = _rows(findings, found_labels, read, known)
        if rows:
            write_catalog(
                out,
                rows,
                left_out,
                _tables(rows, read, new, known),
                roots=[str(root.absolute()) for root in roots],
                num_ignored=findings.num_ignored,
            )
    if not rows:
        raise _nothing_usable(left_out)
    return open_catalog(out)


def _rows(
    findings: Findings,
    labels: Sequence[str | None],
    read: Mapping[Path, VideoRow | LeftOut],
    known: KnownFiles,
) -> tuple[list[VideoRow], list[LeftOut]]:
    """What was read now or before, under the names and labels of now."""
    rows: list[VideoRow] = []
    left_out = [_made(folder) for folder in findings.made_folders]
    for found, label in zip(findings.videos, labels, strict=True):
        row = read.get(found.path) or known.row(found.path)
        if isinstance(row, LeftOut):
            left_out.append(msgspec.structs.replace(row, video_id=found.video_id))
        else:
            rows.append(msgspec.structs.replace(row, video_id=found.video_id, label=label))
    return rows, left_out


def _tables(
    rows: Sequence[VideoRow],
    read: Mapping[Path, VideoRow | LeftOut],
    new: NewFiles,
    known: KnownFiles,
) -> Iterator[tuple[str, FrameTable]]:
    """The id and frame table of each row."""
    paths = [Path(row.path) for row in rows]
    fresh = new.tables([path for path in paths if path in read])
    for row, path in zip(rows, paths, strict=True):
        yield row.video_id, next(fresh) if path in read else known.table(path)


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


def _made(folder: Found) -> LeftOut:
    return LeftOut(video_id=folder.video_id, path=str(folder.path), reason=MADE_FOLDER, stamp=None)


def _nothing_usable(left_out: list[LeftOut]) -> UserError:
    reasons = "; ".join(f"{one.video_id}: {one.reason}" for one in left_out[:3])
    return UserError(
        f"none of {len(left_out)} files can be used ({reasons})",
        hint="play one of them in a video player; it may be cut off, or no video at all",
    )
