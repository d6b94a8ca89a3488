"""Removing copies that no source needs any more."""

from __future__ import annotations

from pathlib import Path

from filmgate.catalog import open_catalog
from filmgate.prepare.copies import FILES, table_of_copy
from filmgate.records import Record


class Pruned(Record, frozen=True):
    """What was removed."""

    num_files: int
    """Copies; their frame tables went with them."""
    bytes: int
    """Of the copies."""


def prune_copies(folder: Path) -> Pruned:
    """Remove every copy below ``folder`` that its catalog does not list.

    Whoever reads such a copy through an older state of the catalog loses it: a file that is open
    stays readable, one that is opened later is gone.
    """
    listed = {Path(path) for path in open_catalog(folder).column("path").to_pylist()}
    kept = {path.resolve() for path in (*listed, *map(table_of_copy, listed))}
    num_files = num_bytes = 0
    for path in sorted((folder / FILES).rglob("*")):
        if path.is_dir() or path.resolve() in kept:
            continue
        if path.suffix != ".parquet":
            num_files, num_bytes = num_files + 1, num_bytes + path.stat().st_size
        path.unlink()
    return Pruned(num_files=num_files, bytes=num_bytes)
