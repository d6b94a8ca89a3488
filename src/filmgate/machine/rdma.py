"""Ports that can do RDMA: InfiniBand and RoCE.

Source: sysfs-class-infiniband in the kernel's ABI documentation.
"""

from __future__ import annotations

import re

from filmgate.machine.facts import Facts, Gaps
from filmgate.machine.tree import Tree

RDMA = "sys/class/infiniband"
ERROR_COUNTERS = ("symbol_error", "link_downed", "port_rcv_errors", "port_xmit_discards")
_PCI = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]")
_MAX_GIDS = 16


class RdmaPort(Facts, frozen=True, kw_only=True):
    """One port of an RDMA device."""

    device: str
    """``mlx5_0``."""
    port: int
    """Counts from 1."""
    is_active: bool | None
    """Whether it can carry traffic."""
    state: str | None
    """``ACTIVE``, ``DOWN``, ``INIT`` (no subnet manager)."""
    physical_state: str | None
    """``LinkUp``, ``Polling`` (no cable, or nobody at its other end), ``Disabled``."""
    bits_per_second: int | None
    """Rate of the link as the port tells it; that of a port that is down means nothing."""
    layer: str | None
    """``InfiniBand``, or ``Ethernet``, that is RoCE."""
    roce_versions: list[str] | None
    """``v1``, ``v2`` that its addresses are made for; empty for InfiniBand."""
    interfaces: list[str]
    """Network interfaces of the same PCI device."""
    pci_address: str | None
    """PCI device that it is."""
    errors: dict[str, int]
    """Counter -> events since the start, of those that can be read."""


def read_rdma(tree: Tree) -> list[RdmaPort]:
    """All ports by device and number; none where there is no RDMA device."""
    return [
        _read_port(tree, device, int(port))
        for device in tree.names(RDMA)
        for port in sorted(tree.names(f"{RDMA}/{device}/ports"), key=lambda name: name.zfill(4))
        if port.isdigit()
    ]


def _read_port(tree: Tree, device: str, port: int) -> RdmaPort:
    gaps, folder = Gaps(), f"{RDMA}/{device}/ports/{port}"
    state = gaps.take("state", lambda: _word(tree.text(f"{folder}/state")))
    if state is None:
        gaps.note("is_active", gaps.reasons["state"])
    layer = gaps.take("layer", lambda: tree.text(f"{folder}/link_layer"))
    pci = [part for part in tree.real(f"{RDMA}/{device}").split("/") if _PCI.fullmatch(part)]
    return RdmaPort(
        device=device,
        port=port,
        is_active=None if state is None else state == "ACTIVE",
        state=state,
        physical_state=gaps.take(
            "physical_state", lambda: _word(tree.text(f"{folder}/phys_state"))
        ),
        bits_per_second=gaps.take("bits_per_second", lambda: _rate(tree.text(f"{folder}/rate"))),
        layer=layer,
        roce_versions=_roce_versions(tree, folder) if layer == "Ethernet" else [],
        interfaces=tree.names(f"{RDMA}/{device}/device/net"),
        pci_address=pci[-1] if pci else None,
        errors=_errors(tree, f"{folder}/counters"),
        unknown=gaps.reasons,
    )


def _word(text: str) -> str:
    """``4: ACTIVE`` without its number."""
    return text.split(":")[-1].strip()


def _rate(text: str) -> int:
    """``400 Gb/sec (4X NDR)`` in bit/s."""
    found = re.match(r"([\d.]+) Gb/sec", text)
    if found is None:
        raise ValueError(f"the port tells its rate as {text!r}")
    return int(float(found.group(1)) * 10**9)


def _roce_versions(tree: Tree, folder: str) -> list[str]:
    """What the first addresses are for; unused ones cannot be read."""
    found = set()
    for index in range(_MAX_GIDS):
        try:
            said = tree.text(f"{folder}/gid_attrs/types/{index}")
        except OSError:
            continue
        found.add("v2" if "v2" in said else "v1")
    return sorted(found)


def _errors(tree: Tree, folder: str) -> dict[str, int]:
    found = {}
    for name in ERROR_COUNTERS:
        try:
            found[name] = tree.number(f"{folder}/{name}")
        except (OSError, ValueError):
            continue
    return found
