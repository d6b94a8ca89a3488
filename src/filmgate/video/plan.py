"""What to decode for a list of frames: runs of packets, each from an entry point.

From the packet at the entry point to that of the last frame wanted of a run everything is decoded,
except pictures that are neither wanted nor referred to. What lies between two runs is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from filmgate.video.table import FrameTable


@dataclass(frozen=True, kw_only=True)
class Run:
    """Frames that are reached by decoding on from one entry point."""

    entry: int
    """Where decoding starts; FIRST_PACKET for the beginning of the file."""
    frames: list[int]
    """Wanted frames, ascending."""
    places: frozenset[int]
    """Their packets."""
    last_place: int
    """The last of them."""
    is_last: bool
    """Whether no other run follows."""


def runs_of(table: FrameTable, wanted: Sequence[int]) -> list[Run]:
    """Runs that together give the ``wanted`` frames, which are distinct and ascending."""
    groups: list[tuple[int, list[int], list[int]]] = []
    entries, packets = table.entry_of_frame[wanted].tolist(), table.packet[wanted].tolist()
    for index, entry, place in zip(wanted, entries, packets, strict=True):
        if not groups or (entry != groups[-1][0] and not _reaches(table, groups[-1], entry)):
            groups.append((entry, [], []))
        groups[-1][1].append(index)
        groups[-1][2].append(place)
    return [
        Run(
            entry=entry,
            frames=frames,
            places=frozenset(places),
            last_place=max(places),
            is_last=number == len(groups) - 1,
        )
        for number, (entry, frames, places) in enumerate(groups)
    ]


def _reaches(table: FrameTable, group: tuple[int, list[int], list[int]], entry: int) -> bool:
    """Whether a run comes by a later entry point anyway."""
    first, _, places = group
    return first < entry and int(table.entries.packet[entry]) <= max(places) + 1
