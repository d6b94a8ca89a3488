"""From a file to its facts and its frame table, reading it once where the container is sound.

The container is believed only under the rules of ``doubt_about``; anything else is decoded from
end to end, and the table holds what came out.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from filmgate.errors import UnreadableVideo
from filmgate.video.by_decode import table_by_decoding
from filmgate.video.by_packets import doubt_about, table_by_packets
from filmgate.video.container import open_video
from filmgate.video.facts import VideoFacts
from filmgate.video.packets import PacketList, scan_packets
from filmgate.video.properties import StreamProperties, stream_properties
from filmgate.video.table import FrameTable


@dataclass(frozen=True, kw_only=True)
class _Indexed:
    table: FrameTable
    reason: str | None
    times_from_rate: bool
    mixed_sizes: bool
    damage: list[str]


def probe(path: Path) -> tuple[VideoFacts, FrameTable]:
    """The facts and the frame table of one file.

    Raises UnreadableVideo when no frame of it can be used, with the reason in one clause.
    """
    with open_video(path) as video:
        packets = scan_packets(video)
        if not len(packets):
            raise UnreadableVideo(path, "its video stream is empty")
        if packets.first_frame is None:
            raise UnreadableVideo(path, "no frame of it can be decoded")
        properties = stream_properties(video, packets.first_frame)
        doubt = doubt_about(video, packets, properties)
    indexed = _index(path, packets, properties, doubt)
    if indexed.table.num_frames == 0:
        raise UnreadableVideo(path, "no frame of it can be decoded")
    return _facts(properties, indexed), indexed.table


def _index(
    path: Path, packets: PacketList, properties: StreamProperties, doubt: str | None
) -> _Indexed:
    if doubt is None:
        return _Indexed(
            table=table_by_packets(packets, properties),
            reason=None,
            times_from_rate=False,
            mixed_sizes=False,
            damage=[],
        )
    decoded = table_by_decoding(path, packets, properties)
    return _Indexed(
        table=decoded.table,
        reason=doubt,
        times_from_rate=decoded.times_from_rate,
        mixed_sizes=decoded.mixed_sizes,
        damage=decoded.damage,
    )


def _facts(properties: StreamProperties, indexed: _Indexed) -> VideoFacts:
    table = indexed.table
    span_ticks = table.end_ticks - int(table.pts[0])
    average = Fraction(table.num_frames) / (span_ticks * table.time_base)
    average = average.limit_denominator(1_000_000)
    return VideoFacts(
        **properties.told,
        average_fps=(average.numerator, average.denominator),
        is_variable_rate=table.is_variable_rate,
        max_frames_between_entry_points=table.max_frames_between_entry_points,
        access=table.access,
        access_reason=table.access_reason,
        index_from="packets" if indexed.reason is None else "decode",
        index_reason=indexed.reason,
        times_from="frame-rate" if indexed.times_from_rate else "container",
        mixed_sizes=indexed.mixed_sizes,
        damage=indexed.damage,
    )
