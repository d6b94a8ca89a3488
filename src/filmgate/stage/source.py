"""Where the bytes of a video come from: a file, local or on mounted storage, or an object.

A source is read in ranges, each pinned to one identity, so that bytes of two states never mix.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from filmgate.errors import UserError
from filmgate.records import Record

PIECE_BYTES = 1 << 20
"""Most bytes that are asked of a file at once."""


class Identity(Record, frozen=True):
    """What tells one state of a source from another, without reading it."""

    size_bytes: int
    """Its size."""
    version: str
    """Of a file, time of change and inode; of an object, its version and ETag, or else its time."""


class SourceChanged(Exception):
    """The source is not the one that reading began with."""


class Source(Protocol):
    """One video at its source."""

    def identity(self) -> Identity:
        """What it is now. Raises FileNotFoundError, or an error that may pass."""

    def read(self, identity: Identity, start: int, stop: int) -> Iterator[bytes]:
        """Bytes ``start`` to ``stop`` of that state, in pieces.

        Raises SourceChanged when it is in another state by now, else as ``identity``.
        """


class FileSource:
    """A file, opened anew for each range, so that a remounted share goes on."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def identity(self) -> Identity:
        """From its status."""
        return _identity_of(self._path.stat())

    def read(self, identity: Identity, start: int, stop: int) -> Iterator[bytes]:
        """The range; the identity is looked at before and after."""
        with self._path.open("rb", buffering=0) as file:
            self._check(file.fileno(), identity)
            while start < stop:
                piece = os.pread(file.fileno(), min(PIECE_BYTES, stop - start), start)
                if not piece:
                    raise SourceChanged
                yield piece
                start += len(piece)
            self._check(file.fileno(), identity)
        if self.identity() != identity:
            raise SourceChanged

    def _check(self, descriptor: int, identity: Identity) -> None:
        if _identity_of(os.fstat(descriptor)) != identity:
            raise SourceChanged


def _identity_of(status: os.stat_result) -> Identity:
    return Identity(size_bytes=status.st_size, version=f"{status.st_mtime_ns} {status.st_ino}")


def open_source(where: str, stall_seconds: float) -> Source:
    """The source at a path or URL.

    Raises UserError when the URL is none, or what reads object stores is not installed.
    """
    if "://" not in where:
        return FileSource(Path(where))
    try:
        # By name: what reads object stores is an extra, and takes a while to import.
        module = importlib.import_module("filmgate.stage.object_source")
    except ModuleNotFoundError as error:
        if error.name != "obstore":
            raise
        raise UserError(
            f"{where} lies in an object store, and obstore is not installed",
            hint="pip install 'filmgate[stage]'",
        ) from None
    source: Source = module.ObjectSource(where, stall_seconds)
    return source
