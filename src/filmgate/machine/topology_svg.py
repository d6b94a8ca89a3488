"""The topology as SVG: boxes in boxes, each as high as what it holds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape

from filmgate.machine.topology import Box, Topology

PAD, LINE, CHARACTER = 12, 17, 8.2
"""Pixels: around the content of a box; from line to line; of a character in names in capitals."""
MIN_WIDTH = 120
STYLE = """
.box { fill: none; stroke: #8a8a86; }
.node { fill: #f2f1ec; } .bridge { fill: #ffffff; }
.gpu { fill: #e2efe0; stroke: #4b7f48; } .drive { fill: #e4ecf6; stroke: #4a6d9c; }
.network { fill: #f6ecdc; stroke: #9a7434; }
text { font: 13px system-ui, sans-serif; fill: #1c1c1a; } .title { font-weight: 600; }
"""


@dataclass(frozen=True, kw_only=True)
class _Placed:
    """A box with its size, its inner boxes at their place inside it."""

    box: Box
    width: float
    height: float
    inner: tuple[tuple[float, float, _Placed], ...]


def topology_svg(topology: Topology) -> str:
    """A whole ``<svg>``; the same machine gives the same bytes."""
    placed = _place(topology.machine)
    below = placed.height + 2 * PAD
    links_width = max((len(line) for line in topology.links), default=0) * CHARACTER
    width = math.ceil(max(placed.width, links_width) + 2 * PAD)
    height = math.ceil(below + len(topology.links) * LINE + (PAD if topology.links else 0))
    title = escape(f"Topology of {topology.machine.title}")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-label="{title}">',
        f"<title>{title}</title><style>{STYLE}</style>",
        *_draw(placed, PAD, PAD),
    ]
    parts += [
        _text(line, PAD, below + (number + 0.5) * LINE, "")
        for number, line in enumerate(topology.links)
    ]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _place(box: Box) -> _Placed:
    """Size of a box: its text, and below it its inner boxes in rows that make it about square."""
    inner = [_place(one) for one in box.boxes]
    longest = max(len(line) for line in (box.title, *box.lines))
    text_height = LINE * (1 + len(box.lines))
    rows = _rows(inner)
    width, y, at = 0.0, PAD + text_height + PAD / 2, []
    for row in rows:
        x: float = PAD
        for one in row:
            at.append((x, y, one))
            x += one.width + PAD
        width = max(width, x)
        y += max(one.height for one in row) + PAD
    return _Placed(
        box=box,
        width=max(width, longest * CHARACTER + 2 * PAD, MIN_WIDTH),
        height=y if rows else PAD * 2 + text_height,
        inner=tuple(at),
    )


def _rows(boxes: list[_Placed]) -> list[list[_Placed]]:
    """At most as wide as makes their area about twice as wide as high."""
    area = sum((one.width + PAD) * (one.height + PAD) for one in boxes)
    most = max([math.sqrt(2 * area), *(one.width + PAD for one in boxes)], default=0)
    rows: list[list[_Placed]] = []
    used = 0.0
    for one in boxes:
        if not rows or used + one.width + PAD > most:
            rows.append([])
            used = 0.0
        rows[-1].append(one)
        used += one.width + PAD
    return rows


def _draw(placed: _Placed, x: float, y: float) -> list[str]:
    box = placed.box
    parts = [
        f'<rect class="box {box.role}" x="{x:.0f}" y="{y:.0f}" width="{placed.width:.0f}" '
        f'height="{placed.height:.0f}" rx="4"/>',
        _text(box.title, x + PAD, y + PAD + LINE * 0.75, "title"),
    ]
    parts += [
        _text(line, x + PAD, y + PAD + LINE * (number + 1.75), "")
        for number, line in enumerate(box.lines)
    ]
    for inner_x, inner_y, one in placed.inner:
        parts += _draw(one, x + inner_x, y + inner_y)
    return parts


def _text(words: str, x: float, y: float, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.0f}" y="{y:.0f}">{escape(words)}</text>'
