"""What need not be read again: files that the catalog describes already."""

from __future__ import annotations

from pathlib import Path

from filmgate.catalog.catalog import Catalog, open_catalog
from filmgate.catalog.rows import FileStamp, LeftOut, VideoRow
from filmgate.errors import UserError
from filmgate.video import FrameTable


class KnownFiles:
    """Files that were read before."""

    def __init__(self, catalog: Catalog | None = None, *, retry_left_out: bool = False) -> None:
        """Reads paths and stamps, with ``retry_left_out`` not of files that were left out.

        Raises UserError when they are damaged.
        """
        self._catalog = catalog
        self._rows: dict[str, int] = {}
        self._left_out: dict[str, LeftOut] = {}
        self.stamps: dict[str, FileStamp] = {}
        """Path -> what tells that the file is still the one that was read."""
        if catalog is None:
            return
        stamps = catalog.column("stamp").to_pylist()
        for row, path in enumerate(catalog.column("path").to_pylist()):
            self._rows[path], self.stamps[path] = row, FileStamp(**stamps[row])
        for one in [] if retry_left_out else catalog.left_out:
            if one.stamp is not None:
                self._left_out[one.path], self.stamps[one.path] = one, one.stamp

    def row(self, path: Path) -> VideoRow | LeftOut:
        """What was written about a file."""
        assert self._catalog is not None
        left_out = self._left_out.get(str(path))
        return left_out or self._catalog.video(self._rows[str(path)])

    def table(self, path: Path) -> FrameTable:
        """The frame table that was written for a usable file."""
        assert self._catalog is not None
        return self._catalog.frame_table(self._rows[str(path)])


def known_files(folder: Path, *, retry_left_out: bool = False) -> KnownFiles:
    """What the catalog in ``folder`` knows; nothing of one that is missing, old or damaged."""
    try:
        catalog = open_catalog(folder)
        catalog.check()
        return KnownFiles(catalog, retry_left_out=retry_left_out)
    except UserError:
        return KnownFiles()
