"""Files that stay whatever comes: pinned by name of content."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from filmgate.catalog.tiers import STAGE_ROOM
from filmgate.records import Record, read_record, write_record

_FILE = "pins.json"


class Pins(Record, frozen=True):
    """``pins.json``."""

    names: list[str]
    """Files below the staged catalog's folder that are never evicted, sorted."""


def read_pins(folder: Path) -> frozenset[str]:
    """Names of pinned files."""
    path = folder / STAGE_ROOM / _FILE
    return frozenset(read_record(path, Pins).names) if path.is_file() else frozenset()


def change_pins(folder: Path, names: Iterable[str], *, pin: bool) -> None:
    """Pin files, or let them go."""
    before = read_pins(folder)
    after = before | frozenset(names) if pin else before - frozenset(names)
    if after != before:
        write_record(folder / STAGE_ROOM / _FILE, Pins(names=sorted(after)))
