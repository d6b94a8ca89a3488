"""The records of a pack."""

from __future__ import annotations

from typing import Literal

from filmgate.catalog import LeftOut
from filmgate.records import Header, Record

SCHEMA = "filmgate.pack"
SCHEMA_VERSION = 1
"""Raised when a reader of the old layout would misread the new one."""


class PackedImage(Record, frozen=True, kw_only=True):
    """One image, a row of ``images.arrow``. Row numbers count from 0 in the order of reading."""

    image_id: str
    """Path below the folder that was packed, with forward slashes; also its name in the shard."""
    shard: str
    """File below ``shards/`` that holds it."""
    offset: int
    """First byte of the image in the shard."""
    size_bytes: int
    """Length of the image as it is encoded."""
    content_digest: str
    """``blake3:`` digest of these bytes."""
    codec: str
    """FFmpeg's name of the decoder."""
    pixel_format: str
    """Of the decoded picture."""
    bits_per_sample: int
    """8, 16, ..."""
    width: int
    """Pixels as stored, before the turn."""
    height: int
    """Pixels as stored, before the turn."""
    rotation_degrees: Literal[0, 90, 180, 270]
    """Clockwise turn that makes it upright, by its EXIF orientation."""
    mirrored: bool
    """Whether it is to be flipped left to right before it is turned."""
    label: str | None = None
    """What it shows; None where it was not labelled."""
    split: str | None = None
    """``train``, ``val`` or ``test``, where a folder on its path or an annotation file says so."""
    video_id: str
    """Whom it belongs to in the catalog: its own id, or that of its folder of frames."""
    frame_number: int | None = None
    """The number in its name, of a frame; None for an image by itself."""


class FrameGap(Record, frozen=True):
    """Numbers that are missing between two frames of a folder."""

    video_id: str
    """The folder."""
    first_missing: int
    """Frame number."""
    num_missing: int
    """Frames that are not there."""


class AnnotationFault(Record, frozen=True):
    """One kind of fault in annotations, with what was done."""

    kind: str
    """Short name, for example ``outside-picture``."""
    done: Literal["dropped", "clipped", "kept"]
    """What became of the objects."""
    count: int
    """Objects, images or files."""
    examples: list[str]
    """Up to ten, one line each."""


class AnnotationFacts(Record, frozen=True):
    """What is drawn on the images of a pack."""

    classes: list[str]
    """Name of each class; the number of a class is its place."""
    sources: dict[str, str]
    """Each annotation file or folder as it was named -> digest of its content."""
    num_objects: int
    """Objects that are kept, over all images."""
    num_images: int
    """Images with at least one object."""
    num_tracks: int
    """Different tracks, over all videos."""
    faults: list[AnnotationFault]
    """What did not fit."""
    file_digest: str
    """Of ``annotations.arrow``."""


class PackHeader(Record, frozen=True):
    """``pack.json``, written last: a folder without it is no pack."""

    header: Header
    """Its inputs are the annotation files."""
    digest: str
    """Over ids, content digests, labels, frame numbers, splits where there are any, and
    annotations, in row order."""
    kind: Literal["images", "frames"]
    """Whether each image stands by itself or each folder of them is a video."""
    root: str
    """The folder that was packed."""
    fps: tuple[int, int]
    """Frames a second of folders of frames, as a fraction."""
    num_images: int
    """Images in the shards."""
    num_videos: int
    """Rows of the catalog."""
    bytes: int
    """Of the images as they are encoded."""
    shards: dict[str, int]
    """File below ``shards/`` -> its size in bytes."""
    num_made: int
    """Shards that this start wrote; the others were there."""
    index_digest: str
    """Of ``images.arrow``."""
    catalog_digest: str
    """Of the catalog in the same folder."""
    gaps: list[FrameGap]
    """Numbers missing between frames."""
    left_out: list[LeftOut]
    """Images that are not in the shards, each with the reason."""
    num_ignored: int
    """Files that are no images by their names."""
    annotations: AnnotationFacts | None
    """None where none were given."""
    shard_digests: dict[str, str] = {}
    """File below ``shards/`` -> digest of its bytes, by which it is staged; empty in packs from
    before there were any."""
