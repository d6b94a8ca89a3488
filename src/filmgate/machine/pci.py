"""Devices on PCI Express: what they are, where they hang, and how wide and fast their links are.

Sources: sysfs-bus-pci in the kernel's ABI documentation; class codes of the PCI Code and ID
Assignment Specification; link registers of the PCI Express Base Specification, section 7.5.3
(for kernels that show no ``current_link_speed`` but the configuration space).
"""

from __future__ import annotations

import re
from typing import Literal

from filmgate.machine.facts import Facts, Gaps
from filmgate.machine.tree import Tree
from filmgate.records import Record
from filmgate.work.numa import parse_cpu_list

DEVICES = "sys/bus/pci/devices"
NVIDIA, AMD, INTEL = "0x10de", "0x1002", "0x8086"
_ADDRESS = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]")
GENERATION_OF_GTPS = {"2.5": 1, "5": 2, "5.0": 2, "8": 3, "8.0": 3, "16.0": 4, "32.0": 5, "64.0": 6}
LANE_BYTES_PER_SECOND = {
    1: 0.25e9, 2: 0.5e9, 3: 0.985e9, 4: 1.969e9, 5: 3.938e9, 6: 7.563e9,
}  # fmt: skip
"""Generation -> payload and headers of one lane, each way: transfers/s less the line code (8b/10b,
128b/130b, 242B/256B FLITs)."""

Kind = Literal["gpu", "nvme", "storage", "network", "bridge", "other"]


class Link(Record, frozen=True):
    """Generation and width of a link."""

    generation: int
    """1 to 6; 5 is 32 GT/s a lane."""
    width: int
    """Lanes."""

    @property
    def bytes_per_second(self) -> float:
        """Each way, derived; what is measured stays below."""
        return LANE_BYTES_PER_SECOND[self.generation] * self.width

    def __str__(self) -> str:
        return f"gen {self.generation} x{self.width}"


class PciDevice(Facts, frozen=True, kw_only=True):
    """One device, or a bridge."""

    address: str
    """``0000:65:00.0``: domain, bus, device, function."""
    kind: Kind
    """What it is, by class and vendor."""
    vendor: str | None
    """Number of the vendor, ``0x10de``."""
    device: str | None
    """Number of the device, with its vendor."""
    numa_node: int | None
    """Node that it hangs on."""
    near_cpus: str | None
    """Hardware threads near it, as the kernel lists them."""
    link: Link | None
    """As it is now; idle GPUs turn their generation down."""
    link_max: Link | None
    """What the device itself can."""
    link_from: str | None
    """``sysfs`` or ``configuration space``."""
    above: list[str]
    """Addresses of the bridges above it, root port first."""
    root: str
    """Host bridge, ``pci0000:00``."""
    errors_fatal: int | None
    """Since the start, not correctable (AER); None where the device does not count."""
    errors_corrected: int | None
    """Since the start, corrected."""


def read_pci(tree: Tree) -> list[PciDevice]:
    """All PCI devices by address; none where the kernel tells none."""
    return [_read_device(tree, name) for name in tree.names(DEVICES) if _ADDRESS.fullmatch(name)]


def narrowest(device: PciDevice, all_devices: dict[str, PciDevice]) -> tuple[Link, str] | None:
    """The slowest link between a device and its root port, and whose it is; None: unknown."""
    path = [device, *(all_devices[name] for name in device.above[1:] if name in all_devices)]
    links = [(one.link, one.address) for one in path if one.link is not None]
    return min(links, key=lambda link: link[0].bytes_per_second) if device.link else None


def _read_device(tree: Tree, address: str) -> PciDevice:
    gaps, folder = Gaps(), f"{DEVICES}/{address}"
    code = gaps.take("kind", lambda: tree.text(f"{folder}/class")) or ""
    vendor = gaps.take("vendor", lambda: tree.text(f"{folder}/vendor"))
    place = [part for part in tree.real(folder).split("/") if part]
    link, link_max, link_from = _links(tree, folder, gaps)
    return PciDevice(
        address=address,
        kind=kind_of(code, vendor),
        vendor=vendor,
        device=gaps.take("device", lambda: tree.text(f"{folder}/device")),
        numa_node=gaps.take("numa_node", lambda: _node(tree, folder)),
        near_cpus=gaps.take("near_cpus", lambda: _cpu_list(tree, folder)),
        link=link,
        link_max=link_max,
        link_from=link_from,
        above=[part for part in place[:-1] if _ADDRESS.fullmatch(part)],
        root=next((part for part in place if part.startswith("pci")), "unknown"),
        errors_fatal=gaps.take("errors_fatal", lambda: _aer(tree, folder, "fatal")),
        errors_corrected=gaps.take("errors_corrected", lambda: _aer(tree, folder, "correctable")),
        unknown=gaps.reasons,
    )


