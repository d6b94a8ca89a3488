"""The checklist's part on nearness: CPUs, drives and GPUs on the same NUMA nodes."""

from __future__ import annotations

from filmgate.machine.checks_compute import no_gpu
from filmgate.machine.checks_data import place_or_finding
from filmgate.machine.gpu import Gpu
from filmgate.machine.item import Finding, worst
from filmgate.machine.machine import Machine
from filmgate.machine.needs import Needs
from filmgate.work.numa import parse_cpu_list

ONE_NODE = "the machine has one NUMA node"


def near_gpu(machine: Machine, needs: Needs) -> Finding:
    """The process may run on the CPUs of every GPU's own NUMA node."""
    if not machine.gpus:
        return no_gpu(machine)
    if len(machine.nodes) == 1:
        return Finding(status="ok", evidence=ONE_NODE)
    return worst([_near(gpu, machine) for gpu in machine.gpus])


def _near(gpu: Gpu, machine: Machine) -> Finding:
    name, allowed = f"GPU {gpu.index}", machine.limits.cpus
    if allowed is None or gpu.near_cpus is None or gpu.numa_node is None:
        field = "near_cpus" if gpu.near_cpus is None else "numa_node"
        why = machine.limits.why("cpus") if allowed is None else gpu.why(field)
        return Finding(status="unknown", evidence=f"{name}: {why}")
    near = parse_cpu_list(gpu.near_cpus) & set(allowed)
    words = f"{name} on node {gpu.numa_node}, {len(near)} of its CPUs allowed"
    if near:
        return Finding(status="ok", evidence=words)
    return Finding(
        status="warn", evidence=f"{words}: every batch crosses the sockets",
        next_step=f"start it with `numactl --cpunodebind={gpu.numa_node}`, or change the cpuset",
    )  # fmt: skip


def near_storage(machine: Machine, needs: Needs) -> Finding:
    """The dataset's drives hang on NUMA nodes that have GPUs."""
    if not machine.gpus:
        return no_gpu(machine)
    if len(machine.nodes) == 1:
        return Finding(status="ok", evidence=ONE_NODE)
    place = place_or_finding(machine, needs.dataset, "--dataset")
    if isinstance(place, Finding):
        return place
    if place.filesystem.is_network:
        return Finding(status="not present", evidence="the dataset lies on another machine")
    nodes = {device.address: device.numa_node for device in machine.pci}
    found = {drive.name: nodes.get(drive.pci_address or "") for drive in place.drives}
    with_gpu = {gpu.numa_node for gpu in machine.gpus if gpu.numa_node is not None}
    if not found or not with_gpu or None in found.values():
        return Finding(
            status="unknown", evidence="which nodes drives and GPUs hang on is not to be seen"
        )
    words = ", ".join(f"{name} on node {node}" for name, node in found.items())
    seen = f"{words}; GPUs on node {', '.join(map(str, sorted(with_gpu)))}"
    if with_gpu & set(found.values()):
        return Finding(status="ok", evidence=seen)
    return Finding(
        status="warn", evidence=f"{seen}: every read crosses the sockets",
        next_step="move drives or GPUs to slots of the other socket",
    )  # fmt: skip
