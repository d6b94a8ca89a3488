"""RAID that Linux itself makes (md): level, members, and whether it is whole.

Source: Documentation/admin-guide/md.rst. LVM's stripes, ZFS and hardware RAID are not to be seen
here; the drives say where one of those lies between.
"""

from __future__ import annotations

from filmgate.machine.facts import Facts, Gaps
from filmgate.machine.tree import Tree


class Raid(Facts, frozen=True, kw_only=True):
    """One md array."""

    name: str
    """``md0``."""
    level: str | None
    """``raid0``, ``raid1``, ``raid5``, ``linear``."""
    num_disks: int | None
    """Members that it was made with."""
    members: list[str]
    """Those that it has now."""
    num_missing: int | None
    """Members that are missing or failed; a RAID 0 has no count, a missing member stops it."""
    state: str | None
    """``clean``, ``active``, ``inactive``, ``broken`` and so on."""
    action: str | None
    """``idle``, ``resync``, ``recover``, ``check``, ``repair``; a RAID 0 has none."""
    chunk_bytes: int | None
    """Bytes on one member before the next; 0 where there are no stripes."""
    mismatches: int | None
    """Sectors that differed between copies at the last check."""


def read_raids(tree: Tree) -> list[Raid]:
    """The arrays by name; none where there are none."""
    names = tree.names("sys/class/block") or tree.names("sys/block")
    folder = "sys/class/block" if tree.names("sys/class/block") else "sys/block"
    return [
        _read_raid(tree, folder, name)
        for name in names
        if name.startswith("md") and tree.has(f"{folder}/{name}/md/level")
    ]


def _read_raid(tree: Tree, folder: str, name: str) -> Raid:
    gaps, md = Gaps(), f"{folder}/{name}/md"
    return Raid(
        name=name,
        level=gaps.take("level", lambda: tree.text(f"{md}/level")),
        num_disks=gaps.take("num_disks", lambda: tree.number(f"{md}/raid_disks")),
        members=tree.names(f"{folder}/{name}/slaves"),
        num_missing=gaps.take("num_missing", lambda: tree.number(f"{md}/degraded")),
        state=gaps.take("state", lambda: tree.text(f"{md}/array_state")),
        action=gaps.take("action", lambda: tree.text(f"{md}/sync_action")),
        chunk_bytes=gaps.take("chunk_bytes", lambda: tree.number(f"{md}/chunk_size")),
        mismatches=gaps.take("mismatches", lambda: tree.number(f"{md}/mismatch_cnt")),
        unknown=gaps.reasons,
    )
