"""The job of one worker: read one file once, for its digest, facts and frame table."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from filmgate.catalog.find import Found
from filmgate.catalog.rows import FileStamp, LeftOut, VideoRow
from filmgate.errors import UnreadableVideo
from filmgate.records import digest_file
from filmgate.video import FrameTable, VideoFacts, probe


@dataclass(frozen=True, kw_only=True)
class FileRead:
    """What reading a file gave: facts and table, or the reason why there are none."""

    stamp: FileStamp | None
    """The file before reading; None when it is to be read again next time."""
    content_digest: str = ""
    facts: VideoFacts | None = None
    table: FrameTable | None = None
    reason: str | None = None
    """Why it cannot be used; None when it can."""


def stamp_of(path: Path) -> FileStamp | None:
    """The stamp of a file; None when it is not there."""
    try:
        status = path.stat()
    except OSError:
        return None
    return FileStamp(size_bytes=status.st_size, mtime_ns=status.st_mtime_ns, inode=status.st_ino)


def read_file(path: Path) -> FileRead:
    """Read a file; a fault of the file is a reason, a fault of ours is raised."""
    stamp = stamp_of(path)
    try:
        content_digest, facts, table = _read(path)
    except UnreadableVideo as error:
        return FileRead(stamp=stamp, reason=error.reason)
    except OSError as error:
        return FileRead(stamp=None, reason=f"cannot be read: {error.strerror}")
    if stamp_of(path) != stamp:
        return FileRead(stamp=None, reason="it changed while it was read")
    return FileRead(stamp=stamp, content_digest=content_digest, facts=facts, table=table)


def _read(path: Path) -> tuple[str, VideoFacts, FrameTable]:
    """Digest, facts and table, together, so that the file is fetched once; raises as they do."""
    unwanted = Event()
    with ThreadPoolExecutor(max_workers=1) as beside:
        digest = beside.submit(digest_file, path, unwanted)
        try:
            facts, table = probe(path)
        except BaseException:
            unwanted.set()
            raise
        return digest.result(), facts, table


def row_of(found: Found, read: FileRead, label: str | None) -> VideoRow | LeftOut:
    """What the catalog says of a file that was read."""
    if read.facts is None:
        assert read.reason is not None
        return LeftOut(
            video_id=found.video_id, path=str(found.path), reason=read.reason, stamp=read.stamp
        )
    assert read.table is not None and read.stamp is not None
    return VideoRow(
        **{name: getattr(read.facts, name) for name in VideoFacts.__struct_fields__},
        video_id=found.video_id,
        path=str(found.path),
        content_digest=read.content_digest,
        label=label,
        num_frames=read.table.num_frames,
        duration_seconds=read.table.duration_seconds,
        stamp=read.stamp,
    )
