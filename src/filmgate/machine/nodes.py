"""NUMA nodes: which processors and how much memory lie together, and how far apart they are."""

from __future__ import annotations

import re

from filmgate.machine.facts import Facts, Gaps
from filmgate.machine.tree import Tree

NODES = "sys/devices/system/node"


class Node(Facts, frozen=True, kw_only=True):
    """One NUMA node."""

    number: int
    """As the kernel numbers it."""
    cpus: str | None
    """Its hardware threads as the kernel lists them, ``0-15,64-79``; empty: memory alone."""
    memory_bytes: int | None
    """Memory that is attached to it."""
    distances: list[int] | None
    """To each node in order of number; 10 is local, 20 twice as far."""


def read_nodes(tree: Tree) -> list[Node]:
    """The nodes by number; none where the kernel tells none."""
    numbers = [re.fullmatch(r"node(\d+)", name) for name in tree.names(NODES)]
    return [_read_node(tree, number) for number in sorted(int(hit[1]) for hit in numbers if hit)]


def _read_node(tree: Tree, number: int) -> Node:
    gaps, folder = Gaps(), f"{NODES}/node{number}"
    return Node(
        number=number,
        cpus=gaps.take("cpus", lambda: tree.text(f"{folder}/cpulist")),
        memory_bytes=gaps.take("memory_bytes", lambda: _memory(tree.text(f"{folder}/meminfo"))),
        distances=gaps.take(
            "distances", lambda: [int(word) for word in tree.text(f"{folder}/distance").split()]
        ),
        unknown=gaps.reasons,
    )


def _memory(text: str) -> int:
    found = re.search(r"MemTotal:\s*(\d+) kB", text)
    if found is None:
        raise ValueError("the node's meminfo has no MemTotal")
    return int(found.group(1)) * 1024
