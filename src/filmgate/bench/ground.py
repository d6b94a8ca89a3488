"""What lies below a folder, and whether reading it is reading storage at all."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from filmgate.errors import UserError
from filmgate.machine.drives import physical, read_drives
from filmgate.machine.filesystems import NETWORK, Mount, holds, read_mounts
from filmgate.machine.tree import FolderTree

MEMORY = ("tmpfs", "ramfs", "hugetlbfs", "devtmpfs")
"""Filesystems whose files are main memory."""
STACKED = ("overlay", "aufs", "ecryptfs", "unionfs")
"""Filesystems that pass reads on to another one, which is not to be seen."""


@dataclass(frozen=True, kw_only=True)
class Ground:
    """Where a folder's files lie."""

    kind: str
    """Of the filesystem, ``ext4``; ``unknown`` where the mounts cannot be read."""
    says: str
    """In words, ``ext4 on vda (virtual)``."""
    notes: tuple[str, ...]
    """What weakens a figure that is measured here."""


def ground_of(folder: Path) -> Ground:
    """What lies below a folder.

    Raises UserError where its files are main memory: reading them says nothing of storage.
    """
    tree, path = FolderTree(Path("/")), str(folder.resolve())
    above = [mount for mount in read_mounts(tree, all_kinds=True) if holds(mount.mount_point, path)]
    if not above:
        why = "the table of mounts cannot be read, so what lies below is unknown"
        return Ground(kind="unknown", says="unknown", notes=(why,))
    # The last mount of a place hides those before it.
    mount = max(enumerate(above), key=lambda pair: (len(pair[1].mount_point), pair[0]))[1]
    if mount.kind in MEMORY:
        raise _memory_error(folder, mount.kind)
    return _ground(folder, mount, tree)


def _ground(folder: Path, mount: Mount, tree: FolderTree) -> Ground:
    if mount.kind in NETWORK:
        note = f"{mount.kind} is another machine's storage: its server's memory may answer"
        return Ground(kind=mount.kind, says=f"{mount.kind}, over the network", notes=(note,))
    if mount.kind.startswith("fuse"):
        note = f"{mount.kind} is a program that answers reads; what lies below is not to be seen"
        return Ground(kind=mount.kind, says=mount.kind, notes=(note,))
    if mount.kind in STACKED:
        note = f"{mount.kind} passes reads on to a filesystem below, which is not to be seen"
        return Ground(kind=mount.kind, says=mount.kind, notes=(note,))
    drives = read_drives(tree)
    named = {drive.number: drive.name for drive in drives if drive.number}
    name = named.get(mount.number)
    below = physical([name], {drive.name: drive for drive in drives}) if name else []
    if below and all(drive.kind == "memory" for drive in below):
        raise _memory_error(folder, f"{mount.kind} on {below[0].name}")
    words = ", ".join(f"{drive.name} ({drive.kind})" for drive in below)
    virtual = [drive.name for drive in below if drive.kind == "virtual"]
    note = "a virtual disk: the memory of the machine below it may answer, and limits may be set"
    return Ground(
        kind=mount.kind,
        says=f"{mount.kind} on {words or name or mount.source}",
        notes=(f"{', '.join(virtual)} is {note}",) if virtual else (),
    )


def _memory_error(folder: Path, what: str) -> UserError:
    return UserError(
        f"{folder} lies on {what}, which is main memory: there is no storage to measure",
        hint="name a folder on a drive; `filmgate bench memory` measures main memory",
    )
