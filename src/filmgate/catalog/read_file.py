"""The job of one worker: read one file once, for its digest, facts and frame table."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

from filmgate.catalog.find import Found
from filmgate.catalog.packed_table import pack_table
from filmgate.catalog.rows import FileStamp, LeftOut, VideoRow
from filmgate.errors import BlindNode, UnreadableVideo
from filmgate.records import Record, digest_file
from filmgate.video import FrameTable, VideoFacts, probe
from filmgate.work import Place
from filmgate.work.faults import kind_of


class VideoRead(Record, frozen=True, kw_only=True):
    """What a usable file holds."""

    content_digest: str
    """``blake3:`` digest of the file's bytes."""
    facts: VideoFacts
    """What it is."""
    num_frames: int
    """Displayed frames that come out."""
    duration_seconds: float
    """From the start of the first frame to the end of the last."""
    packed_table: bytes
    """Its frame table, as ``packed_table`` packs it."""


class FileRead(Record, frozen=True, kw_only=True):
    """What reading a file gave: a video, or the reason why there is none."""

    stamp: FileStamp | None
    """The file before reading; None when it is to be read again next time."""
    video: VideoRead | None = None
    """None for a file that cannot be used."""
    reason: str | None = None
    """Why it cannot be used; None when it can."""


def stamp_of(path: Path) -> FileStamp | None:
    """The stamp of a file; None when it is not there."""
    try:
        status = path.stat()
    except OSError:
        return None
    return FileStamp(size_bytes=status.st_size, mtime_ns=status.st_mtime_ns, inode=status.st_ino)


def read_file(name: str, place: Place) -> FileRead:
    """Read a file; a fault of the file is a reason.

    Raises an OSError that may pass, BlindNode where not even the file's folder is, and whatever is
    a fault of ours.
    """
    path = Path(name)
    stamp = stamp_of(path)
    if stamp is None and not path.parent.exists():
        raise BlindNode(f"{socket.gethostname()} does not see {path.parent}")
    try:
        content_digest, facts, table = _read(path)
    except UnreadableVideo as error:
        return FileRead(stamp=stamp, reason=error.reason)
    except OSError as error:
        if kind_of(error) == "passing":
            raise
        return FileRead(stamp=None, reason=f"cannot be read: {error.strerror}")
    if stamp_of(path) != stamp:
        return FileRead(stamp=None, reason="it changed while it was read")
    video = VideoRead(
        content_digest=content_digest,
        facts=facts,
        num_frames=table.num_frames,
        duration_seconds=table.duration_seconds,
        packed_table=pack_table(table),
    )
    return FileRead(stamp=stamp, video=video)


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
    if read.video is None:
        assert read.reason is not None
        return LeftOut(
            video_id=found.video_id, path=str(found.path), reason=read.reason, stamp=read.stamp
        )
    assert read.stamp is not None
    return VideoRow(
        **{name: getattr(read.video.facts, name) for name in VideoFacts.__struct_fields__},
        video_id=found.video_id,
        path=str(found.path),
        content_digest=read.video.content_digest,
        label=label,
        num_frames=read.video.num_frames,
        duration_seconds=read.video.duration_seconds,
        stamp=read.stamp,
    )
