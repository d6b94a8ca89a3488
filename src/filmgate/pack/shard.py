"""Writing one shard: a tar file of images as they came, and the rows that tell where they lie."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from blake3 import blake3

from filmgate.catalog import LeftOut
from filmgate.catalog.read_file import stamp_of
from filmgate.pack.find import FoundImage
from filmgate.pack.image import UnreadableImage, read_facts
from filmgate.pack.rows import PackedImage
from filmgate.records import Record, digest_bytes, digest_file, write_file
from filmgate.work import Place, Task
from filmgate.work.faults import kind_of

FOLDER = "shards"
RECIPE = "filmgate.pack.shard-1"
"""Raised when the same images would give another shard."""
BLOCK_BYTES = 512
"""Of a tar file."""
_TEXT, _INT = pa.string(), pa.int64()
IMAGES_SCHEMA = pa.schema(
    [
        ("image_id", _TEXT), ("shard", _TEXT), ("offset", _INT), ("size_bytes", _INT),
        ("content_digest", _TEXT), ("codec", _TEXT), ("pixel_format", _TEXT),
        ("bits_per_sample", pa.int16()), ("width", pa.int32()), ("height", pa.int32()),
        ("rotation_degrees", pa.int16()), ("mirrored", pa.bool_()), ("label", _TEXT),
        ("split", _TEXT), ("video_id", _TEXT), ("frame_number", _INT),
    ]
)  # fmt: skip


class ShardMade(Record, frozen=True):
    """One shard, as the list of work remembers it."""

    num_images: int
    """Images in it."""
    size_bytes: int
    """Size of the shard."""
    left_out: list[LeftOut]
    """Images that it would have held."""
    digest: str | None = None
    """Of the shard; None of one that was written before there were digests."""


@dataclass(frozen=True, kw_only=True)
class ShardJob:
    """What a worker needs for one shard."""

    name: str
    images: tuple[FoundImage, ...]


def shard_tasks(images: Sequence[FoundImage], shard_bytes: int) -> list[Task[ShardJob]]:
    """The shards of the images, each known by the names and stamps of its files."""
    return [_task(group) for group in _groups(images, shard_bytes)]


def table_name(shard: str) -> str:
    """Of the rows beside a shard."""
    return f"{FOLDER}/{Path(shard).stem}.parquet"


def write_shard(job: ShardJob, place: Place) -> ShardMade:
    """The task: read each file once, check that it decodes, and append it to the shard."""
    rows: list[PackedImage] = []
    left_out: list[LeftOut] = []
    shard = place.path(f"{FOLDER}/{job.name}")
    with shard.open("wb") as file:
        for image in job.images:
            row = _append(file, image, job.name)
            (left_out if isinstance(row, LeftOut) else rows).append(row)  # type: ignore[arg-type]
        file.write(bytes(2 * BLOCK_BYTES))
    write_images(place.path(table_name(job.name)), rows_table(rows))
    return ShardMade(
        num_images=len(rows),
        size_bytes=shard.stat().st_size,
        left_out=left_out,
        digest=digest_file(shard),
    )


def rows_table(rows: Sequence[PackedImage]) -> pa.Table:
    """Rows as columns."""
    return pa.Table.from_pylist([msgspec.to_builtins(row) for row in rows], schema=IMAGES_SCHEMA)


def write_images(path: Path, table: pa.Table) -> None:
    """Write rows of images as Parquet, in one step."""
    write_file(
        path, lambda file: pq.write_table(table, file, compression="zstd", write_page_checksum=True)
    )


def _groups(images: Sequence[FoundImage], shard_bytes: int) -> Iterator[list[FoundImage]]:
    """Runs of about ``shard_bytes``.

    Where one ends is decided by names and sizes nearby, so that an image more or less changes one
    shard and not all that follow: as content-defined chunking does (Muthitacharoen et al., "A
    Low-bandwidth Network File System", 2001), with files for bytes.
    """
    group: list[FoundImage] = []
    num_bytes = 0
    for image in images:
        group.append(image)
        num_bytes += image.stamp.size_bytes
        if num_bytes >= shard_bytes // 4 and (
            num_bytes >= shard_bytes or _ends(image, shard_bytes)
        ):
            yield group
            group, num_bytes = [], 0
    if group:
        yield group


def _ends(image: FoundImage, shard_bytes: int) -> bool:
    """By chance in proportion to its size, so that it happens once in half a shard."""
    chance = int.from_bytes(blake3(image.image_id.encode()).digest(8), "little")
    return chance < 2**64 * 2 * image.stamp.size_bytes // shard_bytes


def _task(images: list[FoundImage]) -> Task[ShardJob]:
    lines = [
        f"{one.image_id}\0{one.video_id}\0{one.frame_number}\0{one.stamp.size_bytes}\0"
        f"{one.stamp.mtime_ns}\0{one.stamp.inode}\n"
        for one in images
    ]
    key = digest_bytes(RECIPE.encode(), *(line.encode() for line in lines))
    name = f"{key.removeprefix('blake3:')[:24]}.tar"
    return Task(
        key=key,
        name=f"{images[0].image_id} to {images[-1].image_id}",
        payload=ShardJob(name=name, images=tuple(images)),
        outputs=(f"{FOLDER}/{name}", table_name(name)),
        size_bytes=sum(one.stamp.size_bytes for one in images),
    )


def _append(file: BinaryIO, image: FoundImage, shard: str) -> PackedImage | LeftOut:
    """Write one member, or say why not; then nothing was written."""
    try:
        content = image.path.read_bytes()
        if stamp_of(image.path) != image.stamp:
            return _left_out(image, "it changed while it was packed")
        facts = read_facts(content)
    except UnreadableImage as error:
        return _left_out(image, str(error))
    except OSError as error:
        if kind_of(error) != "lasting":
            raise  # a disk or share that may come back is no fault of the image
        return _left_out(image, f"it cannot be read: {error.strerror}")
    member = tarfile.TarInfo(image.image_id)
    member.size = len(content)
    file.write(member.tobuf(tarfile.PAX_FORMAT, "utf-8"))
    offset = file.tell()
    file.write(content)
    file.write(bytes(-len(content) % BLOCK_BYTES))
    return PackedImage(
        image_id=image.image_id,
        shard=shard,
        offset=offset,
        size_bytes=len(content),
        content_digest=digest_bytes(content),
        codec=facts.codec,
        pixel_format=facts.pixel_format,
        bits_per_sample=facts.bits_per_sample,
        width=facts.width,
        height=facts.height,
        rotation_degrees=facts.rotation_degrees,
        mirrored=facts.mirrored,
        video_id=image.video_id,
        frame_number=image.frame_number,
    )


def _left_out(image: FoundImage, reason: str) -> LeftOut:
    return LeftOut(video_id=image.image_id, path=str(image.path), reason=reason, stamp=image.stamp)