def kind_of(code: str, vendor: str | None) -> Kind:
    """What a device is, by class code ``0x030200`` and vendor ``0x10de``."""
    base = code.removeprefix("0x")[:4]
    if base[:2] in ("03", "12"):
        # Displays of other vendors are the management controller's picture or the processor's own.
        is_gpu = vendor in (NVIDIA, AMD) or (vendor == INTEL and base in ("0380", "1200"))
        return "gpu" if is_gpu else "other"
    kinds: dict[str, Kind] = {"0108": "nvme", "0604": "bridge"}
    families: dict[str, Kind] = {"01": "storage", "02": "network"}
    return kinds.get(base) or families.get(base[:2]) or "other"


def _cpu_list(tree: Tree, folder: str) -> str:
    """The kernel's own text, once it is seen to be a list of CPUs."""
    text = tree.text(f"{folder}/local_cpulist")
    if not parse_cpu_list(text):
        raise ValueError(f"/{folder}/local_cpulist names no CPU")
    return text


def _node(tree: Tree, folder: str) -> int:
    node = tree.number(f"{folder}/numa_node")
    if node < 0:
        raise ValueError("the firmware does not tell which node the device hangs on")
    return node


def _links(tree: Tree, folder: str, gaps: Gaps) -> tuple[Link | None, Link | None, str | None]:
    if tree.has(f"{folder}/current_link_speed"):
        now = gaps.take("link", lambda: _link(tree, folder, "current"))
        return now, gaps.take("link_max", lambda: _link(tree, folder, "max")), "sysfs"
    try:
        now, most = links_of_configuration(tree.content(f"{folder}/config"))
    except (OSError, ValueError) as error:
        for field in ("link", "link_max", "link_from"):
            gaps.note(field, f"no link attributes in /{folder} ({error})")
        return None, None, None
    return now, most, "configuration space"


def _link(tree: Tree, folder: str, which: str) -> Link:
    said = tree.text(f"{folder}/{which}_link_speed")
    number = re.match(r"[\d.]+", said)
    generation = GENERATION_OF_GTPS.get(number.group(0)) if number else None
    width = tree.number(f"{folder}/{which}_link_width")
    if generation is None or not 1 <= width <= 32:
        raise ValueError(f"the kernel tells speed {said!r} and width {width}")
    return Link(generation=generation, width=width)


def links_of_configuration(content: bytes) -> tuple[Link, Link]:
    """The link as it is and the most that the device can, from its configuration space.

    Raises ValueError where the bytes end before the PCI Express capability, or there is none.
    """
    if len(content) < 256:
        raise ValueError("the configuration space was read without its capabilities; root may")
    place, seen = content[0x34] & 0xFC, 0
    while place and seen < 48:
        if content[place] == 0x10:
            most = int.from_bytes(content[place + 12 : place + 16], "little")
            now = int.from_bytes(content[place + 18 : place + 20], "little")
            return _of_register(now), _of_register(most)
        place, seen = content[place + 1] & 0xFC, seen + 1
    raise ValueError("no PCI Express capability")


def _of_register(register: int) -> Link:
    generation, width = register & 0xF, (register >> 4) & 0x3F
    if generation not in LANE_BYTES_PER_SECOND or not width:
        raise ValueError("its link is not up")
    return Link(generation=generation, width=width)


def _aer(tree: Tree, folder: str, kind: str) -> int:
    text = tree.text(f"{folder}/aer_dev_{kind}")
    found = re.search(r"^TOTAL_ERR\w*\s+(\d+)", text, re.MULTILINE)
    if found is None:
        raise ValueError(f"/{folder}/aer_dev_{kind} has no total")
    return int(found.group(1))
