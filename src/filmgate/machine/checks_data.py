"""The checklist's part on data: which drives, how many, whose, and how fast."""

from __future__ import annotations

from typing import Literal

from filmgate.machine.drives import Drive, physical
from filmgate.machine.filesystems import Place, place_of
from filmgate.machine.item import Finding, Status, worst
from filmgate.machine.machine import Machine
from filmgate.machine.needs import Needs
from filmgate.machine.pci import PciDevice, narrowest
from filmgate.machine.raid import Raid
from filmgate.machine.thresholds import NVME_BYTES_PER_SECOND, READ_HEADROOM
from filmgate.units import format_bytes

STRIPED = ("raid0", "raid10", "raid5", "raid6")
MEMORY = ("tmpfs", "ramfs")
RULES: Literal["rules"] = "rules"


def dataset_drives(machine: Machine, needs: Needs) -> Finding:
    """The dataset lies on NVMe drives in RAID 0."""
    place = place_or_finding(machine, needs.dataset, "--dataset")
    if isinstance(place, Finding):
        return place
    seen = f"the dataset {_seen(place)}"
    if place.filesystem.is_network:
        return Finding(
            status="fail", bar="NVMe drives in RAID 0", bar_from=RULES,
            evidence=f"{seen}, on another machine",
            next_step="copy what a run needs to local NVMe before it starts",
        )  # fmt: skip
    if place.filesystem.kind in MEMORY:
        return Finding(status="ok", evidence=f"{seen}, in main memory")
    unseen = _not_to_be_seen(place)
    if unseen and needs.measured_read_bytes_per_second is not None:
        return _measured_finding(needs, needs.measured_read_bytes_per_second, f"{seen}; {unseen}")
    if unseen:
        return Finding(
            status="unknown", bar="NVMe drives in RAID 0", bar_from=RULES,
            evidence=f"{seen}; {unseen}",
            next_step="measure what it reads, and ask who runs the storage",
        )  # fmt: skip
    slow = [drive for drive in place.drives if drive.kind not in ("nvme", "memory")]
    if slow:
        words = ", ".join(_drive_words(drive) for drive in slow)
        rotating = any(drive.is_rotating for drive in slow)
        return Finding(
            status="fail" if rotating else "warn", bar="NVMe drives in RAID 0", bar_from=RULES,
            evidence=f"{seen}: {words}", next_step="move the dataset to NVMe drives",
        )  # fmt: skip
    return _nvme_finding(machine, needs, place, seen)


def _measured_finding(needs: Needs, measured: float, seen: str) -> Finding:
    """Drives that are not to be seen, judged by what they were measured to read."""
    need = needs.read_bytes_per_second
    bar = NVME_BYTES_PER_SECOND.value if need is None else need * READ_HEADROOM.value
    enough = measured >= bar
    source = NVME_BYTES_PER_SECOND.source
    return Finding(
        status="ok" if enough else "warn",
        bar=f"{format_bytes(bar)}/s, {source if need is None else 'the need with headroom'}",
        bar_from=RULES if need is None else "bench" if needs.read_from else "command line",
        evidence=f"{seen}; they read {format_bytes(measured)}/s, {_measured_words(needs)}",
        next_step="" if enough else "move the dataset to NVMe drives, or make a training copy",
    )


def _nvme_finding(machine: Machine, needs: Needs, place: Place, seen: str) -> Finding:
    count = len(place.drives)
    expected = count * NVME_BYTES_PER_SECOND.value
    need = needs.read_bytes_per_second
    if need is not None:
        enough = expected >= need
        return Finding(
            status="ok" if enough else "warn",
            bar=f"{format_bytes(need)}/s, {NVME_BYTES_PER_SECOND.source}",
            bar_from="bench" if needs.read_from else "command line",
            evidence=f"{seen}; drives of this kind are expected to read {format_bytes(expected)}/s",
            next_step="" if enough else "put more drives into the RAID 0, and measure",
        )
    level = _raid_level(machine, place)
    if count == 1 or level not in STRIPED:
        how = "one drive" if count == 1 else f"{count} drives, {level or 'striped or not'}"
        return Finding(
            status="warn", bar="NVMe drives in RAID 0", bar_from=RULES,
            evidence=f"{seen}: {how}",
            next_step="RAID 0 over several NVMe drives reads that much faster; "
            "whether the job needs it, tell with --need-read",
        )  # fmt: skip
    return Finding(
        status="ok", bar="NVMe drives in RAID 0", bar_from=RULES,
        evidence=f"{seen}: {count} NVMe drives in {level}",
    )  # fmt: skip


