"""Reading a pack: any image by number, or all in order; one open file for each shard.

Reads carry their own position (``pread``), so threads and forked children may share a pack.
"""

from __future__ import annotations

import os
import resource
import threading
import time
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import av
import numpy as np
import psutil
import pyarrow as pa
from numpy.typing import NDArray

from filmgate.catalog.store import rows_from_table
from filmgate.catalog.tiers import Tier
from filmgate.closing import Closing
from filmgate.errors import UnreadableVideo, UserError
from filmgate.pack.annotated import FrameObjects, Objects
from filmgate.pack.arrow_file import map_arrow
from filmgate.pack.image import UnreadableImage, decode_image
from filmgate.pack.places import PackFile, PackPlaces, shard_path
from filmgate.pack.rows import PackedImage, PackHeader
from filmgate.pack.shard import FOLDER, IMAGES_SCHEMA
from filmgate.records import digest_bytes, digest_file, read_record

PACK_FILE = "pack.json"
INDEX_FILE = "images.arrow"
ANNOTATIONS_FILE = "annotations.arrow"
AHEAD_BYTES = 8_000_000
"""How far reading in order asks the kernel to be ahead."""
BLOCK_BYTES = 1_000_000
"""Reading at random asks for whole blocks, each once, while the whole pack fits in memory."""
MAX_OPEN_SHARDS = 256
LOOK_AGAIN_SECONDS = 5.0
"""How often a cold shard is looked for among the hot ones, of a staged pack."""
_HINT = "pack the folder again"


