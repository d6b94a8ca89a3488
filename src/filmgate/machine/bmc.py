"""Whether the machine has a management controller that works while the machine does not.

Sources: the kernel's IPMI driver (/sys/class/ipmi), and the SMBIOS table: a type 38 structure is
an IPMI device, a type 42 structure a host interface to Redfish (DSP0134).
"""

from __future__ import annotations

import re

from filmgate.machine.facts import Facts
from filmgate.machine.tree import Tree

ENTRIES = "sys/firmware/dmi/entries"


class Bmc(Facts, frozen=True, kw_only=True):
    """Remote management."""

    is_there: bool | None
    """Whether the machine has one."""
    evidence: str | None
    """What tells it."""
    product: str | None
    """Maker and product of the machine, as the firmware tells it."""


def read_bmc(tree: Tree, is_virtual_machine: bool | None) -> Bmc:
    """What can be seen of it from inside; never raises."""
    unknown: dict[str, str] = {}
    is_there, evidence = _find(tree, is_virtual_machine)
    if is_there is None:
        unknown["is_there"] = (
            "no IPMI driver is loaded, and the firmware's table is not to be read; "
            "root may, and `modprobe ipmi_si` finds one that is there"
        )
    product = _product(tree)
    if product is None:
        unknown["product"] = "/sys/class/dmi/id is not there: no firmware table"
    return Bmc(is_there=is_there, evidence=evidence, product=product, unknown=unknown)


def _find(tree: Tree, is_virtual_machine: bool | None) -> tuple[bool | None, str | None]:
    devices = tree.names("sys/class/ipmi")
    if devices:
        return True, f"/sys/class/ipmi has {', '.join(devices)}"
    entries = tree.names(ENTRIES)
    for kind, what in ((38, "an IPMI device"), (42, "a host interface to Redfish")):
        if any(re.fullmatch(rf"{kind}-\d+", name) for name in entries):
            return True, f"the firmware's table names {what} (SMBIOS type {kind})"
    if is_virtual_machine:
        return False, "it is a virtual machine; what manages it is the host's"
    # A table is whole when it holds the system's own entry; some captures keep a part of it.
    if "1-0" in entries:
        return False, "the firmware's table names no management controller"
    return None, None


def _product(tree: Tree) -> str | None:
    words = []
    for name in ("sys_vendor", "product_name"):
        try:
            words.append(tree.text(f"sys/class/dmi/id/{name}"))
        except OSError:
            continue
    return " ".join(word for word in words if word) or None
