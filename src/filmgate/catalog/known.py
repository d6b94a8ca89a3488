"""What need not be read again: files that a catalog, or an index that was cut off, describes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from filmgate.catalog.catalog import open_catalog
from filmgate.catalog.rows import FileStamp, LeftOut, VideoRow
from filmgate.errors import UserError
from filmgate.video import FrameTable


class Described(Protocol):
    """Rows of videos and of files left out, as a catalog has them."""

    @property
    def left_out(self) -> list[LeftOut]:
        """Files that cannot be used."""

    def column(self, name: str) -> pa.ChunkedArray:
        """One column of the videos."""

    def video(self, row: int) -> VideoRow:
        """One video's facts."""

    def frame_table(self, row: int) -> FrameTable:
        """One video's frame table."""


class KnownFiles:
    """Files that were read before; what is added later holds where both describe a file."""

    def __init__(self) -> None:
        self._stamps: dict[str, FileStamp] = {}
        self._rows: dict[str, tuple[Described, int]] = {}
        self._left_out: dict[str, LeftOut] = {}

    def add(self, described: Described) -> None:
        """Read paths and stamps. Raises UserError when they are damaged; then nothing is added."""
        paths = described.column("path").to_pylist()
        stamps = described.column("stamp").to_pylist()
        left_out = {one.path: one for one in described.left_out if one.stamp is not None}
        for row, path in enumerate(paths):
            self._rows[path] = described, row
            self._stamps[path] = FileStamp(**stamps[row])
            self._left_out.pop(path, None)
        for path, one in left_out.items():
            assert one.stamp is not None
            self._left_out[path], self._stamps[path] = one, one.stamp

    def add_all(self, described: Iterable[Described]) -> None:
        """``add`` each, the oldest first."""
        for one in described:
            self.add(one)

    def is_unchanged(self, path: Path, stamp: FileStamp | None) -> bool:
        """Whether the file is the one that was read."""
        return stamp is not None and self._stamps.get(str(path)) == stamp

    def row(self, path: Path) -> VideoRow | LeftOut:
        """What was written about a file."""
        left_out = self._left_out.get(str(path))
        if left_out is not None:
            return left_out
        described, row = self._rows[str(path)]
        return described.video(row)

    def table(self, path: Path) -> FrameTable:
        """The frame table that was written for a usable file."""
        described, row = self._rows[str(path)]
        return described.frame_table(row)


def known_files(folder: Path) -> KnownFiles:
    """What the catalog in ``folder`` knows; nothing of one that is missing, old or damaged."""
    known = KnownFiles()
    try:
        catalog = open_catalog(folder)
        catalog.check()
        known.add(catalog)
    except UserError:
        return KnownFiles()
    return known
