"""The frame table of a container that cannot be believed: what comes out of the decoder."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from filmgate.video.by_packets import end_of_last, entries_at
from filmgate.video.decoder import Decoder
from filmgate.video.packets import NO_TIME, PacketList
from filmgate.video.properties import StreamProperties
from filmgate.video.table import FIRST_PACKET, FrameTable


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
    shapes: set[tuple[int, int, str]] = field(default_factory=set)
    damaged: list[int] = field(default_factory=list)


def table_by_decoding(
    path: Path, packets: PacketList, properties: StreamProperties
) -> DecodedTable:
    """Decode the whole file and build its table."""
    outputs = _decode_all(path, _blank_table(properties))
    places = np.array(outputs.places, np.int64)
    pts, from_packets, from_rate = _times(places, packets, properties)
    nothing = np.zeros(0, np.int64)
    table = FrameTable(
        time_base=properties.time_base,
        pts=pts,
        end_ticks=end_of_last(pts, packets, places, properties),
        is_key=np.array(packets.is_key, bool)[places],
        packet=places.astype(np.int32),
        entries=entries_at(packets, properties, nothing, nothing),
        access="sequential",
        access_reason="entry points not tried",
        seek_by=properties.seek_by,
        times_from_packets=from_packets,
        stream_index=properties.stream_index,
        file_bytes=properties.file_bytes,
    )
    return DecodedTable(
        table=table,
        times_from_rate=from_rate,
        mixed_sizes=len(outputs.shapes) > 1,
        damage=[f"decoder error in packet {place}" for place in outputs.damaged],
    )


def _decode_all(path: Path, table: FrameTable) -> _Outputs:
    decoder, outputs = Decoder(path, table), _Outputs()
    decoder.start(FIRST_PACKET)
    try:
        while not decoder.ended:
            for decoded in decoder.step():
                frame = decoded.frame
                outputs.places.append(decoded.place)
                outputs.shapes.add((frame.width, frame.height, frame.format.name))
    finally:
        decoder.close()
    outputs.damaged = sorted(set(decoder.damaged))
    return outputs


def _times(
    places: NDArray[np.int64], packets: PacketList, properties: StreamProperties
) -> tuple[NDArray[np.int64], bool, bool]:
    """(ticks of each frame, whether they are the packets' own pts, whether the rate made them)."""
    pts = packets.column("pts")[places]
    if NO_TIME not in pts and np.all(np.diff(pts) > 0):
        return pts, True, False
    dts = np.sort(packets.column("dts")[places])
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
        entries=entries_at(PacketList(), properties, nothing, nothing),
        access="sequential",
        access_reason=None,
        seek_by=properties.seek_by,
        times_from_packets=False,
        stream_index=properties.stream_index,
        file_bytes=properties.file_bytes,
    )
