"""The files that storage is measured with: laid out for it, or the user's own, only read."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from filmgate.bench.ask import Tell
from filmgate.bench.page_cache import forget
from filmgate.errors import UserError
from filmgate.units import format_bytes

CLIP_BYTES = 4 << 20
"""Size of a file that stands for a clip; training sets hold 1 to 20 MB."""
BLOCK_BYTES = 1 << 20
MOST_SHARDS = 8
LEAST_FREE = 1.1
"""Times the size of the files that has to be free."""
MOST_FILES = 4096
"""Of the user's own files, so many are read at most."""


@dataclass(frozen=True, kw_only=True)
class FileSet:
    """What is read. The same files may stand in both lists."""

    shards: tuple[Path, ...]
    """Large ones, for sequential reads, one reader each."""
    clips: tuple[Path, ...]
    """Those of the size of a clip, in random order."""
    says: str
    """What they are."""

    @property
    def files(self) -> tuple[Path, ...]:
        """Every one once."""
        return tuple(dict.fromkeys([*self.shards, *self.clips]))

    @property
    def total_bytes(self) -> int:
        """Of every file once."""
        return sum(path.stat().st_size for path in self.files)


@contextmanager
def laid_out(folder: Path, total_bytes: int, num_shards: int, tell: Tell) -> Iterator[FileSet]:
    """Files of random bytes below ``folder``, half of them shards, half clips; gone at the end.

    Raises UserError where there is no room, OSError where the folder cannot be written.
    """
    free = shutil.disk_usage(folder).free
    if free < total_bytes * LEAST_FREE:
        raise UserError(
            f"{folder} has {format_bytes(free)} free, and {format_bytes(total_bytes)} are laid out",
            hint="give less with --size, or name another folder",
        )
    own = Path(tempfile.mkdtemp(prefix=".filmgate-bench-", dir=folder))
    try:
        num_shards = max(1, min(num_shards, MOST_SHARDS))
        shard_bytes = max(total_bytes // 2 // num_shards // BLOCK_BYTES, 1) * BLOCK_BYTES
        num_clips = max(total_bytes // 2 // CLIP_BYTES, 2)
        plan = [(own / f"shard.{number}", shard_bytes) for number in range(num_shards)]
        plan += [(own / f"clip.{number}", CLIP_BYTES) for number in range(num_clips)]
        for number, (path, size) in enumerate(plan):
            _write_random(path, size, number)
            tell(number + 1, len(plan), "laying out files")
        forget(path for path, _ in plan)
        yield FileSet(
            shards=tuple(path for path, _ in plan[:num_shards]),
            clips=tuple(path for path, _ in plan[num_shards:]),
            says=f"{num_shards} shards of {format_bytes(shard_bytes)} and {num_clips} files of "
            f"{format_bytes(CLIP_BYTES)}, random bytes laid out for this",
        )
    finally:
        shutil.rmtree(own)


def _write_random(path: Path, size: int, seed: int) -> None:
    """Bytes that neither compress nor repeat, so that no layer below can make them fewer."""
    chance = np.random.default_rng([seed, os.getpid()])
    with path.open("wb") as file:
        for _ in range(size // BLOCK_BYTES):
            file.write(chance.bytes(BLOCK_BYTES))
        file.flush()
        os.fsync(file.fileno())


def existing(paths: Sequence[Path], most_bytes: int) -> FileSet:
    """The user's own files, about ``most_bytes`` of them, in the order of their names.

    Files below a block are left out. Raises UserError where none is left.
    """
    large = sorted(path for path in paths if path.stat().st_size >= BLOCK_BYTES)
    if not large:
        raise UserError(
            f"none of {len(paths)} files has {format_bytes(BLOCK_BYTES)} or more",
            hint="name larger files, or a folder with --dir where files may be laid out",
        )
    every = -(-len(large) // MOST_FILES)
    taken, total = [], 0
    for path in large[::every]:
        taken.append(path)
        total += path.stat().st_size
        if total >= most_bytes:
            break
    return FileSet(
        shards=tuple(taken),
        clips=tuple(taken),
        says=f"{len(taken)} of {len(paths)} files that were there, {format_bytes(total)}, read "
        "and never written",
    )


@contextmanager
def farm(paths: Sequence[Path]) -> Iterator[Path]:
    """A folder of links ``file.0``, ``file.1`` ... to the files in their order, for fio."""
    with tempfile.TemporaryDirectory(prefix="filmgate-bench-") as folder:
        for number, path in enumerate(paths):
            (Path(folder) / f"file.{number}").symlink_to(path.resolve())
        yield Path(folder)
