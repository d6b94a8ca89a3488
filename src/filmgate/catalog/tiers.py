"""Hot and cold: which file of a video is read, where part of a catalog was staged.

A staged catalog is a catalog folder with ``stage.json`` beside it and verified copies in ``files``,
named by content. A copy carries its source's size and time of change, as the catalog has them; one
that differs was written to since, and is believed only when all of its content is right.
"""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from filmgate.catalog.rows import FileStamp, VideoRow
from filmgate.records import Header, Record, digest_file

Tier = Literal["hot", "cold"]
STAGE_FILE = "stage.json"
HOT_FOLDER = "files"
STAGE_ROOM = ".stage"
STAGING_LOCK = "coordinator.json"
"""Inside the room; locked by who stages."""


@dataclass(frozen=True, kw_only=True)
class Located:
    """The file of a video that is to be read."""

    path: str
    """A path, or the URL of an object, which cannot be read as it is."""
    stamp: FileStamp
    """What the file has when it is the one that was indexed or staged."""
    tier: Tier | None
    """None in a catalog of which nothing was staged."""
    lease: int | None = None
    """Descriptor that keeps the hot file from being evicted until it is closed."""


class StageFacts(Record, frozen=True):
    """``stage.json``: what makes a folder a staged catalog."""

    header: Header
    """Its input is the catalog."""
    catalog: str
    """Absolute path of the catalog that is staged."""
    source: str | None
    """Folder or URL below which the videos lie by their ids, or the shards of a pack; None: where
    the catalog says, or in the folder of the pack."""


def is_url(path: str) -> bool:
    """Whether it names an object in a store."""
    return "://" in path


def hot_name(content_digest: str, path: str) -> str:
    """Where the copy of a file lies below the staged catalog's folder."""
    name = content_digest.rpartition(":")[2]
    return f"{HOT_FOLDER}/{name[:2]}/{name}{PurePosixPath(path).suffix.lower()}"


def is_staged(folder: Path) -> bool:
    """Whether a catalog folder has a hot tier."""
    return (folder / STAGE_FILE).is_file()


def is_staging(folder: Path) -> bool:
    """Whether a living process stages into a catalog folder."""
    try:
        descriptor = os.open(folder / STAGE_ROOM / STAGING_LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def locate(folder: Path, facts: VideoRow) -> Located:
    """The hot copy where there is one, else the file that was indexed.

    The caller closes the ``lease``. Cheap: a copy is only read whole when its time of change is
    not the one that staging gave it.
    """
    if not is_staged(folder):
        return Located(path=facts.path, stamp=facts.stamp, tier=None)
    hot = folder / hot_name(facts.content_digest, facts.path)
    lease = open_hot(hot, facts.content_digest, facts.stamp.size_bytes, facts.stamp.mtime_ns)
    if lease is None:
        return Located(path=facts.path, stamp=facts.stamp, tier="cold")
    status = os.fstat(lease)
    stamp = FileStamp(size_bytes=status.st_size, mtime_ns=status.st_mtime_ns, inode=status.st_ino)
    return Located(path=str(hot), stamp=stamp, tier="hot", lease=lease)


def open_hot(path: Path, content_digest: str, size_bytes: int, mtime_ns: int) -> int | None:
    """A descriptor of a hot file, which is not evicted until it is closed.

    None when it is not there, is just being evicted, or is not as it was staged.
    """
    lease = _take_lease(path)
    if lease is None:
        return None
    status = os.fstat(lease)
    if (status.st_size, status.st_mtime_ns) == (size_bytes, mtime_ns):
        return lease
    if status.st_size == size_bytes and _has_content(path, content_digest):
        return lease
    os.close(lease)
    return None


def _take_lease(hot: Path) -> int | None:
    """A shared lock on a file that is there; None when it is not, or is just being evicted."""
    try:
        descriptor = os.open(hot, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    if os.fstat(descriptor).st_nlink == 0:  # evicted between the two calls
        os.close(descriptor)
        return None
    return descriptor


def _has_content(hot: Path, content_digest: str) -> bool:
    try:
        return digest_file(hot) == content_digest
    except OSError:
        return False
