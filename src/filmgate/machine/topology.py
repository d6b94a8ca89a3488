"""What hangs where, as a tree of boxes that any drawing can show. Pure.

machine > NUMA node > root port > switch > device
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from filmgate.machine.drives import Drive
from filmgate.machine.machine import Machine
from filmgate.machine.pci import PciDevice
from filmgate.units import counted, format_bytes

Role = Literal["machine", "node", "bridge", "gpu", "drive", "network", "memory", "cores"]
SHOWN = ("gpu", "nvme", "storage", "network")


@dataclass(frozen=True, kw_only=True)
class Box:
    """One part of the machine, with the parts inside or below it."""

    role: Role
    title: str
    lines: tuple[str, ...] = ()
    """What is said of it."""
    boxes: tuple[Box, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Topology:
    """The whole drawing."""

    machine: Box
    links: tuple[str, ...]
    """What joins GPUs beside PCI Express, a sentence each."""


@dataclass
class _Branch:
    """Bridges and devices below one point of the PCI tree, while it grows."""

    devices: list[PciDevice] = field(default_factory=list)
    below: dict[str, _Branch] = field(default_factory=dict)


def topology_of(machine: Machine) -> Topology:
    """The boxes of a machine; what does not tell its node stands outside of the nodes."""
    names = _names(machine)
    shown = [device for device in machine.pci if device.address in names]
    nodes = [_node_box(machine, number, shown, names) for number in _numbers(machine)]
    loose = [device for device in shown if device.numa_node not in _numbers(machine)]
    if len(nodes) == 1:
        nodes, loose = [_node_box(machine, _numbers(machine)[0], shown, names, all_of_it=True)], []
    boxes = [*nodes, *_branch_boxes(_grow(loose), machine, names), *_elsewhere(machine, names)]
    return Topology(
        machine=Box(
            role="machine", title=machine.bmc.product or machine.origin,
            lines=tuple(_machine_lines(machine)), boxes=tuple(boxes),
        ),
        links=tuple(_gpu_links(machine)),
    )  # fmt: skip


def _numbers(machine: Machine) -> list[int]:
    return [node.number for node in machine.nodes]


def _machine_lines(machine: Machine) -> list[str]:
    cpu, limits = machine.cpu, machine.limits
    lines = [cpu.model or f"processor: {cpu.why('model')}"]
    counts = [
        counted(count, name)
        for count, name in (
            (cpu.num_sockets, "socket"), (cpu.num_cores, "core"), (cpu.num_cpus, "CPU")
        ) if count is not None
    ]  # fmt: skip
    memory = machine.memory.total_bytes
    counts.append("memory unknown" if memory is None else f"{format_bytes(memory)} memory")
    lines.append(", ".join(counts))
    if limits.usable_cores is not None and limits.usable_cores != cpu.num_cpus:
        lines.append(f"this process may use {limits.usable_cores} CPUs")
    if cpu.is_virtual_machine:
        lines.append("virtual machine: what the host has below it is not to be seen")
    return lines


def _node_box(
    machine: Machine,
    number: int,
    shown: list[PciDevice],
    names: dict[str, Box],
    *,
    all_of_it: bool = False,
) -> Box:
    node = next(node for node in machine.nodes if node.number == number)
    cpus = f"CPUs {node.cpus}" if node.cpus else "no CPUs" if node.cpus == "" else "CPUs unknown"
    memory = node.memory_bytes
    mine = [device for device in shown if all_of_it or device.numa_node == number]
    return Box(
        role="node", title=f"NUMA node {number}",
        lines=(cpus, "memory unknown" if memory is None else f"{format_bytes(memory)} memory"),
        boxes=tuple(_branch_boxes(_grow(mine), machine, names)),
    )  # fmt: skip


def _grow(devices: list[PciDevice]) -> _Branch:
    """The branches on which the devices hang."""
    root = _Branch()
    for device in devices:
        branch = root
        for bridge in device.above:
            branch = branch.below.setdefault(bridge, _Branch())
        branch.devices.append(device)
    return root


def _branch_boxes(branch: _Branch, machine: Machine, names: dict[str, Box]) -> list[Box]:
    """Boxes of a branch; a bridge with one thing below it is left out."""
    boxes = [names[device.address] for device in branch.devices]
    for address, lower in branch.below.items():
        inside = _branch_boxes(lower, machine, names)
        if len(inside) == 1:
            boxes += inside
        else:
            bridge = next((one for one in machine.pci if one.address == address), None)
            link = f"link {bridge.link}" if bridge and bridge.link else "link unknown"
            title = f"PCIe bridge {address}"
            boxes.append(Box(role="bridge", title=title, lines=(link,), boxes=tuple(inside)))
    return boxes


def _names(machine: Machine) -> dict[str, Box]:
    """PCI address -> box, of every device that is worth drawing."""
    boxes: dict[str, Box] = {}
    for device in machine.pci:
        if device.kind in ("nvme", "storage"):
            drives = [one for one in machine.drives if one.pci_address == device.address]
            whole = [one for one in drives if not one.below]
            if whole or device.kind == "nvme":
                boxes[device.address] = _drive_box(device, whole)
        elif device.kind == "network":
            boxes[device.address] = _network_box(machine, device)
    for gpu in machine.gpus:
        if gpu.pci_address is not None:
            memory = (
                "memory unknown" if gpu.memory_bytes is None else format_bytes(gpu.memory_bytes)
            )
            boxes[gpu.pci_address] = Box(
                role="gpu", title=f"GPU {gpu.index}", lines=(
                    gpu.name or "name unknown", memory,
                    f"link {gpu.link}" if gpu.link else "link unknown",
                ),
            )  # fmt: skip
    return boxes


def _drive_box(device: PciDevice, drives: list[Drive]) -> Box:
    """One drive by name, many behind one controller by their number."""
    link = f"link {device.link}" if device.link else "link unknown"
    if len(drives) == 1:
        return Box(role="drive", title=drives[0].name, lines=(_drive_words(drives[0]), link))
    if not drives:
        return Box(role="drive", title=f"NVMe {device.address}", lines=(link,))
    return Box(
        role="drive", title=f"controller {device.address}",
        lines=tuple(f"{one.name}: {_drive_words(one)}" for one in drives),
    )  # fmt: skip


def _drive_words(drive: Drive) -> str:
    size = "size unknown" if drive.size_bytes is None else format_bytes(drive.size_bytes)
    kinds = {"nvme": "NVMe", "virtual": "virtual disk", "memory": "persistent memory"}
    kind = kinds.get(drive.kind, "hard disk" if drive.is_rotating else "disk")
    return f"{kind}, {size}"


def _network_box(machine: Machine, device: PciDevice) -> Box:
    lines = [
        f"{port.device}: {port.layer} {'up' if port.is_active else port.state or 'unknown'}"
        + (f", {port.bits_per_second / 1e9:g} Gb/s" if port.bits_per_second else "")
        for port in machine.rdma
        if port.pci_address == device.address
    ]
    lines += [
        f"{one.name}: {_up(one.is_up)}"
        + (f", {one.bits_per_second / 1e9:g} Gb/s" if one.bits_per_second else "")
        for one in machine.interfaces
        if one.pci_address == device.address
    ]
    return Box(role="network", title=f"network {device.address}", lines=tuple(lines))


def _up(is_up: bool | None) -> str:
    return {True: "up", False: "down", None: "unknown"}[is_up]


def _elsewhere(machine: Machine, names: dict[str, Box]) -> list[Box]:
    """GPUs and drives that hang on no PCI device that is to be seen, and arrays."""
    boxes = [
        Box(
            role="gpu", title=f"GPU {gpu.index}", lines=(gpu.name or "name unknown",)
        )
        for gpu in machine.gpus if gpu.pci_address is None
    ]  # fmt: skip
    boxes += [
        Box(role="drive", title=drive.name, lines=(_drive_words(drive),))
        for drive in machine.drives
        if not drive.below and drive.pci_address not in names
    ]
    boxes += [
        Box(
            role="drive", title=raid.name,
            lines=(f"{raid.level or 'level unknown'} of {', '.join(raid.members) or 'nothing'}",
                   raid.state or "state unknown"),
        )
        for raid in machine.raids
    ]  # fmt: skip
    return boxes


def _gpu_links(machine: Machine) -> list[str]:
    """What joins every two GPUs; where all are alike one sentence is enough."""
    linked = [gpu for gpu in machine.gpus if gpu.nvlinks]
    if linked and all(link.to_switch for gpu in linked for link in gpu.nvlinks or []):
        counts = sorted({len(gpu.nvlinks or []) for gpu in linked})
        each = " or ".join(map(str, counts))
        return [f"{len(linked)} GPUs joined by NVSwitch, {each} NVLinks each"]
    addresses = {gpu.pci_address: gpu.index for gpu in machine.gpus}
    counted: dict[tuple[int, int], int] = {}
    for gpu in linked:
        for link in gpu.nvlinks or []:
            other = addresses.get(link.remote)
            if other is not None and gpu.index < other:
                counted[gpu.index, other] = counted.get((gpu.index, other), 0) + 1
    lines = [f"GPU {one} - GPU {two}: {count} NVLinks" for (one, two), count in counted.items()]
    lines += [
        f"GPU {pair.first} - GPU {pair.second}: PCI Express, {pair.ancestor}"
        for pair in machine.gpu_pairs
        if (pair.first, pair.second) not in counted and pair.ancestor
    ]
    return lines
