"""Network interfaces. Source: sysfs-class-net in the kernel's ABI documentation."""

from __future__ import annotations

import re

from filmgate.machine.facts import Facts, Gaps
from filmgate.machine.tree import Tree

NET = "sys/class/net"
_PCI = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]")


class Interface(Facts, frozen=True, kw_only=True):
    """One network interface."""

    name: str
    """``eth0``."""
    is_up: bool | None
    """Whether its link is up."""
    bits_per_second: int | None
    """Speed of the link; a guest's interface has none."""
    mtu_bytes: int | None
    """Largest packet."""
    driver: str | None
    """Kernel driver."""
    is_virtual: bool
    """Whether it is made of software: bridge, bond, container; not a guest's own card."""
    pci_address: str | None
    """PCI device that it is."""
    lossless_priorities: list[int] | None
    """Priorities with PFC; empty: none."""


def read_interfaces(tree: Tree) -> list[Interface]:
    """All but the loopback, by name."""
    names = [name for name in tree.names(NET) if name != "lo"]
    return [_read(tree, name) for name in names if tree.has(f"{NET}/{name}/mtu")]


def _read(tree: Tree, name: str) -> Interface:
    gaps, folder = Gaps(), f"{NET}/{name}"
    place = tree.real(folder)
    pci = [part for part in place.split("/") if _PCI.fullmatch(part)]
    if not pci:
        gaps.note("pci_address", "it is no PCI device")
    gaps.note("lossless_priorities", "not asked")
    return Interface(
        name=name,
        is_up=gaps.take("is_up", lambda: _is_up(tree, folder)),
        bits_per_second=gaps.take("bits_per_second", lambda: _speed(tree, folder)),
        mtu_bytes=gaps.take("mtu_bytes", lambda: tree.number(f"{folder}/mtu")),
        driver=_driver(tree, folder),
        is_virtual="/virtual/" in place,
        pci_address=pci[-1] if pci else None,
        lossless_priorities=None,
        unknown=gaps.reasons,
    )


def _is_up(tree: Tree, folder: str) -> bool:
    state = tree.text(f"{folder}/operstate")
    # Drivers that do not tell their state say unknown; then the carrier counts.
    return bool(tree.number(f"{folder}/carrier")) if state == "unknown" else state == "up"


def _speed(tree: Tree, folder: str) -> int:
    megabits = tree.number(f"{folder}/speed")
    if megabits <= 0:
        raise ValueError("the driver tells no speed")
    return megabits * 10**6


def _driver(tree: Tree, folder: str) -> str | None:
    path = f"{folder}/device/driver"
    return tree.real(path).rsplit("/", 1)[-1] if tree.has(path) else None
