"""One pass over the packets of a video stream, decoding no more than the first frame."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import av
import numpy as np
from av.packet import Packet
from av.video.stream import VideoStream
from numpy.typing import NDArray

from filmgate.video.bitstream import KEYS_TELL, ONE_FRAME, Peek, peeker_for
from filmgate.video.container import OpenVideo

NO_TIME = np.iinfo(np.int64).min
"""Stands for a missing time or byte position in the integer columns."""
READ_FAULTS_LIMIT = 8
"""Read errors after which the rest of a file is given up."""
FIRST_FRAME_PACKETS = 120
"""Packets within which a first frame has to come out."""


_ROW = np.dtype(
    [("pts", "<i8"), ("dts", "<i8"), ("duration", "<i8"), ("position", "<i8"), ("size", "<i8"),
     ("crc32", "<i8"), ("shown", "<i8"), ("is_key", "?"), ("is_discard", "?"), ("is_corrupt", "?"),
     ("is_entry", "?"), ("needs_previous", "?")]
)  # fmt: skip
_pack_row = struct.Struct("<7q5?").pack
"""A packet as ``_ROW``: one call for all columns, since Python's steps are what a packet costs."""


@dataclass(frozen=True, kw_only=True)
class PacketList:
    """The packets of a stream in file order; every array is (packets,)."""

    pts: NDArray[np.int64]
    dts: NDArray[np.int64]
    duration: NDArray[np.int64]
    position: NDArray[np.int64]
    size: NDArray[np.int64]
    crc32: NDArray[np.int64]
    """0 for a packet that is no candidate for an entry point."""
    shown: NDArray[np.int64]
    """As ``Peek``, like the next ones; nothing of that counts without ``is_judged``."""
    is_key: NDArray[np.bool_]
    is_discard: NDArray[np.bool_]
    is_corrupt: NDArray[np.bool_]
    is_entry: NDArray[np.bool_]
    needs_previous: NDArray[np.bool_]
    is_judged: bool = False
    """Whether the heads of this codec's packets tell what they show."""
    parameters: frozenset[bytes] = frozenset()
    """Parameter sets that came in packets, each once."""
    doubts: dict[int, str] = field(default_factory=dict)
    """Why a packet cannot be judged by its head, by its place."""
    first_frame: av.VideoFrame | None = None
    """The first frame that comes out; None when none does."""
    read_faults: int = 0
    """Places at which the container could not be read."""

    def __len__(self) -> int:
        return len(self.pts)


def no_packets() -> PacketList:
    """A list of none."""
    return _list_of(b"")


def _list_of(rows: bytes | bytearray, **others: Any) -> PacketList:
    """Packed rows, and the fields that are no columns."""
    table = np.frombuffer(rows, _ROW)
    columns: dict[str, Any] = {name: table[name].copy() for name in _ROW.fields or {}}
    return PacketList(**columns, **others)


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
    codec, seen = context.codec.canonical_name, _Seen()
    peeker = peeker_for(codec, context.extradata or b"", is_intra_only=context.codec.intra_only)
    look = peeker or (lambda data, is_key: ONE_FRAME)
    looks_at_keys_alone = peeker is None or codec in KEYS_TELL
    rows, place = bytearray(), -1
    # All that is done for every packet stands here: a call more is a twentieth of the whole.
    for place, packet in enumerate(packets_of(video, seen.count_fault)):
        is_key, peek, crc32 = packet.is_keyframe, ONE_FRAME, 0
        if is_key or not looks_at_keys_alone:
            view = memoryview(packet)
            peek = look(view, is_key)
            if is_key or peek is not ONE_FRAME:
                crc32 = seen.take(place, packet, peek)
        pts, dts, position = packet.pts, packet.dts, packet.pos
        rows += _pack_row(
            NO_TIME if pts is None else pts,
            NO_TIME if dts is None else dts,
            packet.duration or 0,
            -1 if position is None else position,
            packet.size,
            crc32,
            peek[0],
            is_key,
            packet.is_discard,
            packet.is_corrupt,
            peek[1],
            peek[2],
        )
        if seen.first_frame is None and place < FIRST_FRAME_PACKETS:
            seen.first_frame = _first_of(context, packet)
    if seen.first_frame is None and place < FIRST_FRAME_PACKETS:
        seen.first_frame = _first_of(context, None)
    return _list_of(
        rows,
        is_judged=peeker is not None,
        parameters=frozenset(seen.parameters),
        doubts=seen.doubts,
        first_frame=seen.first_frame,
        read_faults=seen.read_faults,
    )


@dataclass(kw_only=True)
class _Seen:
    """What a scan has noted beside the rows; fields as in ``PacketList``."""

    parameters: set[bytes] = field(default_factory=set)
    doubts: dict[int, str] = field(default_factory=dict)
    first_frame: av.VideoFrame | None = None
    read_faults: int = 0

    def count_fault(self) -> None:
        """Note one packet that could not be read."""
        self.read_faults += 1

    def take(self, place: int, packet: Packet[VideoStream], peek: Peek) -> int:
        """Note what is special about a packet; its checksum if it may be an entry point."""
        if peek.parameters:
            self.parameters.add(peek.parameters)
        if packet.is_keyframe and place and _changes_parameters(packet):
            self.doubts[place] = "its parameter sets change on the way"
        elif peek.doubt is not None:
            self.doubts[place] = peek.doubt
        return zlib.crc32(packet) if packet.is_keyframe or peek.is_entry else 0


def _changes_parameters(packet: Packet[VideoStream]) -> bool:
    return packet.has_sidedata("new_extradata") or packet.has_sidedata("param_change")


def _first_of(
    context: av.VideoCodecContext, packet: Packet[VideoStream] | None
) -> av.VideoFrame | None:
    try:
        frames = context.decode(packet)
    except av.FFmpegError:
        return None
    return frames[0] if frames else None