def raid_health(machine: Machine, needs: Needs) -> Finding:
    """Every array is whole."""
    if "raids" in machine.unknown:
        return Finding(status="unknown", evidence=machine.unknown["raids"])
    if not machine.raids:
        return Finding(status="not present", evidence="Linux makes no RAID on this machine")
    return worst([_array_finding(raid) for raid in machine.raids])


def _array_finding(raid: Raid) -> Finding:
    words = f"{raid.name} ({raid.level}, {len(raid.members)} members, {raid.state})"
    missing = raid.num_missing
    if missing is None and raid.num_disks is not None:
        missing = raid.num_disks - len(raid.members)
    if missing is None:
        return Finding(status="unknown", evidence=f"{words}: {raid.why('num_disks')}")
    if missing > 0 or raid.state in ("inactive", "broken", "failed"):
        return Finding(
            status="fail", evidence=f"{words}: {missing} of {raid.num_disks} members missing",
            next_step=f"`mdadm --detail /dev/{raid.name}` names the drive; replace it",
        )  # fmt: skip
    if raid.action in ("resync", "recover", "reshape"):
        return Finding(
            status="warn", evidence=f"{words}: {raid.action} goes on, which takes bandwidth",
            next_step="wait for its end before a run or a measurement",
        )  # fmt: skip
    if raid.mismatches:
        return Finding(
            status="warn", evidence=f"{words}: {raid.mismatches} sectors differed at its check",
            next_step="check the drives' own health, then repair the array",
        )  # fmt: skip
    return Finding(status="ok", evidence=words)


def drive_links(machine: Machine, needs: Needs) -> Finding:
    """Every NVMe drive has all its PCI Express lanes at full speed."""
    drives = _nvme_drives(machine, needs)
    if not drives:
        if "drives" in machine.unknown:
            return Finding(status="unknown", evidence=machine.unknown["drives"])
        where = "below the dataset" if needs.dataset else "on this machine"
        return Finding(status="not present", evidence=f"no NVMe drive on PCI is seen {where}")
    devices = {device.address: device for device in machine.pci}
    return worst([_drive_link(drive, devices) for drive in drives])


def _drive_link(drive: Drive, devices: dict[str, PciDevice]) -> Finding:
    device = devices.get(drive.pci_address or "")
    if device is None or device.link is None or device.link_max is None:
        why = device.why("link") if device else drive.why("pci_address")
        return Finding(
            status="unknown", evidence=f"{drive.name}: {why}",
            next_step="`sudo lspci -vv` shows LnkSta and LnkCap",
        )  # fmt: skip
    slowest = narrowest(device, devices)
    if device.link != device.link_max:
        return Finding(
            status="fail", evidence=f"{drive.name}: link {device.link} of {device.link_max}",
            bar=str(device.link_max), bar_from=RULES,
            next_step="reseat the drive, or move it to a slot with as many lanes",
        )  # fmt: skip
    if slowest and slowest[0].bytes_per_second < device.link.bytes_per_second:
        return Finding(
            status="warn", bar=str(device.link), bar_from=RULES,
            evidence=f"{drive.name}: {slowest[1]} above it is {slowest[0]}, less than its own "
            f"{device.link}",
            next_step="drives behind one switch share its link; spread them over root ports",
        )  # fmt: skip
    return Finding(status="ok", evidence=f"{drive.name}: {device.link}")


def apart_from_system(machine: Machine, needs: Needs) -> Finding:
    """The dataset shares no drive with the operating system."""
    return apart_finding(
        machine, (needs.dataset, "--dataset"), ("/", ""), ("the dataset", "the operating system")
    )


def apart_from_checkpoints(machine: Machine, needs: Needs) -> Finding:
    """The dataset shares no drive with the checkpoints."""
    return apart_finding(
        machine, (needs.dataset, "--dataset"), (needs.checkpoints, "--checkpoints"),
        ("the dataset", "the checkpoints"),
    )  # fmt: skip


