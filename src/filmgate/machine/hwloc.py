"""A machine from hwloc's XML (``lstopo machine.xml``): what that format tells, and no more.

Source: hwloc 2 and 3, "Importing and exporting topologies from/to XML files"; sizes in bytes,
``pci_link_speed`` in GB/s, NVLinkBandwidth in MB/s each way.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from msgspec.structs import replace

from filmgate.errors import UserError
from filmgate.machine.bmc import Bmc
from filmgate.machine.cpu import Cpu
from filmgate.machine.gpu import Gpu
from filmgate.machine.limits import Limits
from filmgate.machine.machine import Machine
from filmgate.machine.memory import Memory
from filmgate.machine.nodes import Node
from filmgate.machine.nvml import NvLink
from filmgate.machine.pci import PciDevice, kind_of
from filmgate.machine.software import Software
from filmgate.records import Header

NOT_TOLD = "hwloc's XML does not tell"
NO_LINK = "hwloc's XML tells a speed, neither generation nor width"
Element = ElementTree.Element


@dataclass
class _Found:
    """What a walk over the objects gathers."""

    nodes: list[Node]
    devices: list[PciDevice]
    gpus: list[tuple[str, str | None]]
    """PCI address and name of each GPU."""
    address_of: dict[str, str]
    """hwloc's own name of an object, ``OSDev:802`` -> PCI address."""


def read_hwloc(path: Path) -> Machine:
    """The machine in an hwloc XML file. Raises UserError for anything else."""
    try:
        root = ElementTree.parse(path).getroot()
    except FileNotFoundError:
        raise UserError(f"{path} does not exist", hint="make one with: lstopo FILE.xml") from None
    except (OSError, ElementTree.ParseError) as error:
        raise _no_topology(path, str(error)) from None
    machine = root.find("object[@type='Machine']")
    if machine is None:
        raise _no_topology(path, "it has no Machine object")
    found = _Found(nodes=[], devices=[], gpus=[], address_of={})
    _walk(machine, found, [], None)
    return _machine(path, root, machine, found)


def _no_topology(path: Path, why: str) -> UserError:
    return UserError(f"{path} is no hwloc XML: {why}", hint="`lstopo machine.xml` writes one")


def _walk(element: Element, found: _Found, above: list[str], node: int | None) -> None:
    """Gather what stands below an object; bridges above and the NUMA node are handed down."""
    node = _node_of(element, node, found)
    for child in element.findall("object"):
        kind = child.get("type", "")
        address = child.get("pci_busid")
        if address is not None:
            found.devices.append(_device(child, address, above, node))
            found.address_of[f"{kind}:{child.get('gp_index')}"] = address
        if kind == "OSDev":
            _note_device(child, above[-1] if above else None, found)
        _walk(child, found, [*above, address] if address else above, node)


def _node_of(element: Element, node: int | None, found: _Found) -> int | None:
    """The NUMA node that hangs on this object, and so holds for what is below it."""
    for child in element.findall("object[@type='NUMANode']"):
        node = int(child.get("os_index", "0"))
        memory = child.get("local_memory")
        found.nodes.append(
            Node(
                number=node,
                cpus=_cpu_list(child.get("cpuset")),
                memory_bytes=int(memory) if memory else None,
                distances=None,
                unknown={} if memory else {"memory_bytes": NOT_TOLD},
            )
        )
    return node


def _device(element: Element, address: str, above: list[str], node: int | None) -> PciDevice:
    told = re.match(r"([0-9a-f]{4}) \[([0-9a-f]{4}):([0-9a-f]{4})\]", element.get("pci_type", ""))
    code, vendor, device = told.groups() if told else ("", None, None)
    vendor = f"0x{vendor}" if vendor else None
    unknown = dict.fromkeys(("near_cpus", "errors_fatal", "errors_corrected"), NOT_TOLD)
    unknown |= dict.fromkeys(("link", "link_max", "link_from"), NO_LINK)
    return PciDevice(
        address=address,
        kind=kind_of(f"0x{code}00", vendor),
        vendor=vendor,
        device=f"0x{device}" if device else None,
        numa_node=node,
        near_cpus=None,
        link=None,
        link_max=None,
        link_from=None,
        above=list(above),
        root=f"pci{address[:7]}",
        errors_fatal=None,
        errors_corrected=None,
        unknown=unknown if node is not None else unknown | {"numa_node": NOT_TOLD},
    )


def _note_device(element: Element, address: str | None, found: _Found) -> None:
    """A device as the operating system names it: ``nvml0``, ``cuda0``, ``nvme0n1``, ``mlx5_0``."""
    if address is None:
        return
    found.address_of[f"OSDev:{element.get('gp_index')}"] = address
    name = element.get("name", "")
    if name.startswith(("nvml", "cuda", "rsmi")) and address not in dict(found.gpus):
        found.gpus.append((address, _info(element, "GPUModel")))


def _info(element: Element, name: str) -> str | None:
    told = element.find(f"info[@name='{name}']")
    return None if told is None else told.get("value")


