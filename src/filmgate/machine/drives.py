"""Block devices, from what a filesystem lies on down to physical drives.

Sources: sysfs-block and sysfs-class-block in the kernel's ABI documentation; ``slaves`` is what a
device is made of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from filmgate.machine.facts import Facts, Gaps
from filmgate.machine.tree import Tree

BLOCK = "sys/class/block"
Kind = Literal["nvme", "disk", "virtual", "raid", "mapped", "partition", "memory"]
_PCI = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]")
_VIRTUAL = re.compile(
    r"QEMU|Virtual|VBOX|PersistentDisk|Amazon Elastic Block Store|nvme_card|Google", re.IGNORECASE
)
"""Models under which hypervisors and clouds show disks that are not drives of this machine."""
_CONTROLLER = re.compile(r"PERC|MegaRAID|LOGICAL VOLUME|MR\d{4}|RAID", re.IGNORECASE)
"""Models under which hardware RAID controllers show what they made of their drives."""
SECTOR_BYTES = 512
"""The unit of ``size``, whatever the drive's own sectors are (sysfs-block)."""


class Drive(Facts, frozen=True, kw_only=True):
    """One block device."""

    name: str
    """``nvme0n1``."""
    kind: Kind
    """``nvme`` and ``disk`` are drives; ``virtual`` is a hypervisor's, what lies below it is not to
    be seen; the others are made of what stands in ``below``."""
    number: str | None
    """``259:0``, as mounts name it."""
    size_bytes: int | None
    """Its size."""
    model: str | None
    """As the drive tells it."""
    is_rotating: bool | None
    """Whether it is a hard disk; a guest may be told anything."""
    transport: str | None
    """``pcie``, ``tcp``, ``rdma`` for NVMe; ``ata``, ``usb``, ``scsi`` for others."""
    behind_controller: bool
    """Whether a hardware RAID controller shows it, so that its drives are not to be seen."""
    pci_address: str | None
    """PCI device that it hangs on."""
    below: list[str]
    """What it is made of: members, the disk of a partition."""
    made_by: str | None
    """For ``mapped``: LVM, CRYPT, mpath and so on."""
    alias: str | None
    """For ``mapped``: its name under /dev/mapper."""
    scheduler: str | None
    """I/O scheduler in use."""
    read_ahead_bytes: int | None
    """What the kernel reads ahead of sequential reads."""


def read_drives(tree: Tree) -> list[Drive]:
    """Block devices by name, loop and RAM disks and empty ones left out."""
    names = tree.names(BLOCK) or tree.names("sys/block")
    folder = BLOCK if tree.names(BLOCK) else "sys/block"
    skipped = re.compile(r"(loop|ram|zram|fd|sr|nbd)\d+.*")
    drives = [_read_drive(tree, folder, name) for name in names if not skipped.fullmatch(name)]
    return [one for one in drives if one.size_bytes != 0]


def physical(names: Iterable[str], drives: dict[str, Drive]) -> list[Drive]:
    """The drives, by name, that block devices lie on in the end; virtual ones stand for theirs."""
    found: dict[str, Drive] = {}
    left, seen = list(names), set[str]()
    while left:
        drive = drives.get(left.pop())
        if drive is None or drive.name in seen:
            continue
        seen.add(drive.name)
        if drive.below:
            left += drive.below
        else:
            found[drive.name] = drive
    return [found[name] for name in sorted(found)]


def _read_drive(tree: Tree, parent: str, name: str) -> Drive:
    gaps, folder = Gaps(), f"{parent}/{name}"
    place = tree.real(folder)
    model = gaps.take("model", lambda: tree.text(f"{folder}/device/model"))
    kind = _kind(tree, folder, place, name, model)
    disk = place.split("/")[-2] if kind == "partition" else name
    queue = f"{place.rsplit('/', 1)[0]}/queue" if kind == "partition" else f"{place}/queue"
    pci = _pci_address(tree, place)
    if pci is None:
        gaps.note("pci_address", "it hangs on no PCI device that is to be seen")
    return Drive(
        name=name,
        kind=kind,
        number=gaps.take("number", lambda: tree.text(f"{folder}/dev")),
        size_bytes=gaps.take("size_bytes", lambda: tree.number(f"{folder}/size") * SECTOR_BYTES),
        model=model or None,
        is_rotating=gaps.take("is_rotating", lambda: bool(tree.number(f"{queue}/rotational"))),
        transport=_transport(tree, folder, place, kind, pci),
        behind_controller=kind == "disk" and bool(model and _CONTROLLER.search(model)),
        pci_address=pci,
        below=[disk] if kind == "partition" else tree.names(f"{folder}/slaves"),
        made_by=_made_by(tree, folder) if kind == "mapped" else None,
        alias=gaps.take("alias", lambda: tree.text(f"{folder}/dm/name"))
        if kind == "mapped"
        else None,
        scheduler=gaps.take("scheduler", lambda: _chosen(tree.text(f"{queue}/scheduler"))),
        read_ahead_bytes=gaps.take(
            "read_ahead_bytes", lambda: tree.number(f"{queue}/read_ahead_kb") * 1024
        ),
        unknown=gaps.reasons,
    )


def _kind(tree: Tree, folder: str, place: str, name: str, model: str | None) -> Kind:
    if tree.has(f"{folder}/partition"):
        return "partition"
    if name.startswith("md"):
        return "raid"
    if name.startswith("dm-"):
        return "mapped"
    if name.startswith("pmem"):
        return "memory"
    is_virtual = re.match(r"x?vd[a-z]", name) or "/virtio" in place or "VMBUS" in place
    if is_virtual or (model and _VIRTUAL.search(model)):
        return "virtual"
    return "nvme" if name.startswith("nvme") else "disk"


def _pci_address(tree: Tree, place: str) -> str | None:
    """Of the last PCI device on the way to it; for shared NVMe, of its first controller."""
    if "nvme-subsystem" in place:
        subsystem = place.rsplit("/", 1)[0]
        controllers = [one for one in tree.names(subsystem) if re.fullmatch(r"nvme\d+", one)]
        place = tree.real(f"{subsystem}/{controllers[0]}") if controllers else place
    found = [part for part in place.split("/") if _PCI.fullmatch(part)]
    return found[-1] if found else None


def _transport(tree: Tree, folder: str, place: str, kind: Kind, pci: str | None) -> str | None:
    if kind == "nvme":
        try:
            return tree.text(f"{folder}/device/transport")
        except OSError:
            return "pcie" if pci else None
    if kind != "disk":
        return None
    parts = place.split("/")
    for word, transport in (("ata", "ata"), ("usb", "usb"), ("host", "scsi")):
        if any(re.fullmatch(rf"{word}\d+", part) for part in parts):
            return transport
    return None


def _made_by(tree: Tree, folder: str) -> str | None:
    try:
        return tree.text(f"{folder}/dm/uuid").split("-")[0] or None
    except OSError:
        return None


def _chosen(text: str) -> str:
    """``[mq-deadline] none`` has the chosen one in brackets."""
    found = re.search(r"\[([^]]+)\]", text)
    return found.group(1) if found else text
