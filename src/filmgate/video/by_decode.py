"""The frame table of a container that cannot be believed: what comes out of the decoder."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from filmgate.video.by_packets import end_of_last, entries_at, seek_targets
from filmgate.video.decoder import Decoder
from filmgate.video.packets import NO_TIME, PacketList, no_packets
from filmgate.video.properties import StreamProperties
from filmgate.video.table import FIRST_PACKET, FrameTable, SeekBy
from filmgate.video.trial import frame_digest, with_tried_entries


@dataclass(frozen=True, kw_only=True)
class DecodedTable:
    """A table made by decoding everything."""

    table: FrameTable
    times_from_rate: bool
    mixed_sizes: bool
    damage: list[str]


@dataclass(kw_only=True)
class _Outputs:
    """What came out, in output order."""

    places: list[int] = field(default_factory=list)
    digests: dict[int, bytes] = field(default_factory=dict)
    shapes: set[tuple[int, int, str]] = field(default_factory=set)
    damaged: list[int] = field(default_factory=list)


def table_by_decoding(
    path: Path, packets: PacketList, properties: StreamProperties
) -> DecodedTable:
    """Decode the whole file, build its table, and find its entry points by trial."""
    outputs = _decode_all(path, _blank_table(properties))
    places = np.array(outputs.places, np.int64)
    pts, from_packets, from_rate = _times(places, packets, properties)
    table = replace(
        _blank_table(properties),
        pts=pts,
        end_ticks=end_of_last(pts, packets, places, properties),
        is_key=packets.is_key[places],
        packet=places.astype(np.int32),
        times_from_packets=from_packets,
    )
    return DecodedTable(
        table=_with_entries(path, table, packets, properties, outputs),
        times_from_rate=from_rate,
        mixed_sizes=len(outputs.shapes) > 1,
        damage=_clauses(outputs.damaged),
    )


def _with_entries(
    path: Path,
    table: FrameTable,
    packets: PacketList,
    properties: StreamProperties,
    outputs: _Outputs,
) -> FrameTable:
    """Entry points by what the demuxer should understand, else by whatever it does."""
    ways: list[SeekBy] = [properties.seek_by, "byte", "dts", "pts"]
    for seek_by in dict.fromkeys(ways):
        places = _candidates(packets, seek_by)
        candidates = entries_at(packets, seek_by, places, np.zeros(len(places), np.int64))
        table = replace(table, entries=candidates, seek_by=seek_by)
        # Some demuxers count times anew after a seek to a byte.
        for check_times in [True, False] if table.times_from_packets else [False]:
            tried = with_tried_entries(
                path,
                replace(table, times_from_packets=check_times),
                outputs.digests,
                outputs.damaged,
                is_intra_only=properties.is_intra_only,
            )
            if tried.access == "seek":
                return tried
    return tried


def _candidates(packets: PacketList, seek_by: SeekBy) -> NDArray[np.int64]:
    """(packets,) places of key frames that a seek of this kind can ask for."""
    target = seek_targets(packets, seek_by)
    can_be_asked = target >= 0 if seek_by == "byte" else target != NO_TIME
    return np.flatnonzero((packets.crc32 != 0) & can_be_asked)


def _clauses(places: list[int]) -> list[str]:
    """Damaged packets in words, runs of them together."""
    clauses: list[str] = []
    for _, run in groupby(enumerate(places), lambda pair: pair[1] - pair[0]):
        members = [place for _, place in run]
        name = (
            f"packet {members[0]}" if len(members) == 1 else f"packets {members[0]}-{members[-1]}"
        )
        clauses.append(f"{name}: decoder error")
    return clauses


def _decode_all(path: Path, table: FrameTable) -> _Outputs:
    decoder, outputs = Decoder(path, table), _Outputs()
    decoder.start(FIRST_PACKET)
    try:
        while not decoder.ended:
            for decoded in decoder.step():
                frame = decoded.frame
                outputs.places.append(decoded.place)
                outputs.digests[decoded.place] = frame_digest(frame)
                outputs.shapes.add((frame.width, frame.height, frame.format.name))
    finally:
        decoder.close()
    outputs.damaged = sorted(set(decoder.damaged))
    return outputs


def _times(
    places: NDArray[np.int64], packets: PacketList, properties: StreamProperties
) -> tuple[NDArray[np.int64], bool, bool]:
    """(ticks of each frame, whether they are the packets' own pts, whether the rate made them)."""
    pts = packets.pts[places]
    if NO_TIME not in pts and np.all(np.diff(pts) >= 0):
        return pts, True, False
    dts = np.sort(packets.dts[places])
    if NO_TIME not in dts and np.all(np.diff(dts) > 0):
        return dts, False, False
    ticks = [int(k / (properties.nominal_fps * properties.time_base)) for k in range(len(places))]
    return np.array(ticks, np.int64), False, True


def _blank_table(properties: StreamProperties) -> FrameTable:
    """A table that knows no frame, to decode the file from its start."""
    nothing = np.zeros(0, np.int64)
    return FrameTable(
        time_base=properties.time_base,
        pts=nothing,
        end_ticks=0,
        is_key=nothing.astype(bool),
        packet=nothing.astype(np.int32),
        entries=entries_at(no_packets(), "byte", nothing, nothing),
        access="sequential",
        access_reason=None,
        seek_by=properties.seek_by,
        times_from_packets=False,
        stream_index=properties.stream_index,
        file_bytes=properties.file_bytes,
    )
