"""What a sequential read says of the storage, and what a job's loader asks of it."""

from __future__ import annotations

from itertools import pairwise

from filmgate.bench.ask import Trace
from filmgate.machine.measured import Measure
from filmgate.machine.thresholds import READ_HEADROOM
from filmgate.units import format_bytes, format_rate

CLASSES = (
    ("a hard disk", 0.08e9, 0.28e9),
    ("a SATA SSD", 0.4e9, 0.6e9),
    ("a NAS over 10 GbE", 0.9e9, 1.25e9),
    ("a NAS over 25 GbE", 2.3e9, 3.1e9),
    ("one NVMe drive", 5e9, 7e9),
    ("RAID 0 of 4 NVMe drives", 20e9, 25e9),
    ("RAID 0 of 8 NVMe drives", 40e9, 50e9),
)
"""Name, least and most bytes a second that it reads in sequence. NVMe: the rules of the field;
networks: 0.72 to 1 of their line rate; hard disk, SATA: interface and common data sheets."""


def class_words(bytes_per_second: float) -> str:
    """``as fast as one NVMe drive (5 to 7 GB/s)``, or between which two it lies."""
    for name, low, high in CLASSES:
        if low <= bytes_per_second <= high:
            return f"as fast as {name} ({_range(low, high)})"
    if bytes_per_second < CLASSES[0][1]:
        return f"slower than {CLASSES[0][0]} ({_range(*CLASSES[0][1:])})"
    for (below, low_1, high_1), (above, low_2, high_2) in pairwise(CLASSES):
        if high_1 < bytes_per_second < low_2:
            return (
                f"faster than {below} ({_range(low_1, high_1)}), slower than {above} "
                f"({_range(low_2, high_2)})"
            )
    return f"faster than {CLASSES[-1][0]} ({_range(*CLASSES[-1][1:])})"


def demand_words(trace: Trace, replayed: Measure | None) -> list[str]:
    """What the loader reads for a clip, how many clips that allows, and whether it is enough."""
    said = [f"{trace.says}: a clip takes {format_bytes(trace.bytes_per_clip)} of reads"]
    wanted = trace.demand_clips_per_second
    if replayed is None:
        return said
    clips = replayed.median / trace.bytes_per_clip
    said.append(
        f"the loader's reads come at {format_bytes(replayed.median)}/s, enough for "
        f"{format_rate(clips, 'clips')} as long as nothing else is slower"
    )
    if wanted is None:
        return [*said, "what training takes was not told: give --step-ms"]
    asked = format_bytes(wanted * trace.bytes_per_clip)
    times = clips / wanted
    verdict = "enough" if times >= READ_HEADROOM.value else "too little"
    if 1 <= times < READ_HEADROOM.value:
        verdict = f"just enough, with less than {READ_HEADROOM.value:g} times as headroom"
    return [
        *said,
        f"training takes {format_rate(wanted, 'clips')}, that is {asked}/s; the storage gives "
        f"{times:.3g} times that: {verdict}",
    ]


def _range(low: float, high: float) -> str:
    return f"{low / 1e9:.3g} to {high / 1e9:.3g} GB/s"
