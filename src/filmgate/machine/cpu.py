"""Processors: how many, how they are built, and whether they are a virtual machine's.

Sources: /proc/cpuinfo, and /sys/devices/system/cpu as sysfs-devices-system-cpu in the kernel's
ABI documentation describes it.
"""

from __future__ import annotations

import re

from filmgate.machine.facts import Facts, Gaps
from filmgate.machine.tree import Tree
from filmgate.work.numa import parse_cpu_list

CPUS = "sys/devices/system/cpu"


class Cpu(Facts, frozen=True, kw_only=True):
    """The processors of a machine, whoever may use them."""

    model: str | None
    """As the kernel tells it."""
    num_cpus: int | None
    """Hardware threads that are online."""
    num_cores: int | None
    """Physical cores among them."""
    num_sockets: int | None
    """Processor packages."""
    governor: str | None
    """How the first processor's clock is governed."""
    is_virtual_machine: bool | None
    """Whether a hypervisor lies below; x86 processors tell it, others do not."""


def read_cpu(tree: Tree) -> Cpu:
    """The processors; never raises."""
    gaps = Gaps()
    info = gaps.take("model", lambda: tree.text("proc/cpuinfo")) or ""
    model = re.search(r"^(?:model name|cpu model|Model)\s*:\s*(\S.*)$", info, re.MULTILINE)
    if info and not model:
        gaps.note("model", "/proc/cpuinfo names no model on this kind of processor")
    cpus = gaps.take("num_cpus", lambda: online_cpus(tree))
    cores = gaps.take("num_cores", lambda: _places(tree, cpus or frozenset()))
    if cores is None:
        gaps.note("num_sockets", gaps.reasons["num_cores"])
    virtual = is_virtual(info)
    if virtual is None:
        gaps.note("is_virtual_machine", "/proc/cpuinfo has no x86 flags that would tell")
    return Cpu(
        model=model.group(1).strip() if model else None,
        num_cpus=len(cpus) if cpus else None,
        num_cores=len(set(cores)) if cores else None,
        num_sockets=len({socket for socket, _ in cores}) if cores else None,
        governor=gaps.take(
            "governor", lambda: tree.text(f"{CPUS}/cpu{min(cpus or [0])}/cpufreq/scaling_governor")
        ),
        is_virtual_machine=virtual,
        unknown=gaps.reasons,
    )


def online_cpus(tree: Tree) -> frozenset[int]:
    """Numbers of the hardware threads that are online. Raises OSError or ValueError."""
    try:
        cpus = parse_cpu_list(tree.text(f"{CPUS}/online"))
    except OSError:
        info = tree.text("proc/cpuinfo")
        cpus = frozenset(map(int, re.findall(r"^processor\s*:\s*(\d+)$", info, re.MULTILINE)))
    if not cpus:
        raise ValueError("neither /sys nor /proc/cpuinfo lists processors")
    return cpus


def _places(tree: Tree, cpus: frozenset[int]) -> list[tuple[int, str]]:
    """(socket, core) of each processor; a core is named by the threads that share it."""
    if not cpus:
        raise ValueError("which processors are online is not known")
    places = []
    for cpu in sorted(cpus):
        folder = f"{CPUS}/cpu{cpu}/topology"
        shared = next(
            (name for name in ("core_cpus", "thread_siblings") if tree.has(f"{folder}/{name}")),
            "core_cpus",
        )
        places.append(
            (tree.number(f"{folder}/physical_package_id"), tree.text(f"{folder}/{shared}"))
        )
    return places


def is_virtual(info: str) -> bool | None:
    """Whether /proc/cpuinfo tells of a hypervisor below; None where it has no x86 flags."""
    flags = re.search(r"^flags\s*:\s*(.+)$", info, re.MULTILINE)
    return None if flags is None else "hypervisor" in flags.group(1).split()
