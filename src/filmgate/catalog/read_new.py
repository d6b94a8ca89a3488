"""Reading all files that are new or changed: a list of work, kept until the catalog is written."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from filmgate.catalog.find import Found
from filmgate.catalog.packed_table import unpack_table
from filmgate.catalog.read_file import FileRead, read_file, row_of, stamp_of
from filmgate.catalog.rows import SCHEMA_VERSION, FileStamp, LeftOut, VideoRow
from filmgate.records import digest_bytes
from filmgate.records.files import remove_unfinished
from filmgate.video import FrameTable
from filmgate.work import Limits, Outcome, Task, do_work
from filmgate.work.executor import Executor
from filmgate.work.lines import cut_off_damage
from filmgate.work.lock import FolderLock
from filmgate.work.rows import finished_rows
from filmgate.work.task import JOURNAL_FILE, ROOM, OnProgress

READING = ".index"
"""Folder in the catalog's folder, for the list of work; gone when the catalog is written."""


@contextmanager
def held_reading(out: Path) -> Iterator[Path]:
    """The folder for the list of work of an index into ``out``, which this process holds.

    At a good end it goes; after an error it stays, if anything was begun. What killed starts left
    half written is removed. Raises UserError when another process indexes into ``out``.
    """
    folder = out / READING
    lock = FolderLock(folder)
    lock.take(other_machines=False)
    try:
        for gone in out.glob(f"{READING}-*"):
            shutil.rmtree(gone, ignore_errors=True)
        remove_unfinished(out)
        try:
            yield folder
        except BaseException:
            if not (folder / ROOM).exists():
                _remove(folder, lock.token)
            raise
        _remove(folder, lock.token)
    finally:
        lock.release()


def _remove(folder: Path, token: str) -> None:
    """In one step, so that who comes next finds all of it or nothing."""
    gone = folder.with_name(f"{folder.name}-{token}")
    folder.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)  # who comes next may be at it too


class NewFiles:
    """Files to be read, and what reading them gave, which is kept in a folder and not here."""

    def __init__(self, files: Mapping[Path, FileStamp | None], folder: Path) -> None:
        self._stamps = files
        self._folder = folder
        self._tasks = {path: _task(path, stamp) for path, stamp in files.items()}

    def read(
        self,
        found: Mapping[Path, Found],
        executor: Executor,
        limits: Limits | None,
        on_progress: OnProgress | None,
        *,
        retry_left_out: bool = False,
    ) -> dict[Path, VideoRow | LeftOut]:
        """What the catalog is to say of every file but for its label, the largest read first.

        A journal that was damaged goes on from where it is whole. Raises as ``do_work`` does.
        """
        journal = self._folder / ROOM / JOURNAL_FILE
        if journal.exists():
            cut_off_damage(journal)
        tasks = sorted(self._tasks.values(), key=lambda task: -task.size_bytes)
        rows: dict[Path, VideoRow | LeftOut] = {}
        if not tasks:
            return rows
        for outcome in do_work(
            read_file, tasks, self._folder, row=FileRead, executor=executor, limits=limits,
            retry_quarantined=retry_left_out, on_progress=on_progress,
        ):  # fmt: skip
            path = Path(outcome.task.payload)
            rows[path] = row_of(found[path], self._read_of(outcome), label=None)
        return rows

    def tables(self, paths: Iterable[Path]) -> Iterator[FrameTable]:
        """Frame tables of usable files that were read, in the order of ``paths``, one at a time."""
        keys = [self._tasks[path].key for path in paths]
        for read in finished_rows(self._folder, keys, FileRead) if keys else ():
            assert read.video is not None
            yield unpack_table(read.video.packed_table)

    def _read_of(self, outcome: Outcome[str, FileRead]) -> FileRead:
        if outcome.row is not None:
            return outcome.row
        stamp = self._stamps[Path(outcome.task.payload)] if outcome.is_lost else None
        return FileRead(stamp=stamp, reason=f"reading it failed: {outcome.fault}")


def _task(path: Path, stamp: FileStamp | None) -> Task[str]:
    """Known by path and stamp, since its content is known only when it has been read."""
    known_by = f"read\0{SCHEMA_VERSION}\0{path}\0{stamp}"
    return Task(
        key=digest_bytes(known_by.encode()),
        name=str(path),
        payload=str(path),
        size_bytes=0 if stamp is None else stamp.size_bytes,
    )


def new_files(
    paths: Iterable[Path], known: Mapping[str, FileStamp]
) -> dict[Path, FileStamp | None]:
    """The files whose stamp is not the known one, each with its stamp; None for one that went."""
    stamps = {path: stamp_of(path) for path in paths}
    return {
        path: stamp
        for path, stamp in stamps.items()
        if stamp is None or known.get(str(path)) != stamp
    }