def apart_finding(
    machine: Machine,
    one: tuple[str | None, str],
    other: tuple[str | None, str],
    names: tuple[str, str],
) -> Finding:
    """Whether two paths, each with the option that tells it, share no drive."""
    what, whose = names
    mine, theirs = place_or_finding(machine, *one), place_or_finding(machine, *other)
    for place in (mine, theirs):
        if isinstance(place, Finding):
            return place
    assert isinstance(mine, Place)
    assert isinstance(theirs, Place)
    evidence = f"{what} {_seen(mine)}, {whose} {_seen(theirs, plural=whose.endswith('s'))}"
    shared = {drive.name for drive in mine.drives} & {drive.name for drive in theirs.drives}
    if shared or mine.filesystem == theirs.filesystem:
        on = f"the same drive, {', '.join(sorted(shared))}" if shared else "one filesystem"
        return Finding(
            status="fail", evidence=f"{evidence}: {on}",
            next_step=f"give {what} drives of its own, apart from {whose}",
        )  # fmt: skip
    if mine.filesystem.is_network != theirs.filesystem.is_network:
        return Finding(status="ok", evidence=f"{evidence}: one of them on another machine")
    unseen = _not_to_be_seen(mine) or _not_to_be_seen(theirs)
    if unseen:
        return Finding(
            status="unknown", evidence=f"{evidence}; {unseen}",
            next_step="ask who runs the storage, and attest it",
        )  # fmt: skip
    return Finding(status="ok", evidence=evidence)


def read_rate(machine: Machine, needs: Needs) -> Finding:
    """The storage reads as fast as the loader asks."""
    need, measured = needs.read_bytes_per_second, needs.measured_read_bytes_per_second
    if need is None or measured is None:
        missing = [
            what for what, told in (("the loader's need", need), ("a measured rate", measured))
            if told is None
        ]  # fmt: skip
        return Finding(
            status="unknown",
            evidence=f"not told: {' and '.join(missing)}; nothing is measured here",
            next_step="`filmgate bench storage` and `filmgate bench feed` measure both; tell them "
            "with --bench bench.json, or with --need-read and --measured-read",
        )
    bar = f"{format_bytes(need)}/s, with {READ_HEADROOM.value:g} times as headroom"
    status: Status = "ok" if measured >= need * READ_HEADROOM.value else "warn"
    if measured < need:
        status = "fail"
    return Finding(
        status=status,
        bar=bar,
        bar_from="bench" if needs.read_from else "command line",
        evidence=f"{format_bytes(measured)}/s {_measured_words(needs)}",
        next_step="" if status == "ok" else "make a training copy, or add drives",
    )


def _measured_words(needs: Needs) -> str:
    return needs.measured_read_from or "as told on the command line"


def place_or_finding(machine: Machine, path: str | None, option: str) -> Place | Finding:
    """Where a path lies, or the finding that says why that is unknown."""
    if path is None:
        return Finding(
            status="unknown", evidence="its path was not told", next_step=f"name it with {option}"
        )
    if "filesystems" in machine.unknown:
        return Finding(status="unknown", evidence=machine.unknown["filesystems"])
    place = place_of(path, machine.filesystems, machine.drives)
    if place is None:
        return Finding(status="unknown", evidence=f"no mount is known for {path}")
    return place


def _seen(place: Place, *, plural: bool = False) -> str:
    names = ", ".join(drive.name for drive in place.drives)
    mount = place.filesystem
    on = f"{mount.mount_point} ({mount.kind}{', ' + names if names else ''})"
    return f"{'lie' if plural else 'lies'} on {on}"


def _not_to_be_seen(place: Place) -> str:
    """Why the physical drives are unknown; empty where they are known."""
    if place.filesystem.kind in MEMORY:
        return ""
    if not place.drives:
        return place.filesystem.why("device")
    virtual = [drive.name for drive in place.drives if drive.kind == "virtual"]
    if virtual:
        return f"{', '.join(virtual)} is a virtual disk, and what lies below is not to be seen"
    behind = [drive for drive in place.drives if drive.behind_controller]
    if behind:
        controller = f"a RAID controller ({behind[0].model})"
        return f"{behind[0].name} is made by {controller}, which hides its drives"
    return ""


def _drive_words(drive: Drive) -> str:
    kind = "hard disk" if drive.is_rotating else "SSD that is no NVMe"
    return f"{drive.name} is a {kind}" + (f" ({drive.model})" if drive.model else "")


def _raid_level(machine: Machine, place: Place) -> str | None:
    """Of the array between a filesystem and its drives; None where md makes none."""
    left, drives = [place.filesystem.device], {drive.name: drive for drive in machine.drives}
    levels = {raid.name: raid.level for raid in machine.raids}
    while left:
        name = left.pop()
        if name in levels:
            return levels[name]
        left += drives[name].below if name in drives else []
    return None


def _nvme_drives(machine: Machine, needs: Needs) -> list[Drive]:
    """Those below the dataset where it is told, otherwise all."""
    named = [drive.name for drive in machine.drives]
    if needs.dataset:
        place = place_of(needs.dataset, machine.filesystems, machine.drives)
        named = [drive.name for drive in place.drives] if place else named
    found = physical(named, {drive.name: drive for drive in machine.drives})
    return [drive for drive in found if drive.kind == "nvme" and drive.transport in ("pcie", None)]