class Pack(Closing):
    """The images of a pack, by their row numbers. Picklable as its path."""

    def __init__(self, path: Path, header: PackHeader) -> None:
        self.path = path
        self.header = header
        self._places = PackPlaces(path)
        self._files: dict[str, _ShardFile] = {}
        self._opening = threading.Lock()
        self._max_open = max_open_shards()

    def __reduce__(self) -> tuple[object, tuple[Path]]:
        return open_pack, (self.path,)

    def __len__(self) -> int:
        return self.header.num_images

    @property
    def classes(self) -> list[str]:
        """Name of each class of the annotations; empty where there are none."""
        return self.header.annotations.classes if self.header.annotations else []

    def row(self, number: int) -> PackedImage:
        """Everything about one image. Raises IndexError outside 0..N-1."""
        self._check(number)
        return rows_from_table(self._table.slice(number, 1), PackedImage)[0]

    def first_of_video(self, video: int) -> int:
        """The image that is frame 0 of a row of the catalog in the same folder.

        Raises IndexError for a row that is not there.
        """
        if not 0 <= video < self.header.num_videos:
            raise IndexError(f"video {video} of {self.header.num_videos}")
        return int(self._first_images[video])

    @property
    def index_files(self) -> list[PackFile]:
        """The index, and the annotations where there are any."""
        facts = self.header.annotations
        digests = {INDEX_FILE: self.header.index_digest}
        digests |= {ANNOTATIONS_FILE: facts.file_digest} if facts else {}
        return [PackFile(name=name, digest=one, size_bytes=None) for name, one in digests.items()]

    def index_path(self, file: PackFile) -> Path:
        """Where one of them lies."""
        return self._places.index_path(file)

    def shard_file(self, name: str) -> PackFile:
        """A shard, by its name in the header."""
        return PackFile(
            name=shard_path(name),
            digest=self.header.shard_digests.get(name),
            size_bytes=self.header.shards[name],
        )

    @property
    def base(self) -> str:
        """Folder or URL below which shards lie that are not hot."""
        return self._places.base

    def shards_of(self, video: int) -> list[str]:
        """The shards that hold the images of a row of the catalog, in their order."""
        first = self.first_of_video(video)
        is_last = video + 1 == self.header.num_videos
        end = len(self) if is_last else self.first_of_video(video + 1)
        names, places = self._shard_names
        return [names[place] for place in dict.fromkeys(places[first:end].tolist())]

    def tier_of(self, video: int) -> Tier | None:
        """Hot where all shards of a row are, cold otherwise; None of a pack that is not staged."""
        if not self._places.is_staged:
            return None
        files = map(self.shard_file, self.shards_of(video))
        return "hot" if all(self._places.is_hot(file) for file in files) else "cold"

    def column(self, name: str) -> pa.ChunkedArray:
        """One column of the index."""
        return self._table.column(name)

    def read(self, number: int) -> bytes:
        """The encoded bytes of one image, as the file had them.

        Raises IndexError outside 0..N-1, UnreadableVideo when the shard is gone or cut off.
        """
        self._check(number)
        shard, offset, size = self._place(number)
        file = self._file(shard)
        if self._fits_in_memory:
            file.ask_for_block(offset, size)
        return self._read(file, number, offset, size)

    def read_checked(self, number: int) -> bytes:
        """``read``, held against the digest. Raises UnreadableVideo when the bytes have changed."""
        content = self.read(number)
        if digest_bytes(content) != self._digests[number].as_py():
            raise self._unreadable(number, "its bytes in the shard have changed")
        return content

    def decode(self, number: int) -> av.VideoFrame:
        """The stored picture of one image, the same as decoding the loose file.

        Raises what ``read_checked`` raises, and UnreadableVideo when it does not decode.
        """
        content = self.read_checked(number)
        try:
            return decode_image(content, self._codecs[number].as_py())
        except UnreadableImage as error:
            raise self._unreadable(number, str(error)) from None

    def objects(self, number: int) -> FrameObjects:
        """What is drawn on one image, in pixels of its upright picture; nothing where none is."""
        self._check(number)
        return self._objects.of(number)

    def in_order(self, first: int = 0, last: int | None = None) -> Iterator[tuple[int, bytes]]:
        """(number, encoded bytes) from ``first`` up to, without, ``last``, read ahead."""
        end = len(self) if last is None else min(last, len(self))
        asked: dict[str, int] = {}
        for number in range(first, end):
            shard, offset, size = self._place(number)
            file = self._file(shard)
            if offset + size > asked.get(shard, -1):
                asked[shard] = offset + AHEAD_BYTES
                file.ask_for(offset, AHEAD_BYTES)
            yield number, self._read(file, number, offset, size)

    def check(self) -> None:
        """Read everything once. Raises UserError for a file that is missing or has changed."""
        for file in self.index_files:
            path = self._places.index_path(file)
            if digest_file(path) != file.digest:
                raise UserError(f"{path} has changed", hint=_HINT)
        for number in range(len(self)):
            self.read_checked(number)

    def close(self) -> None:
        """Close the shards; reading opens them again."""
        with self._opening:
            self._files = {}

    @cached_property
    def _table(self) -> pa.Table:
        path = self._places.index_path(self.index_files[0])
        return map_arrow(path, IMAGES_SCHEMA, self.header.digest)

    @cached_property
    def _offsets(self) -> NDArray[np.int64]:
        offsets: NDArray[np.int64] = self.column("offset").to_numpy()
        return offsets

    @cached_property
    def _sizes(self) -> NDArray[np.int64]:
        sizes: NDArray[np.int64] = self.column("size_bytes").to_numpy()
        return sizes

    @cached_property
    def _first_images(self) -> NDArray[np.int64]:
        ids = self.column("video_id").combine_chunks()
        if self.header.kind == "images":
            return np.arange(len(self))
        numbers = ids.dictionary_encode().indices.to_numpy()
        changes = numbers[1:] != numbers[:-1]
        return np.flatnonzero(np.concatenate([[True], changes]))

    @cached_property
    def _shards(self) -> pa.ChunkedArray:
        return self.column("shard")

    @cached_property
    def _shard_names(self) -> tuple[list[str], NDArray[np.int64]]:
        """Names, and for each image the place of its own among them."""
        encoded = self._shards.combine_chunks().dictionary_encode()
        return encoded.dictionary.to_pylist(), encoded.indices.to_numpy()

    @cached_property
    def _digests(self) -> pa.ChunkedArray:
        return self.column("content_digest")

    @cached_property
    def _codecs(self) -> pa.ChunkedArray:
        return self.column("codec")

    @cached_property
    def _objects(self) -> Objects:
        has_any = self.header.annotations is not None
        path = self._places.index_path(self.index_files[1]) if has_any else None
        return Objects(path, self.header.digest)

    @cached_property
    def _fits_in_memory(self) -> bool:
        available_bytes: int = psutil.virtual_memory().available
        return sum(self.header.shards.values()) < available_bytes // 2

    def _place(self, number: int) -> tuple[str, int, int]:
        """Shard, offset and length of an image."""
        shard = self._shards[number].as_py()
        return shard, int(self._offsets[number]), int(self._sizes[number])

    def _file(self, name: str) -> _ShardFile:
        """An open shard; a cold one is looked for among the hot ones now and then."""
        file = self._files.get(name)
        if file is None or (file.tier == "cold" and time.monotonic() > file.look_again):
            return self._open(name)
        return file

    def _open(self, name: str) -> _ShardFile:
        path = self.path / FOLDER / name
        with self._opening:
            open_file = self._files.get(name)
            if open_file is not None and not self._is_hot_now(open_file, name):
                return open_file
            try:
                file = _ShardFile(*self._places.open_shard(self.shard_file(name)))
            except OSError as error:
                reason = f"the shard cannot be opened: {error.strerror}"
                raise UnreadableVideo(error.filename or path, reason, hint=_HINT) from None
            if os.fstat(file.descriptor).st_size != self.header.shards[name]:
                raise UnreadableVideo(path, "the shard has another length", hint=_HINT)
            self._files.pop(name, None)
            while len(self._files) >= self._max_open:
                del self._files[next(iter(self._files))]
            self._files[name] = file
            return file

    def _is_hot_now(self, file: _ShardFile, name: str) -> bool:
        """Whether a shard that was opened cold has been staged since."""
        file.look_again = time.monotonic() + LOOK_AGAIN_SECONDS
        return file.tier == "cold" and self._places.is_hot(self.shard_file(name))

    def _read(self, file: _ShardFile, number: int, offset: int, size: int) -> bytes:
        try:
            content = os.pread(file.descriptor, size, offset)
        except OSError as error:
            raise self._unreadable(number, f"reading failed: {error.strerror}") from None
        if len(content) != size:
            raise self._unreadable(number, "the shard is cut off")
        return content

    def _unreadable(self, number: int, reason: str) -> UnreadableVideo:
        image_id = self.column("image_id")[number].as_py()
        where = self.path / FOLDER / self._place(number)[0]
        return UnreadableVideo(where, f"{image_id}: {reason}", hint=_HINT)

    def _check(self, number: int) -> None:
        if not 0 <= number < len(self):
            raise IndexError(f"image {number} of {len(self)}")


