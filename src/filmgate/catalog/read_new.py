"""Reading all files that are new or changed, on all cores, with what is done kept by and by."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from filmgate.catalog.find import Found
from filmgate.catalog.journal import ReadJournal
from filmgate.catalog.known import KnownFiles
from filmgate.catalog.read_file import FileRead, read_file, row_of, stamp_of
from filmgate.catalog.rows import LeftOut, VideoRow
from filmgate.records import Record
from filmgate.video import FrameTable
from filmgate.work import run_jobs

FILE_DEADLINE_SECONDS = 1800.0
"""A file that takes longer to read is left out."""
KEEP_EVERY_FILES = 256
KEEP_EVERY_SECONDS = 20.0
"""What was read goes to the journal at the first of the two: a kill costs no more than that."""


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


def read_new(
    videos: list[Found],
    known: KnownFiles,
    journal: ReadJournal,
    workers: int | None,
    on_progress: OnProgress | None,
) -> dict[Path, FileRead]:
    """Read every file that ``known`` does not have, the largest first.

    Gives what was read and is not in the journal: the last files, and those to be read again.
    """
    sizes: dict[Path, int] = {}
    for found in videos:
        stamp = stamp_of(found.path)
        if not known.is_unchanged(found.path, stamp):
            sizes[found.path] = stamp.size_bytes if stamp is not None else 0
    paths = sorted(sizes, key=lambda path: -sizes[path])
    bytes_done, bytes_total, since = 0, sum(sizes.values()), time.monotonic()
    reads = _Reads(found={found.path: found for found in videos}, journal=journal, kept_at=since)
    outcomes = run_jobs(
        read_file,
        paths,
        num_workers=len(os.sched_getaffinity(0)) if workers is None else workers,
        deadline_seconds=FILE_DEADLINE_SECONDS,
    )
    for done, outcome in enumerate(outcomes, start=1):
        path = paths[outcome.index]
        failed = FileRead(stamp=None, reason=f"reading it failed: {outcome.fault}")
        reads.take(path, outcome.value or failed)
        bytes_done += sizes[path]
        if done < len(paths):
            reads.keep_if_due()
        if on_progress is not None:
            on_progress(
                IndexProgress(
                    done=done,
                    total=len(paths),
                    bytes_done=bytes_done,
                    bytes_total=bytes_total,
                    seconds=time.monotonic() - since,
                )
            )
    return reads.fresh | reads.to_read_again


@dataclass(kw_only=True)
class _Reads:
    """Files that were read by this process, and their way into the journal."""

    found: dict[Path, Found]
    journal: ReadJournal
    kept_at: float
    """When the journal last got some, on the monotonic clock."""
    fresh: dict[Path, FileRead] = field(default_factory=dict)
    """Not in the journal yet."""
    to_read_again: dict[Path, FileRead] = field(default_factory=dict)
    """Without a stamp by which to know them; they never go there."""

    def take(self, path: Path, read: FileRead) -> None:
        """Add one file."""
        (self.to_read_again if read.stamp is None else self.fresh)[path] = read

    def keep_if_due(self) -> None:
        """Move what is fresh to the journal, when it is much or a while has passed."""
        is_late = self.fresh and time.monotonic() - self.kept_at >= KEEP_EVERY_SECONDS
        if len(self.fresh) < KEEP_EVERY_FILES and not is_late:
            return
        rows: list[tuple[VideoRow, FrameTable]] = []
        left_out: list[LeftOut] = []
        for path, read in self.fresh.items():
            row = row_of(self.found[path], read, label=None)
            if isinstance(row, LeftOut):
                left_out.append(row)
            else:
                assert read.table is not None
                rows.append((row, read.table))
        self.journal.append(rows, left_out)
        self.fresh, self.kept_at = {}, time.monotonic()
