"""Making room: hot files go only when they are unused, unpinned, and can be had again."""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

import msgspec

from filmgate.catalog.tiers import HOT_FOLDER, is_url
from filmgate.errors import FilmgateError
from filmgate.records import digest_file
from filmgate.records.files import fsync_folder
from filmgate.stage.fetch import Fetched
from filmgate.stage.outcome import Kept
from filmgate.stage.source import SourceChanged, open_source
from filmgate.work.lines import Finished, read_lines
from filmgate.work.task import ROOM

PROBE_SECONDS = 20.0
"""How long a source may take to say that it is there."""


@dataclass(frozen=True, kw_only=True)
class Eviction:
    """What became of files that are not wanted."""

    num_evicted: int
    bytes_evicted: int
    kept: list[Kept]


def hot_files(folder: Path) -> dict[str, int]:
    """Name below the folder -> bytes, of every hot file."""
    return {
        str(path.relative_to(folder)): path.stat().st_size
        for path in (folder / HOT_FOLDER).glob("*/*")
    }


def evict(
    folder: Path, unwanted: dict[str, int], pinned: frozenset[str], needed_bytes: int
) -> Eviction:
    """Remove files, the longest unread first, until ``needed_bytes`` are free of them.

    A file stays when somebody has it open, it is pinned, or its source is not there as it was when
    it was staged.
    """
    origins = _origins(folder)
    freed, num_evicted, kept = 0, 0, list[Kept]()
    for name in sorted(unwanted, key=lambda one: (folder / one).stat().st_atime_ns):
        if freed >= needed_bytes:
            break
        reason = _remove(folder / name, name in pinned, origins.get(name))
        if reason is not None:
            kept.append(Kept(name=name, reason=reason))
            continue
        freed += unwanted[name]
        num_evicted += 1
    return Eviction(num_evicted=num_evicted, bytes_evicted=freed, kept=kept)


def _origins(folder: Path) -> dict[str, Fetched]:
    """Name of each file -> how it was staged."""
    journal = folder / ROOM / "journal.jsonl"
    origins: dict[str, Fetched] = {}
    if journal.is_file():
        for _, _, line in read_lines(journal):
            if isinstance(line, Finished):
                origins[line.outputs[0].name] = msgspec.json.decode(line.row, type=Fetched)
    return origins


def _remove(path: Path, is_pinned: bool, origin: Fetched | None) -> str | None:
    """Remove a file; the reason when it stays."""
    if is_pinned:
        return "it is pinned"
    if origin is None:
        return "nothing tells where it came from"
    descriptor = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return "it is in use"
        reason = _why_not_recoverable(path, origin)
        if reason is None:
            path.unlink()
            fsync_folder(path.parent)
        return reason
    finally:
        os.close(descriptor)


def _why_not_recoverable(path: Path, origin: Fetched) -> str | None:
    try:
        if not is_url(origin.source) and path.samefile(origin.source):
            return "it is its own source"
        identity = open_source(origin.source, PROBE_SECONDS).identity()
    except (OSError, SourceChanged, FilmgateError) as error:
        return f"its source {origin.source} cannot be reached: {error}"
    if identity == origin.identity:
        return None
    if not is_url(origin.source) and digest_file(Path(origin.source)) == origin.content_digest:
        return None
    return f"its source {origin.source} has changed"
