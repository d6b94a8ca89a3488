"""The state of a catalog before it is written anew: what need not be read again."""

from __future__ import annotations

from pathlib import Path

from filmgate.catalog.catalog import Catalog, open_catalog
from filmgate.catalog.rows import FileStamp, LeftOut, VideoRow
from filmgate.errors import UserError
from filmgate.video import FrameTable


class KnownFiles:
    """Files that the catalog in a folder already describes; none without a usable catalog."""

    def __init__(self, catalog: Catalog | None) -> None:
        self._catalog = catalog
        self._stamps: dict[str, FileStamp] = {}
        self._rows: dict[str, int] = {}
        self._left_out: dict[str, LeftOut] = {}

    def load(self, catalog: Catalog) -> None:
        """Read paths and stamps. Raises UserError when anything of the catalog is damaged."""
        catalog.check()
        paths = catalog.column("path").to_pylist()
        for row, stamp in enumerate(catalog.column("stamp").to_pylist()):
            self._rows[paths[row]] = row
            self._stamps[paths[row]] = FileStamp(**stamp)
        for left_out in catalog.left_out:
            if left_out.stamp is not None:
                self._left_out[left_out.path] = left_out
                self._stamps[left_out.path] = left_out.stamp

    def is_unchanged(self, path: Path, stamp: FileStamp | None) -> bool:
        """Whether the file is the one that was read."""
        return stamp is not None and self._stamps.get(str(path)) == stamp

    def row(self, path: Path) -> VideoRow | LeftOut:
        """What was written about a file."""
        left_out = self._left_out.get(str(path))
        if left_out is not None:
            return left_out
        assert self._catalog is not None
        return self._catalog.video(self._rows[str(path)])

    def table(self, path: Path) -> FrameTable:
        """The frame table that was written for a usable file."""
        assert self._catalog is not None
        return self._catalog.frame_table(self._rows[str(path)])


def known_files(folder: Path) -> KnownFiles:
    """What the catalog in ``folder`` knows; nothing of one that is missing, old or damaged."""
    try:
        catalog = open_catalog(folder)
        known = KnownFiles(catalog)
        known.load(catalog)
    except UserError:
        return KnownFiles(None)
    return known
