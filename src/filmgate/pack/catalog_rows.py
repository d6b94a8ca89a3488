"""The catalog of a pack: each image, or each folder of frames, as a video."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from filmgate.catalog import LeftOut, VideoRow
from filmgate.catalog.rows import PACK_CONTAINER, FileStamp
from filmgate.catalog.store import rows_from_table
from filmgate.catalog.write import write_catalog
from filmgate.pack.rows import PackedImage
from filmgate.records import digest_bytes
from filmgate.video import EntryPoints, FrameTable

_AT_ONCE = 4096


def video_of_image(image: PackedImage, root: Path, fps: Fraction) -> tuple[VideoRow, FrameTable]:
    """What the catalog has of an image by itself, without asking the catalog.

    A row of Parquet among a million costs the unpacking of hundreds.
    """
    run = _run([image])
    return _row(run, root, fps), _table(run, fps)


@dataclass(frozen=True, kw_only=True)
class _Run:
    """The images of one video, in order."""

    first: PackedImage
    num_images: int
    frame_numbers: list[int]
    digest: str
    num_bytes: int
    has_mixed_sizes: bool


def write_pack_catalog(
    out: Path, table: pa.Table, left_out: list[LeftOut], root: Path, fps: Fraction
) -> None:
    """Write the catalog of the images of a table, in its order."""
    runs = list(_runs(table))
    rows = [_row(run, root, fps) for run in runs]
    tables = ((run.first.video_id, _table(run, fps)) for run in runs)
    write_catalog(out, rows, left_out, tables, roots=[str(root)])


def _runs(table: pa.Table) -> Iterator[_Run]:
    images: list[PackedImage] = []
    for image in _images(table):
        if images and images[-1].video_id != image.video_id:
            yield _run(images)
            images = []
        images.append(image)
    if images:
        yield _run(images)


def _images(table: pa.Table) -> Iterator[PackedImage]:
    for start in range(0, table.num_rows, _AT_ONCE):
        yield from rows_from_table(table.slice(start, _AT_ONCE), PackedImage)


def _run(images: list[PackedImage]) -> _Run:
    first = images[0]
    digests = [image.content_digest for image in images]
    return _Run(
        first=first,
        num_images=len(images),
        frame_numbers=[image.frame_number or 0 for image in images],
        # An image by itself is known by its own bytes, in a pack or not.
        digest=digests[0]
        if first.frame_number is None
        else digest_bytes("".join(digests).encode()),
        num_bytes=sum(image.size_bytes for image in images),
        has_mixed_sizes=len({(i.width, i.height, i.pixel_format) for i in images}) > 1,
    )


def _table(run: _Run, fps: Fraction) -> FrameTable:
    return table_of(np.array(run.frame_numbers, np.int64), fps, run.num_bytes)


def _row(run: _Run, root: Path, fps: Fraction) -> VideoRow:
    first, table = run.first, _table(run, fps)
    average = run.num_images / Fraction(table.end_ticks) * fps
    return VideoRow(
        video_id=first.video_id,
        path=str(root / first.video_id if first.frame_number is None else root / first.image_id),
        content_digest=run.digest,
        label=first.label,
        num_frames=run.num_images,
        duration_seconds=table.duration_seconds,
        # Nothing is asked of the loose files any more; the shards have digests of their own.
        stamp=FileStamp(size_bytes=run.num_bytes, mtime_ns=0, inode=0),
        container=PACK_CONTAINER,
        codec=first.codec,
        pixel_format=first.pixel_format,
        width=first.width,
        height=first.height,
        rotation_degrees=first.rotation_degrees,
        mirrored=first.mirrored,
        sample_aspect=None,
        interlacing="progressive",
        color_range="full" if first.pixel_format.startswith("yuvj") else None,
        color_matrix=None,
        color_primaries=None,
        color_transfer=None,
        bits_per_sample=first.bits_per_sample,
        has_audio=False,
        frames_from_header=None,
        average_fps=(average.numerator, average.denominator),
        is_variable_rate=table.is_variable_rate,
        max_frames_between_entry_points=1,
        access="seek",
        access_reason=None,
        index_from="decode",
        index_reason=None,
        times_from="frame-rate",
        mixed_sizes=run.has_mixed_sizes,
        split=first.split,
    )


def table_of(ticks_N: NDArray[np.int64], fps: Fraction, num_bytes: int) -> FrameTable:
    """The frame table of images that are shown at some ticks of 1 / fps; each is an entry point."""
    num_frames = len(ticks_N)
    frames = np.arange(num_frames, dtype=np.int32)
    nothing = np.zeros(num_frames, np.int64)
    return FrameTable(
        time_base=1 / fps,
        pts=ticks_N - ticks_N[0],
        end_ticks=int(ticks_N[-1] - ticks_N[0]) + 1,
        is_key=np.ones(num_frames, np.bool_),
        packet=frames,
        entries=EntryPoints(
            packet=frames,
            first_frame=frames,
            seek_target=nothing,
            position=nothing,
            size=nothing.astype(np.int32),
            crc32=nothing.astype(np.uint32),
        ),
        access="seek",
        access_reason=None,
        seek_by="byte",
        times_from_packets=False,
        stream_index=0,
        file_bytes=num_bytes,
    )
