"""One pass over the packets of a video stream, decoding no more than the first frame."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import av
import numpy as np
from av.packet import Packet
from av.video.stream import VideoStream
from numpy.typing import NDArray

from filmgate.video.bitstream import Peek, peeker_for
from filmgate.video.container import OpenVideo

NO_TIME = np.iinfo(np.int64).min
"""Stands for a missing time or byte position in the integer columns."""
READ_FAULTS_LIMIT = 8
"""Read errors after which the rest of a file is given up."""
FIRST_FRAME_PACKETS = 120
"""Packets within which a first frame has to come out."""


@dataclass(kw_only=True)
class PacketList:
    """The packets of a stream in file order; every list has one element per packet."""

    pts: list[int] = field(default_factory=list)
    dts: list[int] = field(default_factory=list)
    duration: list[int] = field(default_factory=list)
    is_key: list[bool] = field(default_factory=list)
    is_discard: list[bool] = field(default_factory=list)
    is_corrupt: list[bool] = field(default_factory=list)
    position: list[int] = field(default_factory=list)
    size: list[int] = field(default_factory=list)
    crc32: list[int] = field(default_factory=list)
    """0 for a packet that is no candidate for an entry point."""
    peeks: list[Peek] = field(default_factory=list)
    """Empty where the codec's heads tell nothing."""
    first_frame: av.VideoFrame | None = None
    """The first frame that comes out; None when none does."""
    read_faults: int = 0
    """Places at which the container could not be read."""

    def __len__(self) -> int:
        return len(self.pts)

    def column(self, name: str) -> NDArray[np.int64]:
        """(packets,) a list as an array."""
        return np.array(getattr(self, name), np.int64)


def packets_of(
    video: OpenVideo, on_fault: Callable[[], None] = lambda: None
) -> Iterator[Packet[VideoStream]]:
    """The packets that hold data, from where the container stands to its end.

    A read error is told to ``on_fault`` and reading goes on behind it, a few times.
    """
    for _ in range(READ_FAULTS_LIMIT):
        try:
            for packet in video.container.demux(video.stream):
                if packet.size:
                    yield packet
            return
        except av.FFmpegError:
            on_fault()


def scan_packets(video: OpenVideo) -> PacketList:
    """Read every packet once; the first ones are decoded until a frame comes out."""
    context = video.stream.codec_context
    peeker = peeker_for(
        context.codec.canonical_name,
        context.extradata or b"",
        is_intra_only=context.codec.intra_only,
    )
    packets = PacketList()

    def count_fault() -> None:
        """Note one packet that could not be read."""
        packets.read_faults += 1

    for packet in packets_of(video, count_fault):
        view = memoryview(packet)
        is_key = packet.is_keyframe
        peek = peeker(view, is_key) if peeker is not None else None
        if peek is not None and is_key and len(packets) and _changes_parameters(packet):
            peek = peek._replace(doubt="its parameter sets change on the way")
        if peek is not None:
            packets.peeks.append(peek)
        is_candidate = is_key or (peek is not None and peek.is_entry)
        _append(packets, packet, zlib.crc32(view) if is_candidate else 0)
        if packets.first_frame is None and len(packets) <= FIRST_FRAME_PACKETS:
            packets.first_frame = _first_of(context, packet)
    if packets.first_frame is None and len(packets) <= FIRST_FRAME_PACKETS:
        packets.first_frame = _first_of(context, None)
    return packets


def _changes_parameters(packet: Packet[VideoStream]) -> bool:
    return packet.has_sidedata("new_extradata") or packet.has_sidedata("param_change")


def _append(packets: PacketList, packet: Packet[VideoStream], crc32: int) -> None:
    pts, dts, position = packet.pts, packet.dts, packet.pos
    packets.pts.append(NO_TIME if pts is None else pts)
    packets.dts.append(NO_TIME if dts is None else dts)
    packets.duration.append(packet.duration or 0)
    packets.is_key.append(packet.is_keyframe)
    packets.is_discard.append(packet.is_discard)
    packets.is_corrupt.append(packet.is_corrupt)
    packets.position.append(-1 if position is None else position)
    packets.size.append(packet.size)
    packets.crc32.append(crc32)


def _first_of(
    context: av.VideoCodecContext, packet: Packet[VideoStream] | None
) -> av.VideoFrame | None:
    try:
        frames = context.decode(packet)
    except av.FFmpegError:
        return None
    return frames[0] if frames else None
