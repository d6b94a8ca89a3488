"""Where the files of a pack lie: in its folder, or, of a staged pack, hot where they are there.

A staged pack is a staged catalog with ``pack.json``: shards and index lie among the hot files, by
content, or else where ``stage.json`` says.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from filmgate.catalog.tiers import (
    STAGE_FILE,
    StageFacts,
    Tier,
    hot_name,
    is_staged,
    is_staging,
    is_url,
    open_hot,
)
from filmgate.errors import UnreadableVideo
from filmgate.pack.shard import FOLDER
from filmgate.records import read_record

STAGED_MTIME_NS = 0
"""Time of change of hot files of a pack; one that has another was written to."""
WAIT_SECONDS = 20.0
"""How long a shard that lies in an object store is waited for, while others are staged."""
LOOK_SECONDS = 0.2


@dataclass(frozen=True, kw_only=True)
class PackFile:
    """A file of a pack, known by its content."""

    name: str
    """Below the pack's folder."""
    digest: str | None
    """Of its bytes; None in packs from before shards had one, which cannot be staged."""
    size_bytes: int | None
    """Its size; None of an index."""


class PackPlaces:
    """The places of one pack."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.is_staged = is_staged(folder)
        self._stage = read_record(folder / STAGE_FILE, StageFacts) if self.is_staged else None

    @property
    def base(self) -> str:
        """Folder or URL below which shards lie that are not hot."""
        if self._stage is None:
            return str(self.folder.absolute())
        return self._stage.source or PackPlaces(Path(self._stage.catalog)).base

    def index_path(self, file: PackFile) -> Path:
        """An index or annotations."""
        if self._stage is None:
            return self.folder / file.name
        hot = self._hot(file)
        if hot is not None and hot.is_file():
            return hot
        return PackPlaces(Path(self._stage.catalog)).index_path(file)

    def is_hot(self, file: PackFile) -> bool:
        """Whether it lies among the hot files."""
        hot = self._hot(file)
        return hot is not None and hot.is_file()

    def open_shard(self, file: PackFile) -> tuple[int, Tier | None]:
        """A descriptor, and where it lies; a hot one is not evicted while it is open.

        Raises OSError, and UnreadableVideo for a shard that only an object store has.
        """
        if self._stage is None:
            return _open(f"{self.folder}/{file.name}"), None
        hot = self.open_hot(file)
        cold = f"{self.base.rstrip('/')}/{file.name}"
        deadline = time.monotonic() + WAIT_SECONDS
        while hot is None and is_url(cold) and time.monotonic() < deadline:
            is_going_on = is_staging(self.folder)
            hot = self.open_hot(file)
            if not is_going_on:
                break
            time.sleep(LOOK_SECONDS)
        if hot is not None:
            return hot, "hot"
        if is_url(cold):
            raise UnreadableVideo(
                cold,
                "the shard lies in an object store and is not staged",
                hint="stage the pack again, with room for all of it",
            )
        return _open(cold), "cold"

    def open_hot(self, file: PackFile) -> int | None:
        """A descriptor of the hot one; None when it is not there, or not as it was staged."""
        path = self._hot(file)
        if path is None or file.digest is None or file.size_bytes is None:
            return None
        return open_hot(path, file.digest, file.size_bytes, STAGED_MTIME_NS)

    def _hot(self, file: PackFile) -> Path | None:
        if not self.is_staged or file.digest is None:
            return None
        return self.folder / hot_name(file.digest, file.name)


def shard_path(name: str) -> str:
    """Of a shard, below the pack's folder."""
    return f"{FOLDER}/{name}"


def _open(path: str) -> int:
    return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
