"""The one decode loop: packets in, frames out, each with the place of the packet it came from.

Frames are known by the packet that carried them and by nothing else. Before a packet goes in, its
time is replaced by a serial number, which the decoder hands through to the frame; the serial
numbers go on over seeks, so a frame that a flushed decoder still gives from an earlier run is
known as stale.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import av
import av.logging
from av.packet import Packet
from av.video.stream import VideoStream

from filmgate.errors import UndecodableFrame
from filmgate.video.damage import JPEG_SCAN, hand_on, is_hurt_jpeg, listen, tells_error
from filmgate.video.source import PacketSource
from filmgate.video.spare import Look, spare_look
from filmgate.video.table import FIRST_PACKET, FrameTable


@dataclass(frozen=True, kw_only=True)
class Decoded:
    """A frame as the decoder gave it."""

    place: int
    """Number of the packet that carried it."""
    frame: av.VideoFrame


class Decoder:
    """Decodes from an entry point on; what happened since then is told by its attributes."""

    def __init__(self, path: Path, table: FrameTable, cuda_device: int | None = None) -> None:
        self.source = PacketSource(path, table, cuda_device)
        self.entry = 0
        self.ended = False
        """No frame comes out any more."""
        self.damaged: list[int] = []
        """Places where something went wrong."""
        self.left_out: set[int] = set()
        """Places whose packets were not decoded, because nobody needs their frames."""
        self.num_fed = 0
        """Packets decoded."""
        self._serial = 0
        self._serial_less_place = 0
        self._first_serial = 0
        # Views whose elements are plain numbers: each packet asks for a few.
        self._frame_of_packet = table.frame_of_packet.data
        self._pts = table.pts.data

    def start(self, entry: int) -> None:
        """Begin again at an entry point, or at the start of the file.

        Raises UndecodableFrame when the file is no longer the one that was indexed.
        """
        self.source.go_to(entry)
        self._begin(entry)

    def try_start(self, entry: int) -> bool:
        """Begin again at an entry point by one seek; False when that does not lead there."""
        if not self.source.seek_to(entry):
            return False
        self._begin(entry)
        return True

    def _begin(self, entry: int) -> None:
        self.entry, self.ended, self.num_fed = entry, False, 0
        self.damaged, self.left_out = [], set()
        listen()
        self.source.video.stream.codec_context.flush_buffers()
        self._first_serial = self._serial
        self._serial_less_place = self._serial - self.source.place

    def step(self, wanted: Container[int] | None = None) -> list[Decoded]:
        """Feed one packet, or drain at the end; what comes out, in output order.

        With ``wanted`` places, packets of other places that nothing refers to are left out first.
        Raises UndecodableFrame when the packet is not the one that the table has at its place.
        """
        while True:
            place, read_faults = self.source.place, self.source.read_faults
            packet = self.source.next()
            if self.source.read_faults != read_faults:
                self._note_damage(place)
            if packet is None:
                return self.drain()
            self._check_time(packet, place)
            packet.pts = self._serial
            self._serial += 1
            if wanted is None or place in wanted or not self._is_spare(packet, place):
                self.num_fed += 1
                return self._decode(packet, place)
            self.left_out.add(place)

    def drain(self) -> list[Decoded]:
        """All frames that are still in the decoder, which then has to be started again."""
        self.ended = True
        return self._decode(None, self.source.place)

    def _decode(self, packet: Packet[VideoStream] | None, place: int) -> list[Decoded]:
        if packet is not None and self._is_jpeg:
            content = bytes(packet)
            if is_hurt_jpeg(content):
                self._note_damage(place)
            if JPEG_SCAN not in content:
                return []
        frames, failed = [], False
        with av.logging.Capture() as messages:
            try:
                frames = self.source.video.stream.codec_context.decode(packet)
            except av.FFmpegError:
                failed = True
        if messages:
            failed |= tells_error(messages, from_start=self.entry == FIRST_PACKET)
            hand_on(messages)
        if failed:
            self._note_damage(place)
        return [self._decoded(frame) for frame in frames if self._is_of_this_run(frame)]

    @cached_property
    def _is_jpeg(self) -> bool:
        return self.source.video.stream.codec_context.name == "mjpeg"

    @cached_property
    def _look(self) -> Look | None:
        context = self.source.video.stream.codec_context
        return spare_look(context.codec.canonical_name, context.extradata or b"")

    def _is_spare(self, packet: Packet[VideoStream], place: int) -> bool:
        if self._look is None or packet.is_corrupt:
            return False
        return self.holds_one_frame(place) and self._look(memoryview(packet))

    def holds_one_frame(self, place: int) -> bool:
        """Whether a packet surely holds a whole frame: a second field would have no frame."""
        frame_of_packet = self._frame_of_packet
        if place + 1 >= len(frame_of_packet):
            return False
        return frame_of_packet[place] >= 0 and frame_of_packet[place + 1] >= 0

    def _check_time(self, packet: Packet[VideoStream], place: int) -> None:
        if not self.source.table.times_from_packets or place >= len(self._frame_of_packet):
            return
        index, time = self._frame_of_packet[place], packet.pts
        if index >= 0 and time is not None and time != self._pts[index]:
            reason = f"the packet of frame {index} has another time than when it was indexed"
            raise UndecodableFrame(self.source.path, reason, hint="index it again")

    def _note_damage(self, place: int) -> None:
        """Remember it, unless it is a frame that cannot come right from this entry point."""
        table = self.source.table
        known = self.entry != FIRST_PACKET and place < len(table.frame_of_packet)
        index = int(table.frame_of_packet[place]) if known else -1
        if index < 0 or index >= table.entries.first_frame[self.entry]:
            self.damaged.append(place)

    def _is_of_this_run(self, frame: av.VideoFrame) -> bool:
        return frame.pts is None or frame.pts >= self._first_serial

    def _decoded(self, frame: av.VideoFrame) -> Decoded:
        # A decoder that hands no serial through gives each packet's frame at once.
        serial = self._serial - 1 if frame.pts is None else frame.pts
        place = serial - self._serial_less_place
        if frame.is_corrupt:
            self._note_damage(place)
        return Decoded(place=place, frame=frame)

    def close(self) -> None:
        """Close the file."""
        self.source.close()