class _ShardFile:
    """An open shard, closed when nobody reads from it any more; which blocks were asked for."""

    def __init__(self, descriptor: int, tier: Tier | None) -> None:
        self.descriptor = descriptor
        self.tier = tier
        self.look_again = time.monotonic() + LOOK_AGAIN_SECONDS
        self._blocks: set[int] = set()

    def __del__(self) -> None:
        os.close(self.descriptor)

    def ask_for_block(self, offset: int, size: int) -> None:
        """Ask for the blocks of a read that were not asked for yet."""
        for block in range(offset // BLOCK_BYTES, (offset + size - 1) // BLOCK_BYTES + 1):
            if block not in self._blocks:
                self._blocks.add(block)
                self.ask_for(block * BLOCK_BYTES, BLOCK_BYTES)

    def ask_for(self, offset: int, size: int) -> None:
        """Have the kernel read a part of the file while we go on."""
        os.posix_fadvise(self.descriptor, offset, size, os.POSIX_FADV_WILLNEED)


def max_open_shards() -> int:
    """A quarter of what the limit on open files allows, at most MAX_OPEN_SHARDS."""
    soft_limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft_limit == resource.RLIM_INFINITY:
        return MAX_OPEN_SHARDS
    return max(1, min(MAX_OPEN_SHARDS, soft_limit // 4))


def open_pack(path: Path | str) -> Pack:
    """The pack in a folder. Raises UserError when there is none."""
    path = Path(path)
    if not (path / PACK_FILE).exists():
        raise UserError(f"{path} is no pack", hint="`filmgate pack FOLDER --out DIR` writes one")
    return Pack(path, read_record(path / PACK_FILE, PackHeader))
