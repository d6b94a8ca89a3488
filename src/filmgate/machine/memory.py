"""Main memory: how much, what is free of it, and whether it reports errors."""

from __future__ import annotations

import re

from filmgate.machine.facts import Facts, Gaps
from filmgate.machine.tree import Tree

EDAC = "sys/devices/system/edac/mc"


class Memory(Facts, frozen=True, kw_only=True):
    """Main memory of the machine; what this process may use of it stands in the limits."""

    total_bytes: int | None
    """As the kernel has it, a little less than is built in."""
    available_bytes: int | None
    """What programs could still take when it was read."""
    swap_bytes: int | None
    """Swap space; 0: none."""
    corrected_errors: int | None
    """ECC errors that were corrected since the start (EDAC)."""
    uncorrected_errors: int | None
    """ECC errors that were not."""


def read_memory(tree: Tree) -> Memory:
    """Main memory; never raises."""
    gaps = Gaps()
    text = gaps.take("total_bytes", lambda: tree.text("proc/meminfo")) or ""
    total = gaps.take("total_bytes", lambda: _field(text, "MemTotal")) if text else None
    return Memory(
        total_bytes=total,
        available_bytes=gaps.take("available_bytes", lambda: _field(text, "MemAvailable")),
        swap_bytes=gaps.take("swap_bytes", lambda: _field(text, "SwapTotal")),
        corrected_errors=gaps.take("corrected_errors", lambda: _errors(tree, "ce_count")),
        uncorrected_errors=gaps.take("uncorrected_errors", lambda: _errors(tree, "ue_count")),
        unknown=gaps.reasons,
    )


def _field(text: str, name: str) -> int:
    found = re.search(rf"^{name}:\s*(\d+) kB", text, re.MULTILINE)
    if found is None:
        raise ValueError(f"/proc/meminfo has no {name}")
    return int(found.group(1)) * 1024


def _errors(tree: Tree, name: str) -> int:
    controllers = [one for one in tree.names(EDAC) if re.fullmatch(r"mc\d+", one)]
    if not controllers:
        raise ValueError(f"/{EDAC} has no memory controller (no ECC, no driver, or a guest)")
    return sum(tree.number(f"{EDAC}/{one}/{name}") for one in controllers)