def _machine(path: Path, root: Element, machine: Element, found: _Found) -> Machine:
    packages = list(machine.iter("object"))
    count = {kind: sum(one.get("type") == kind for one in packages) for kind in _COUNTED}
    model = next((said for one in packages if (said := _info(one, "CPUModel"))), None)
    nodes = _with_distances(root, sorted(found.nodes, key=lambda node: node.number))
    memory = [node.memory_bytes for node in nodes]
    total = sum(size for size in memory if size) if all(memory) and memory else None
    vendor, product = _info(machine, "DMIBoardVendor"), _info(machine, "DMIProductName")
    return Machine(
        header=Header(schema="filmgate.machine", schema_version=1),
        origin=path.name,
        cpu=Cpu(
            model=model,
            num_cpus=count["PU"] or None,
            num_cores=count["Core"] or None,
            num_sockets=count["Package"] or None,
            governor=None,
            is_virtual_machine=None,
            unknown=dict.fromkeys(("governor", "is_virtual_machine"), NOT_TOLD),
        ),
        nodes=nodes,
        memory=Memory(
            total_bytes=total,
            available_bytes=None,
            swap_bytes=None,
            corrected_errors=None,
            uncorrected_errors=None,
            unknown=dict.fromkeys(
                ("available_bytes", "swap_bytes", "corrected_errors", "uncorrected_errors"),
                NOT_TOLD,
            ),
        ),
        pci=sorted(found.devices, key=lambda device: device.address),
        gpus=_gpus(root, found),
        gpu_pairs=[],
        asked_nvml=False,
        drives=[],
        raids=[],
        filesystems=[],
        interfaces=[],
        rdma=[],
        bmc=Bmc(
            is_there=None,
            evidence=None,
            product=product or vendor,
            unknown={"is_there": NOT_TOLD},
        ),
        limits=_LIMITS,
        software=_SOFTWARE,
        unknown=dict.fromkeys(
            ("gpu_pairs", "drives", "raids", "filesystems", "interfaces", "rdma"), NOT_TOLD
        ),
    )


_COUNTED = ("Package", "Core", "PU")
_LIMITS = Limits(
    cpus=None,
    quota_cores=None,
    usable_cores=None,
    memory_bytes=None,
    shared_memory_bytes=None,
    open_files=None,
    locked_bytes=None,
    unknown=dict.fromkeys(Limits.__struct_fields__[1:], NOT_TOLD),
)
_SOFTWARE = Software(
    kernel=None,
    architecture=None,
    driver_version=None,
    cuda_version=None,
    python_version=None,
    packages={},
    media=None,
    peer_memory=None,
    direct_storage=None,
    unknown=dict.fromkeys(Software.__struct_fields__[1:], NOT_TOLD),
)


def _with_distances(root: Element, nodes: list[Node]) -> list[Node]:
    table = root.find("distances2[@name='NUMALatency']")
    values = _numbers(table) if table is not None else []
    size = len(nodes)
    if len(values) != size * size:
        return [replace(node, unknown=node.unknown | {"distances": NOT_TOLD}) for node in nodes]
    return [
        replace(node, distances=values[row * size : (row + 1) * size])
        for row, node in enumerate(nodes)
    ]


def _gpus(root: Element, found: _Found) -> list[Gpu]:
    devices = {device.address: device for device in found.devices}
    links = _nvlinks(root, found)
    return [
        Gpu(
            index=index,
            name=name,
            memory_bytes=None,
            pci_address=address,
            numa_node=devices[address].numa_node if address in devices else None,
            near_cpus=None,
            link=None,
            link_max=None,
            slot_max=None,
            path=None,
            path_at=None,
            nvlinks=None if links is None else links.get(address, []),
            nvml=None,
            unknown=dict.fromkeys(
                ("memory_bytes", "near_cpus", "link_max", "slot_max", "path", "nvml"), NOT_TOLD
            )
            | {"link": NO_LINK}
            | ({"nvlinks": NOT_TOLD} if links is None else {}),
        )
        for index, (address, name) in enumerate(found.gpus)
    ]


def _nvlinks(root: Element, found: _Found) -> dict[str, list[NvLink]] | None:
    """PCI address of a GPU -> its links; one per other end, as hwloc adds up those between two."""
    table = root.find("distances2hetero[@name='NVLinkBandwidth']")
    if table is None:
        return None
    names = " ".join(part.text or "" for part in table.findall("indexes")).split()
    values = _numbers(table)
    if len(values) != len(names) ** 2:
        return None
    gpus = {address for address, _ in found.gpus}
    links: dict[str, list[NvLink]] = {}
    for row, name in enumerate(names):
        address = found.address_of.get(name)
        if address not in gpus or address is None:
            continue
        for column, other in enumerate(names):
            megabytes, remote = values[row * len(names) + column], found.address_of.get(other)
            if megabytes and row != column and remote is not None:
                mine = links.setdefault(address, [])
                mine.append(
                    NvLink(
                        number=len(mine),
                        bytes_per_second=megabytes * 1e6,
                        remote=remote,
                        to_switch=remote not in gpus,
                    )
                )
    return links


def _numbers(table: Element) -> list[int]:
    return [int(word) for part in table.findall("u64values") for word in (part.text or "").split()]


def _cpu_list(mask: str | None) -> str | None:
    """``0x00000003`` or ``0x1,0x00000003`` as ``0-1`` and so on."""
    if not mask or "f...f" in mask:
        return None
    bits = 0
    for part in mask.split(","):
        bits = bits << 32 | int(part or "0", 16)
    cpus = [number for number in range(bits.bit_length()) if bits >> number & 1]
    spans: list[list[int]] = []
    for cpu in cpus:
        if spans and cpu == spans[-1][1] + 1:
            spans[-1][1] = cpu
        else:
            spans.append([cpu, cpu])
    return ",".join(f"{low}-{high}" if high > low else str(low) for low, high in spans)
