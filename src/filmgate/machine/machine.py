"""The whole machine as one record."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from filmgate.machine.bmc import Bmc, read_bmc
from filmgate.machine.cpu import Cpu, read_cpu
from filmgate.machine.drives import Drive, read_drives
from filmgate.machine.facts import Facts
from filmgate.machine.filesystems import NETWORK, Filesystem, read_filesystems, read_mounts
from filmgate.machine.gpu import Gpu, read_gpus
from filmgate.machine.host import Host, read_host
from filmgate.machine.limits import Limits, read_limits
from filmgate.machine.memory import Memory, read_memory
from filmgate.machine.network import Interface, read_interfaces
from filmgate.machine.nodes import Node, read_nodes
from filmgate.machine.nvml import GpuPair, Nvml, read_nvml, without_gpu
from filmgate.machine.pci import PciDevice, read_pci
from filmgate.machine.raid import Raid, read_raids
from filmgate.machine.rdma import RdmaPort, read_rdma
from filmgate.machine.software import Software, read_software
from filmgate.machine.tree import FolderTree, Tree
from filmgate.records import Header

THIS_MACHINE = "this machine"


class Machine(Facts, frozen=True, kw_only=True):
    """What a machine is made of. Nothing in it is measured."""

    header: Header
    origin: str
    """``this machine``, or the capture that it was read from."""
    cpu: Cpu
    """Processors."""
    nodes: list[Node]
    """NUMA nodes."""
    memory: Memory
    """Main memory."""
    pci: list[PciDevice]
    """Devices on PCI, bridges too."""
    gpus: list[Gpu]
    """GPUs by index."""
    gpu_pairs: list[GpuPair]
    """Every two GPUs, where the driver tells what is between them."""
    asked_nvml: bool
    """Whether the NVIDIA driver was asked at all; where not, its silence means nothing."""
    drives: list[Drive]
    """Block devices by name."""
    raids: list[Raid]
    """Arrays that Linux makes."""
    filesystems: list[Filesystem]
    """Mounts that hold files."""
    interfaces: list[Interface]
    """Network interfaces."""
    rdma: list[RdmaPort]
    """Ports that can do RDMA."""
    bmc: Bmc
    """Remote management."""
    limits: Limits
    """What this process may use of it."""
    software: Software
    """Kernel, driver, libraries."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where a machine is read from."""

    name: str
    """``this machine``, or the name of a capture."""
    tree: Tree
    """Its files."""
    host: Host | None
    """Answers to calls; None: nobody asked."""
    nvml: Nvml | None
    """Answers of NVML; None: nobody asked."""


def this_source(tree: Tree | None = None) -> Source:
    """The machine that this runs on, its calls made now."""
    files = tree or FolderTree(Path("/"))
    # A network filesystem is asked for its room as well; a server that is gone costs the deadline.
    points = [
        mount.mount_point
        for mount in read_mounts(files)
        if mount.source.startswith("/") or mount.kind in NETWORK or mount.kind in _ROOMY
    ]
    interfaces = [one.name for one in read_interfaces(files) if not one.is_virtual]
    return Source(
        name=THIS_MACHINE,
        tree=files,
        host=read_host(files, sorted(set(points)), interfaces),
        nvml=read_nvml(),
    )


_ROOMY = ("tmpfs", "zfs", "btrfs", "overlay")


def read_machine(source: Source) -> Machine:
    """Everything that the source tells; what it does not tell is None with a reason."""
    tree, host, nvml = source.tree, source.host, source.nvml
    cpu, drives, devices = read_cpu(tree), read_drives(tree), read_pci(tree)
    unknown = _not_there(tree)
    gpus = read_gpus(nvml, devices)
    if nvml is not None and not gpus and "pci" not in unknown:
        nvml = without_gpu(nvml)
    if not (nvml and nvml.gpus):
        unknown["gpu_pairs"] = nvml.why("gpus") if nvml else "the capture has no NVML"
    return Machine(
        header=Header(schema="filmgate.machine", schema_version=1),
        origin=source.name,
        cpu=cpu,
        nodes=read_nodes(tree),
        memory=read_memory(tree),
        pci=devices,
        gpus=gpus,
        gpu_pairs=nvml.pairs if nvml else [],
        asked_nvml=nvml is not None,
        drives=drives,
        raids=read_raids(tree),
        filesystems=read_filesystems(tree, drives, host),
        interfaces=[_with_priorities(one, host) for one in read_interfaces(tree)],
        rdma=read_rdma(tree),
        bmc=read_bmc(tree, cpu.is_virtual_machine),
        limits=read_limits(tree, host),
        software=read_software(tree, host, nvml),
        unknown=unknown,
    )


def _not_there(tree: Tree) -> dict[str, str]:
    """What a tree without the folder of a subject cannot tell; on a whole one they are there."""
    folders = {
        "pci": ("sys/bus/pci/devices",),
        "drives": ("sys/class/block", "sys/block"),
        "raids": ("sys/class/block", "sys/block"),
        "filesystems": ("proc/self/mountinfo", "proc/mounts"),
        "interfaces": ("sys/class/net",),
        # RDMA has a folder only where it has a driver, so that of the network stands for it.
        "rdma": ("sys/class/infiniband", "sys/class/net"),
    }
    return {
        field: f"/{places[0]} is not there"
        for field, places in folders.items()
        if not any(tree.has(place) for place in places)
    }


def _with_priorities(interface: Interface, host: Host | None) -> Interface:
    """The interface with what ``dcb`` told of it."""
    others = {
        field: why for field, why in interface.unknown.items() if field != "lossless_priorities"
    }
    known = host.lossless_priorities.get(interface.name) if host else None
    if known is not None:
        return replace(interface, lossless_priorities=known, unknown=others)
    why = host.lossless_unknown.get(interface.name, "it was not asked") if host else "not captured"
    return replace(interface, unknown=others | {"lossless_priorities": why})
