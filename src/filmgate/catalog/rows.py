"""The records of a catalog."""

from __future__ import annotations

from filmgate.records import Header, Record
from filmgate.video import VideoFacts

SCHEMA = "filmgate.catalog"
SCHEMA_VERSION = 2
"""Raised whenever the meaning of a row or of a frame table changes; older rows are read anew."""

PACK_CONTAINER = "pack"
"""What stands for the container of images in a pack: by themselves, or the frames of a video."""


class FileStamp(Record, frozen=True):
    """What tells, without reading it, that a file is still the same."""

    size_bytes: int
    """Size of the file."""
    mtime_ns: int
    """Time of last change."""
    inode: int
    """Number of the file in its file system."""


class VideoRow(VideoFacts, frozen=True, kw_only=True):
    """One usable video: its facts, and who it is."""

    video_id: str
    """Path below the root that was indexed, with forward slashes."""
    path: str
    """Where it lay when it was indexed."""
    content_digest: str
    """``blake3:`` digest of the file's bytes."""
    label: str | None
    """What it shows; None where it was not labelled."""
    num_frames: int
    """Displayed frames that come out."""
    duration_seconds: float
    """From the start of the first frame to the end of the last."""
    stamp: FileStamp
    """The file when it was read."""
    source_digest: str | None = None
    """Content digest of the video that it is a copy of; None for one that is no training copy."""
    split: str | None = None
    """``train``, ``val`` or ``test`` where it was told; trained on, or evaluated, as a whole."""


class CopyFacts(Record, frozen=True):
    """What the videos of a catalog were made from, when they are training copies."""

    catalog_digest: str
    """Of the catalog of their sources."""
    recipe_digest: str
    """Of the recipe that made them."""
    layout: str
    """Its layout, in short."""
    encoder: str
    """What encoded them, in FFmpeg's names."""
    reference_every: int
    """Frames from one reference to the next: clips that begin on a multiple, with a stride of a
    multiple, need none of the frames between. 1: every frame can be a reference."""


class LeftOut(Record, frozen=True):
    """A file that looks like a video and cannot be used."""

    video_id: str
    """Path below the root that was indexed."""
    path: str
    """Where it lay when it was tried."""
    reason: str
    """One short clause."""
    stamp: FileStamp | None
    """The file when it was tried; None when it is to be tried again next time."""


class CatalogHeader(Record, frozen=True):
    """``catalog.json``."""

    header: Header
    digest: str
    """Over content digests, labels, frame counts, and splits where there are any, in row order."""
    roots: list[str]
    """The files and folders that were indexed."""
    num_videos: int
    """Usable videos, one row each."""
    num_frames: int
    """Over all videos."""
    num_left_out: int
    """Files listed in ``left_out.parquet``."""
    num_ignored: int
    """Files in the folders that are no videos by their names."""
    file_digests: dict[str, str] = {}
    """Name of each Parquet file -> digest of its bytes, by which indexing again knows damage."""
    copy: CopyFacts | None = None
    """How the videos were made from others; None for videos as they came."""
