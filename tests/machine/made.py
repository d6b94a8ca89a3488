"""Machines that are made up: a tree of /proc and /sys in memory, and the answers of NVML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from filmgate.machine.host import Host, Media, Space
from filmgate.machine.machine import Machine, Source, read_machine
from filmgate.machine.nvml import GpuPair, NvLink, Nvml, NvmlGpu
from filmgate.machine.tree import MemoryTree

GPU, NVME, NETWORK, BRIDGE = "0x030200", "0x010802", "0x020000", "0x060400"
SPEEDS = {1: "2.5", 2: "5.0", 3: "8.0", 4: "16.0", 5: "32.0"}
GIB = 2**30


@dataclass
class MadeMachine:
    """A server with two sockets of 32 cores each, to which parts are added."""

    files: dict[str, bytes] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    mounts: list[str] = field(default_factory=list)
    gpus: list[NvmlGpu] = field(default_factory=list)
    pairs: list[GpuPair] = field(default_factory=list)
    affinity: list[int] = field(default_factory=lambda: list(range(64)))
    pfc: dict[str, list[int]] = field(default_factory=dict)
    space: dict[str, Space] = field(default_factory=dict)

    def write(self, path: str, content: object) -> None:
        """One file, with the newline that the kernel puts at its end."""
        self.files[path] = f"{content}\n".encode()

    def source(self) -> Source:
        self.write("proc/self/mountinfo", "\n".join(self.mounts))
        tree = MemoryTree(self.files, self.links, self.errors, ["sys/class/net", "sys/class/block"])
        nvml = Nvml(driver_version="580.1", cuda_version="13.0", gpus=self.gpus, pairs=self.pairs)
        return Source(name="made", tree=tree, host=self._host(), nvml=nvml)

    def machine(self) -> Machine:
        return read_machine(self.source())

    def _host(self) -> Host:
        return Host(
            affinity=self.affinity,
            open_files=1024,
            locked_bytes=None,
            space={"/dev/shm": Space(total_bytes=64 * GIB, free_bytes=64 * GIB)} | self.space,
            space_unknown={},
            lossless_priorities=self.pfc,
            lossless_unknown={},
            python_version="3.11.0",
            architecture="x86_64",
            packages={},
            media=Media(
                libraries=None, decoders=None, encoders=None, hardware=None, command_version=None
            ),
        )

    def pci(
        self,
        address: str,
        code: str,
        *,
        vendor: str = "0x144d",
        node: int = 0,
        above: Sequence[str] = (),
        link: tuple[int, int] | None = (5, 4),
        most: tuple[int, int] | None = None,
    ) -> str:
        """A device below its bridges; the folder of it."""
        place = "/".join([f"sys/devices/pci{address[:7]}", *above, address])
        self.links[f"sys/bus/pci/devices/{address}"] = f"../../../{place.removeprefix('sys/')}"
        facts: dict[str, object] = {
            "class": code, "vendor": vendor, "device": "0x2330", "numa_node": node,
            "local_cpulist": "0-31" if node == 0 else "32-63",
        }  # fmt: skip
        if link is not None:
            top = most or link
            facts |= {
                "current_link_speed": f"{SPEEDS[link[0]]} GT/s PCIe", "current_link_width": link[1],
                "max_link_speed": f"{SPEEDS[top[0]]} GT/s PCIe", "max_link_width": top[1],
            }  # fmt: skip
        for name, content in facts.items():
            self.write(f"{place}/{name}", content)
        return place

    def block(self, name: str, place: str, number: str, **facts: object) -> None:
        """A block device at a place under sys/devices."""
        folder = f"{place}/{name}"
        self.links[f"sys/class/block/{name}"] = f"../../{folder.removeprefix('sys/')}"
        told = {"dev": number, "size": 2 * 10**9, "queue/rotational": 0} | facts
        for file, content in told.items():
            self.write(f"{folder}/{file}", content)

    def nvme(self, number: int, *, node: int = 0, link: tuple[int, int] = (5, 4)) -> str:
        """One NVMe drive behind its own root port."""
        address, port = f"0000:{0x10 + number:02x}:00.0", f"0000:00:{number + 1:02x}.0"
        self.pci(port, BRIDGE, node=node, link=link, most=(5, 4))
        place = self.pci(address, NVME, node=node, above=[port], link=link, most=(5, 4))
        facts = {"device/model": "SAMSUNG MZWLO3T8", "device/transport": "pcie"}
        self.block(f"nvme{number}n1", f"{place}/nvme/nvme{number}", f"259:{number}", **facts)
        return f"nvme{number}n1"

    def raid(self, members: Sequence[str], level: str = "raid0", **md: object) -> str:
        """md0 of these members."""
        name, place = "md0", "sys/devices/virtual/block"
        told: dict[str, object] = {
            "level": level, "raid_disks": len(members), "array_state": "clean", "chunk_size": 524288
        }  # fmt: skip
        if level != "raid0":
            told |= {"degraded": 0, "sync_action": "idle", "mismatch_cnt": 0}
        facts = {f"md/{file}": content for file, content in (told | md).items()}
        self.block(name, place, "9:0", **facts)
        for member in members:
            self.links[f"{place}/{name}/slaves/{member}"] = f"/sys/class/block/{member}"
        return name

    def mount(self, point: str, device: str, number: str, kind: str = "ext4") -> None:
        count = len(self.mounts) + 20
        self.mounts.append(f"{count} 1 {number} / {point} rw - {kind} {device} rw")

    def gpu(self, *, node: int = 0, link: tuple[int, int] = (5, 16), **told: Any) -> NvmlGpu:
        """An H100 behind a root port of its own; the keywords are what NVML tells otherwise."""
        index = len(self.gpus)
        bus = 0x60 + index
        address, port = f"0000:{bus:02x}:00.0", f"0000:{0x40 + index:02x}:01.0"
        slot = told.pop("slot", (5, 16))
        self.pci(port, BRIDGE, node=node, link=link, most=slot)
        self.pci(address, GPU, vendor="0x10de", node=node, above=[port], link=link, most=(5, 16))
        gpu = nvml_gpu(index, address, pcie_generation=link[0], pcie_width=link[1], **told)
        self.gpus.append(gpu)
        return gpu

    def rdma(self, number: int = 0, *, layer: str = "InfiniBand", state: str = "4: ACTIVE") -> None:
        """A 400 Gb/s port and its network interface."""
        address = f"0000:{0x90 + number:02x}:00.0"
        place = self.pci(address, NETWORK, vendor="0x15b3", link=(5, 16))
        device, port = f"mlx5_{number}", f"{place}/infiniband/mlx5_{number}/ports/1"
        interface = f"{'ib' if layer == 'InfiniBand' else 'eth'}{number}"
        self.links[f"sys/class/infiniband/{device}"] = f"/{place}/infiniband/{device}"
        self.links[f"{place}/infiniband/{device}/device"] = f"/{place}"
        self.links[f"sys/class/net/{interface}"] = f"/{place}/net/{interface}"
        is_up = "ACTIVE" in state
        for name, content in {
            "state": state, "phys_state": "5: LinkUp" if is_up else "2: Polling",
            "rate": "400 Gb/sec (4X NDR)", "link_layer": layer, "counters/symbol_error": 0,
            "counters/link_downed": 0,
        }.items():  # fmt: skip
            self.write(f"{port}/{name}", content)
        if layer == "Ethernet":
            self.write(f"{port}/gid_attrs/types/0", "IB/RoCE v1")
            self.write(f"{port}/gid_attrs/types/1", "RoCE v2")
        for name, content in {
            "mtu": 4096, "operstate": "up" if is_up else "down", "speed": 400_000
        }.items():  # fmt: skip
            self.write(f"{place}/net/{interface}/{name}", content)


def nvml_gpu(index: int, address: str, **told: Any) -> NvmlGpu:
    """A healthy H100 at work, its 18 NVLinks to switches; the keywords say what is otherwise."""
    links = [
        NvLink(number=n, bytes_per_second=25e9, remote="0000:07:00.0", to_switch=True)
        for n in range(18)
    ]
    usual: dict[str, Any] = {
        "index": index, "pci_address": address, "name": "NVIDIA H100 80GB HBM3",
        "memory_bytes": 80 * GIB, "bar1_bytes": 128 * GIB, "compute_capability": "9.0",
        "ecc_enabled": True, "uncorrected_errors": 0, "remap_pending": False,
        "remap_failed": False, "pcie_generation": 5, "pcie_width": 16, "pcie_generation_gpu": 5,
        "pcie_generation_max": 5, "pcie_width_max": 16, "pcie_replays": 0,
        "power_limit_watts": 700.0, "power_limit_default_watts": 700.0, "power_draw_watts": 300.0,
        "temperature_degrees": 50, "performance_state": 0, "utilisation_share": 0.9,
        "throttle_reasons": [], "mig_enabled": False, "nvlinks": links,
    }  # fmt: skip
    return NvmlGpu(**(usual | told))


def made_server(*, memory_bytes: int = 2048 * GIB, dmi: Sequence[int] = (1, 38)) -> MadeMachine:
    """A bare server with two nodes, its system on a SATA disk, and a management controller."""
    made = MadeMachine()
    made.write("proc/cpuinfo", "model name\t: Made Processor\nflags\t\t: fpu sse2")
    made.write("proc/meminfo", f"MemTotal: {memory_bytes // 1024} kB\nSwapTotal: 0 kB")
    made.write("sys/devices/system/cpu/online", "0-63")
    for cpu in range(64):
        topology = f"sys/devices/system/cpu/cpu{cpu}/topology"
        made.write(f"{topology}/physical_package_id", cpu // 32)
        made.write(f"{topology}/core_cpus", f"{1 << cpu:x}")
    for node, cpus in ((0, "0-31"), (1, "32-63")):
        folder = f"sys/devices/system/node/node{node}"
        made.write(f"{folder}/cpulist", cpus)
        made.write(f"{folder}/distance", "10 21" if node == 0 else "21 10")
        made.write(f"{folder}/meminfo", f"Node {node} MemTotal: {memory_bytes // 2048} kB")
    for kind in dmi:
        made.write(f"sys/firmware/dmi/entries/{kind}-0/type", kind)
    made.write("sys/module/nvidia/version", "580.1")
    sata = made.pci("0000:00:1f.2", "0x010601", vendor="0x8086", link=None)
    made.block("sda", f"{sata}/ata1/host0/target0/block", "8:0", **{"device/model": "SSD 870"})
    made.mount("/", "/dev/sda", "8:0")
    return made


def copy_of(source: Source, name: str) -> Source:
    """The same source under another name."""
    return Source(name=name, tree=source.tree, host=source.host, nvml=source.nvml)


def as_json(machine: Machine) -> Any:
    """What two machines are compared by: all but when they were read and from where."""
    told = msgspec.to_builtins(machine)
    return {key: value for key, value in told.items() if key not in ("header", "origin")}
