"""Reading all files that are new or changed, on all cores, with what is done kept by and by."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from filmgate.catalog.find import Found
from filmgate.catalog.journal import ReadJournal
from filmgate.catalog.known import KnownFiles
from filmgate.catalog.read_file import FileRead, read_file, row_of, stamp_of
from filmgate.catalog.rows import LeftOut, VideoRow
from filmgate.video import FrameTable
from filmgate.work import run_jobs
from filmgate.work.progress import Counter
from filmgate.work.task import OnProgress

FILE_DEADLINE_SECONDS = 1800.0
"""A file that takes longer to read is left out."""
KEEP_EVERY_FILES = 256
KEEP_EVERY_SECONDS = 20.0
"""What was read goes to the journal at the first of the two: a kill costs no more than that."""


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
    counter = Counter(len(paths), sum(sizes.values()))
    reads = _Reads(
        found={found.path: found for found in videos}, journal=journal, kept_at=time.monotonic()
    )
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
        counter.count(sizes[path])
        if done < len(paths):
            reads.keep_if_due()
        if on_progress is not None:
            on_progress(counter.progress())
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
