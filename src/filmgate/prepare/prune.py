"""Removing copies that no source needs any more."""

from __future__ import annotations

from pathlib import Path

from filmgate.catalog import open_catalog
from filmgate.prepare.copies import FILES, USERS, table_of_copy
from filmgate.records import Record


class Pruned(Record, frozen=True):
    """What was removed."""

    num_files: int
    """Copies; their frame tables went with them."""
    bytes: int
    """Of the copies."""


def prune_copies(folder: Path) -> Pruned:
    """Remove every copy below ``folder`` that neither its own catalog lists nor another one that
    shares its copies and still exists.

    Whoever reads such a copy through an older state of the catalog loses it: a file that is open
    stays readable, one that is opened later is gone.
    """
    listed = {path for catalog in _catalogs(folder) for path in _paths(catalog)}
    kept = {path.resolve() for path in (*listed, *map(table_of_copy, listed))}
    num_files = num_bytes = 0
    for path in sorted((folder / FILES).rglob("*")):
        if path.is_dir() or path.resolve() in kept:
            continue
        if path.suffix != ".parquet":
            num_files, num_bytes = num_files + 1, num_bytes + path.stat().st_size
        path.unlink()
    return Pruned(num_files=num_files, bytes=num_bytes)


def _catalogs(folder: Path) -> list[Path]:
    """The folder itself, and those of ``users`` that are still there."""
    users = [Path(file.read_text()) for file in sorted((folder / USERS).glob("*"))]
    return [folder, *[user for user in users if (user / "catalog.json").exists()]]


def _paths(catalog_folder: Path) -> list[Path]:
    return [Path(path) for path in open_catalog(catalog_folder).column("path").to_pylist()]
