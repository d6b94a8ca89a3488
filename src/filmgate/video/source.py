"""The packets of one video stream, each with its place, from the start or from an entry point.

A seek is a request to the demuxer and never believed: packets are read and dropped until one is
the entry point by size, checksum, byte position and time. When the demuxer lands too late an
earlier entry point is tried, and at last the file is read from its start, counting packets.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import av
import numpy as np
from av.packet import Packet
from av.video.stream import VideoStream

from filmgate.errors import UndecodableFrame
from filmgate.video.container import OpenVideo, open_video, reopen_video
from filmgate.video.packets import packets_of
from filmgate.video.table import FIRST_PACKET, FrameTable

WORTH_READING_ON_PACKETS = 48
"""Packets that are rather read and dropped than jumped over."""
SLACK_PACKETS = 64
"""Packets that may come before the wanted one beyond what the table counts (partial ones)."""


class PacketSource:
    """One open file; ``place`` is the number of the packet that ``next`` gives."""

    def __init__(self, path: Path, table: FrameTable, cuda_device: int | None = None) -> None:
        self.path = path
        self.table = table
        self.cuda_device = cuda_device
        self.place = 0
        self.read_faults = 0
        self._video: OpenVideo | None = None
        self._packets: Iterator[Packet[VideoStream]] = iter(())
        self._held: Packet[VideoStream] | None = None
        self._by_size = _entries_by_size(table)

    @property
    def video(self) -> OpenVideo:
        """The open file; ``go_to`` opens it."""
        assert self._video is not None
        return self._video

    def _count_fault(self) -> None:
        self.read_faults += 1

    def close(self) -> None:
        """Close the file."""
        self._packets, self._held = iter(()), None
        if self._video is not None:
            self._video.container.close()
            self._video = None

    def next(self) -> Packet[VideoStream] | None:
        """The packet at ``place``, which moves on; None at the end of the stream."""
        packet, self._held = self._held or next(self._packets, None), None
        if packet is None:
            return None
        self.place += 1
        return packet

    def go_to(self, entry: int) -> None:
        """Make ``next`` give the packet of an entry point; who decodes has to reset the decoder.

        Raises UndecodableFrame when the file is no longer the one that was indexed.
        """
        if self._read_on_to(entry):
            return
        back = 0
        while entry - back >= 0:
            if self.seek_to(entry, by_way_of=entry - back):
                return
            back = 2 * back + 1
        self._from_start(entry)

    def _read_on_to(self, entry: int) -> bool:
        """Drop packets up to an entry point that lies a little ahead; False when none does."""
        if self._video is None or entry == FIRST_PACKET:
            return False
        ahead = int(self.table.entries.packet[entry]) - self.place
        if not 0 <= ahead <= WORTH_READING_ON_PACKETS:
            return False
        for _ in range(ahead):
            self.next()
        packet = self.next()
        if packet is None or entry not in self._matches(packet):
            return False
        self._hold(packet, self.place - 1)
        return True

    def seek_to(self, entry: int, *, by_way_of: int | None = None) -> bool:
        """Seek, to an earlier entry point if told so, and read on to ``entry``.

        False when that does not lead there; then the place is unknown.
        """
        if self._video is None:
            self._open()
        entries, target = self.table.entries, entry if by_way_of is None else by_way_of
        try:
            self.video.container.seek(
                int(entries.seek_target[target]),
                stream=None if self.table.seek_by == "byte" else self.video.stream,
                unsupported_byte_offset=self.table.seek_by == "byte",
            )
        except av.FFmpegError:
            return False
        self._packets, self._held = packets_of(self.video, self._count_fault), None
        wanted = int(entries.packet[entry])
        for _ in range(wanted - int(entries.packet[target]) + SLACK_PACKETS):
            packet = self.next()
            if packet is None:
                return False
            matches = self._matches(packet)
            if entry in matches:
                self._hold(packet, wanted)
                return True
            if matches and min(matches) > entry:
                return False
        return False

    def _open(self) -> None:
        self.close()
        self._check_size()
        if self.cuda_device is None and self.table.access == "seek":
            self._video = reopen_video(self.path)
        else:
            self._video = open_video(self.path, self.cuda_device)
        stream = self._video.container.streams[self.table.stream_index]
        assert stream.index == self._video.stream.index
        self._packets = packets_of(self._video, self._count_fault)
        self.place = 0

    def _check_size(self) -> None:
        try:
            size_bytes = self.path.stat().st_size
        except FileNotFoundError:
            raise UndecodableFrame(self.path, "no such file", hint="index it again") from None
        if size_bytes != self.table.file_bytes:
            reason = f"it changed since it was indexed, from {self.table.file_bytes} bytes"
            raise UndecodableFrame(self.path, reason, hint="index it again")

    def _from_start(self, entry: int) -> None:
        self._open()
        if entry == FIRST_PACKET:
            return
        wanted = int(self.table.entries.packet[entry])
        for _ in range(wanted):
            self.next()
        packet = self.next()
        if packet is None or entry not in self._matches(packet):
            raise UndecodableFrame(
                self.path,
                f"packet {wanted} is not the one that was indexed",
                hint="index it again",
            )
        self._hold(packet, wanted)

    def _hold(self, packet: Packet[VideoStream], place: int) -> None:
        self._held, self.place = packet, place

    def _matches(self, packet: Packet[VideoStream]) -> list[int]:
        """Entry points that the packet is, by content and by time or byte position."""
        candidates = self._by_size.get(packet.size, [])
        if not candidates:
            return []
        entries, checksum = self.table.entries, zlib.crc32(packet)
        target = {"dts": packet.dts, "pts": packet.pts, "byte": packet.pos}[self.table.seek_by]
        return [
            entry
            for entry in candidates
            if entries.crc32[entry] == checksum
            and entries.seek_target[entry] == target
            and (packet.pos is None or entries.position[entry] in (-1, packet.pos))
        ]


def _entries_by_size(table: FrameTable) -> dict[int, list[int]]:
    by_size: dict[int, list[int]] = {}
    for entry, size in enumerate(np.asarray(table.entries.size).tolist()):
        by_size.setdefault(size, []).append(entry)
    return by_size
