"""What is mounted where, and on which drives a path lies.

Sources: proc_pid_mountinfo(5); /proc/mounts where a capture has nothing better.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from filmgate.machine.drives import Drive, physical
from filmgate.machine.facts import Facts
from filmgate.machine.host import Host
from filmgate.machine.tree import Tree

NETWORK = frozenset(
    [
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "lustre",
        "beegfs",
        "ceph",
        "gpfs",
        "afs",
        "glusterfs",
        "9p",
        "virtiofs",
        "orangefs",
        "pvfs2",
        "wekafs",
        "fuse.sshfs",
        "fuse.s3fs",
        "fuse.gcsfuse",
        "fuse.rclone",
        "fuse.juicefs",
        "fuse.ceph",
        "fuse.glusterfs",
    ]
)  # fmt: skip
"""Kinds whose data another machine has."""
_KERNEL = frozenset(
    [
        "proc",
        "sysfs",
        "cgroup",
        "cgroup2",
        "devpts",
        "devtmpfs",
        "securityfs",
        "debugfs",
        "tracefs",
        "pstore",
        "bpf",
        "mqueue",
        "hugetlbfs",
        "fusectl",
        "configfs",
        "efivarfs",
        "binfmt_misc",
        "autofs",
        "rpc_pipefs",
        "nsfs",
        "rootfs",
        "squashfs",
        "usbfs",
        "nfsd",
        "fuse.portal",
        "selinuxfs",
        "ramfs",
        "fuse.lxcfs",
        "ipathfs",
    ]
)  # fmt: skip
"""Kinds that hold nobody's files."""


class Filesystem(Facts, frozen=True, kw_only=True):
    """One mount."""

    mount_point: str
    """Where it is mounted."""
    kind: str
    """``ext4``, ``nfs4``, ``overlay``."""
    source: str
    """What was mounted, ``/dev/md0``; servers of network filesystems are called server."""
    device: str | None
    """Name of its block device, among the drives."""
    is_network: bool
    """Whether another machine has its data."""
    is_read_only: bool
    """Whether nothing can be written there."""
    total_bytes: int | None
    """All of it."""
    free_bytes: int | None
    """What users other than root may still write."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a path lies in the end."""

    filesystem: Filesystem
    drives: tuple[Drive, ...]
    """Physical or virtual ones; empty: not to be seen."""


@dataclass(frozen=True, kw_only=True)
class Mount:
    """One line of the table of mounts."""

    mount_point: str
    kind: str
    source: str
    number: str
    """``259:0``; empty where only /proc/mounts told."""
    is_read_only: bool


def read_filesystems(tree: Tree, drives: list[Drive], host: Host | None) -> list[Filesystem]:
    """The mounts that hold files, in order of mounting; a later one hides an earlier."""
    numbers = {drive.number: drive.name for drive in drives if drive.number}
    aliases = {drive.alias: drive.name for drive in drives if drive.alias}
    names = {drive.name for drive in drives}
    found: dict[str, Filesystem] = {}
    for mount in read_mounts(tree):
        tail = mount.source.rsplit("/", 1)[-1]
        device = numbers.get(mount.number) or aliases.get(tail) or (tail if tail in names else None)
        found.pop(mount.mount_point, None)
        found[mount.mount_point] = _filesystem(mount, device, host)
    return list(found.values())


def read_mounts(tree: Tree, *, all_kinds: bool = False) -> list[Mount]:
    """Mounts that hold files, or all there are; none where the table cannot be read."""
    for path, parse in (("proc/self/mountinfo", _of_mountinfo), ("proc/mounts", _of_mounts)):
        try:
            mounts = [parse(line.split(" ")) for line in tree.text(path).splitlines()]
        except (OSError, ValueError, IndexError):
            continue
        return [mount for mount in mounts if all_kinds or mount.kind not in _KERNEL]
    return []


def place_of(path: str, filesystems: list[Filesystem], drives: list[Drive]) -> Place | None:
    """Where an absolute path lies; None where no mount is known for it."""
    above = [one for one in filesystems if holds(one.mount_point, path)]
    if not above:
        return None
    nearest = max(above, key=lambda one: len(one.mount_point.rstrip("/")))
    found = physical([nearest.device], {one.name: one for one in drives}) if nearest.device else []
    return Place(filesystem=nearest, drives=tuple(found))


def holds(mount_point: str, path: str) -> bool:
    """Whether an absolute path lies at or below a mount point."""
    return path == mount_point or path.startswith(mount_point.rstrip("/") + "/")


def _of_mountinfo(words: list[str]) -> Mount:
    dash = words.index("-")
    return Mount(
        mount_point=_plain(words[4]),
        kind=words[dash + 1],
        source=_plain(words[dash + 2]),
        number=words[2],
        is_read_only="ro" in words[5].split(","),
    )


def _of_mounts(words: list[str]) -> Mount:
    return Mount(
        mount_point=_plain(words[1]),
        kind=words[2],
        source=_plain(words[0]),
        number="",
        is_read_only="ro" in words[3].split(","),
    )


def _plain(text: str) -> str:
    """Spaces and the like are written in octal, ``\\040``."""
    return re.sub(r"\\([0-7]{3})", lambda hit: chr(int(hit[1], 8)), text)


def _filesystem(mount: Mount, device: str | None, host: Host | None) -> Filesystem:
    unknown = {} if device else {"device": f"the block device of {mount.source} is not to be seen"}
    space = host.space.get(mount.mount_point) if host else None
    if space is None:
        why = host.space_unknown.get(mount.mount_point) if host else "the capture does not tell"
        unknown |= dict.fromkeys(("total_bytes", "free_bytes"), why or "it was not asked")
    is_network = mount.kind in NETWORK
    return Filesystem(
        mount_point=mount.mount_point,
        kind=mount.kind,
        source=without_server(mount.source) if is_network else mount.source,
        device=None if is_network else device,
        is_network=is_network,
        is_read_only=mount.is_read_only,
        total_bytes=space.total_bytes if space else None,
        free_bytes=space.free_bytes if space else None,
        unknown=unknown,
    )


def without_server(source: str) -> str:
    """``10.0.0.5:/export`` as ``server:/export``."""
    if source.startswith("//"):
        return "//server/" + source[2:].partition("/")[2]
    _, colon, path = source.rpartition(":/")
    return f"server:/{path}" if colon else source
