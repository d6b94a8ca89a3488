"""The topology for a terminal: an ASCII tree."""

from __future__ import annotations

from filmgate.machine.topology import Box, Topology


def topology_text(topology: Topology) -> str:
    """The tree, a line for each box, and what joins the GPUs."""
    machine = topology.machine
    lines = [machine.title, *(f"    {line}" for line in machine.lines)]
    lines += _below(machine.boxes, "")
    if topology.links:
        lines += ["between GPUs", *(f"    {line}" for line in topology.links)]
    return "\n".join(lines) + "\n"


def _below(boxes: tuple[Box, ...], indent: str) -> list[str]:
    lines = []
    for number, box in enumerate(boxes):
        is_last = number == len(boxes) - 1
        lines.append(f"{indent}{'`-- ' if is_last else '|-- '}{_line(box)}")
        lines += _below(box.boxes, indent + ("    " if is_last else "|   "))
    return lines


def _line(box: Box) -> str:
    return f"{box.title}: {', '.join(box.lines)}" if box.lines else box.title
