"""Which cores are near a GPU, as the kernel tells it under /sys.

Sources: sysfs-bus-pci (``numa_node``: -1 where the firmware does not tell) and
sysfs-devices-node (``cpulist``) in the kernel's ABI documentation.
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

SYSROOT = Path("/sys")
MAX_CPU = 65_535
"""Above what any kernel is built for (NR_CPUS is 8192 at most today)."""


@dataclass(frozen=True, kw_only=True)
class NearCores:
    """Where a rank's workers run."""

    node: int | None
    """NUMA node of the GPU; None where nothing is bound."""
    cores: frozenset[int] | None
    """Cores of that node that the process may use; None: all that it may use."""
    why: str
    """Where it comes from, or why nothing is bound."""


def cores_near(pci_address: str, allowed: AbstractSet[int], sysroot: Path = SYSROOT) -> NearCores:
    """The cores of the NUMA node that a PCI device hangs on; ``0000:65:00.0`` names it.

    ``allowed`` are those that the process may use. Nothing is bound when the kernel does not tell
    the node, when there is only one, or when the process may use none of its cores.
    """
    nodes = sorted((sysroot / "devices/system/node").glob("node[0-9]*"))
    if len(nodes) < 2:
        return _unbound("the machine has one NUMA node" if nodes else "no NUMA node in /sys")
    node = _read_node(sysroot / "bus/pci/devices" / pci_address.lower() / "numa_node")
    if node is None:
        return _unbound(f"the kernel does not tell the NUMA node of {pci_address}")
    cores = _read_cores(sysroot / f"devices/system/node/node{node}/cpulist") & allowed
    if not cores:
        return _unbound(f"the process may use no core of NUMA node {node}, near {pci_address}")
    return NearCores(node=node, cores=cores, why=f"NUMA node {node} is near GPU {pci_address}")


def _unbound(why: str) -> NearCores:
    return NearCores(node=None, cores=None, why=why)


def _read_node(path: Path) -> int | None:
    try:
        node = int(path.read_text())
    except (OSError, ValueError):
        return None
    return node if node >= 0 else None


def _read_cores(path: Path) -> frozenset[int]:
    """``0-3,8-11`` as numbers; none where the file is missing or no such list."""
    try:
        return parse_cpu_list(path.read_text())
    except (OSError, ValueError):
        return frozenset()


def parse_cpu_list(text: str) -> frozenset[int]:
    """``0-3,8-11`` as numbers; none for an empty list.

    Raises ValueError for a number that no kernel gives a CPU.
    """
    spans = re.findall(r"(\d+)(?:-(\d+))?", text)
    if any(int(high or low) > MAX_CPU for low, high in spans):
        raise ValueError(f"{text[:40]!r} is no list of CPUs")
    return frozenset(core for low, high in spans for core in range(int(low), int(high or low) + 1))
