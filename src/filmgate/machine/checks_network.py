"""The checklist's part on the network between nodes that train together."""

from __future__ import annotations

from filmgate.machine.checks_compute import RULES
from filmgate.machine.item import Finding, Status, worst
from filmgate.machine.machine import Machine
from filmgate.machine.needs import Needs
from filmgate.machine.network import Interface
from filmgate.machine.rdma import RdmaPort
from filmgate.machine.thresholds import NETWORK_BITS_PER_SECOND, NETWORK_BITS_PER_SECOND_LEAST


def interconnect(machine: Machine, needs: Needs) -> Finding:
    """The fastest link to the other nodes carries the gradients."""
    if needs.num_nodes == 1:
        return Finding(
            status="not present", evidence="one node: its gradients stay inside",
            next_step="tell --nodes where several train together",
        )  # fmt: skip
    if "interfaces" in machine.unknown:
        return Finding(status="unknown", evidence=machine.unknown["interfaces"])
    links = _links(machine)
    if not links:
        return Finding(
            status="unknown", evidence="no interface that is up tells its speed",
            next_step="ask who runs the network, and attest it",
        )  # fmt: skip
    speed, name = max(links)
    status: Status = "ok" if speed >= NETWORK_BITS_PER_SECOND.value else "warn"
    if speed < NETWORK_BITS_PER_SECOND_LEAST.value:
        status = "fail"
    return Finding(
        status=status, evidence=f"{name} at {speed / 1e9:g} Gb/s", bar_from=RULES,
        bar=f"{NETWORK_BITS_PER_SECOND.value / 1e9:g} Gb/s ({NETWORK_BITS_PER_SECOND.source})",
        next_step="" if status == "ok"
        else "adapters send little; for full fine-tuning shard within a node, or a faster network",
    )  # fmt: skip


def _links(machine: Machine) -> list[tuple[int, str]]:
    """(bit/s, name) of everything that is up and tells its speed."""
    ports = [
        (port.bits_per_second, port.device)
        for port in machine.rdma
        if port.is_active and port.bits_per_second
    ]
    interfaces = [
        (one.bits_per_second, one.name)
        for one in machine.interfaces
        if one.is_up and one.bits_per_second and not one.is_virtual
    ]
    return ports + interfaces


def rdma_ports(machine: Machine, needs: Needs) -> Finding:
    """Nodes that train together have RDMA, and every port of it is up."""
    if "rdma" in machine.unknown:
        return Finding(status="unknown", evidence=machine.unknown["rdma"])
    several = needs.num_nodes > 1
    if not machine.rdma:
        if not several:
            return Finding(status="not present", evidence="no RDMA device, and one node needs none")
        return Finding(
            status="fail", evidence="no RDMA device is to be seen", bar_from=RULES,
            bar="RDMA where several nodes train",
            next_step="InfiniBand or RoCE cards; until then gradients go through the kernel",
        )  # fmt: skip
    return worst([_port(port, several) for port in machine.rdma])


def _port(port: RdmaPort, several: bool) -> Finding:
    name = f"{port.device} port {port.port} ({port.layer})"
    if port.is_active is None:
        return Finding(status="unknown", evidence=f"{name}: {port.why('state')}")
    if not port.is_active:
        step = "look at the cable and at the switch's port"
        if port.state == "INIT":
            step = "the link is up, but no subnet manager answers: start opensm"
        return Finding(
            status="fail" if several else "warn",
            evidence=f"{name} is {port.state}, {port.physical_state}", next_step=step,
        )  # fmt: skip
    errors = {what: count for what, count in port.errors.items() if count}
    if errors:
        counted = ", ".join(f"{what} {count}" for what, count in errors.items())
        return Finding(
            status="warn", evidence=f"{name}: {counted}",
            next_step="reset the counters, and look at them again after a run",
        )  # fmt: skip
    speed = f"{port.bits_per_second / 1e9:g} Gb/s" if port.bits_per_second else "speed unknown"
    return Finding(status="ok", evidence=f"{name} is up, {speed}")


def roce(machine: Machine, needs: Needs) -> Finding:
    """RoCE ports speak version 2, on a network that loses nothing (PFC)."""
    if "rdma" in machine.unknown:
        return Finding(status="unknown", evidence=machine.unknown["rdma"])
    ports = [port for port in machine.rdma if port.layer == "Ethernet" and port.is_active]
    if not ports:
        return Finding(status="not present", evidence="no RoCE port that is up")
    interfaces = {one.name: one for one in machine.interfaces}
    return worst([_roce(port, interfaces, needs.num_nodes > 1) for port in ports])


def _roce(port: RdmaPort, interfaces: dict[str, Interface], several: bool) -> Finding:
    severity: Status = "fail" if several else "warn"
    name = f"{port.device} port {port.port}"
    if port.roce_versions == ["v1"]:
        return Finding(
            status=severity, evidence=f"{name} has addresses of RoCE v1 alone",
            next_step="give its interface an IP address, and use version 2",
        )  # fmt: skip
    mine = [interfaces[one] for one in port.interfaces if one in interfaces]
    if not mine:
        return Finding(status="unknown", evidence=f"{name}: its network interface is not known")
    known = [one for one in mine if one.lossless_priorities is not None]
    if not known:
        return Finding(
            status="unknown", evidence=f"{name}: {mine[0].why('lossless_priorities')}",
            next_step="install iproute2's `dcb`; the switch has to agree as well",
        )  # fmt: skip
    priorities = sorted({number for one in known for number in one.lossless_priorities or []})
    if not priorities:
        return Finding(
            status=severity, evidence=f"{name}: PFC is off for every priority of {known[0].name}",
            next_step=f"`dcb pfc set dev {known[0].name} prio-pfc 3:on`; the switch as well",
        )  # fmt: skip
    return Finding(
        status="ok",
        evidence=f"{name}: PFC for priority {', '.join(map(str, priorities))}",
    )
