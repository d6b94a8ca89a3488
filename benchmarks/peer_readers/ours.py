"""filmgate's readers, and libavcodec alone, which nothing on one thread can beat."""

from __future__ import annotations

from typing import Any, Literal

import av
import numpy as np
from numpy.typing import NDArray

from benchmarks.footage import CLIP_SIZE
from benchmarks.peer_readers.clips import Clip
from benchmarks.peer_readers.task import Setup
from filmgate.catalog import Catalog, open_catalog
from filmgate.feed import ClipReader
from filmgate.video import FrameTable

Pixels = NDArray[np.uint8]


class Ours:
    """``ClipReader``, decoders kept open as it keeps them."""

    pixel_format: Literal["rgb24", "yuv420p"] = "rgb24"

    def __init__(self, setup: Setup) -> None:
        catalog = open_catalog(setup.catalog)
        size = (CLIP_SIZE[1], CLIP_SIZE[0])
        self._rows = rows_of(catalog, setup.paths)
        self._reader = ClipReader(catalog, size=size, pixel_format=self.pixel_format)

    def read(self, clip: Clip) -> Any:
        return self._reader.read(self._rows[clip.video], clip.frames)

    def read_visit(self, clips: list[Clip]) -> Any:
        return self._reader.read_many([(self._rows[clip.video], clip.frames) for clip in clips])


class OursYuv(Ours):
    """The same in YUV 4:2:0, for conversion on the GPU."""

    pixel_format = "yuv420p"


class Reference(Ours):
    """What frames are checked against: the whole picture, at a size that keeps its aspect."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        size = (180, 320) if setup.entry.layout == "source" else None
        self._reader = ClipReader(open_catalog(setup.catalog), size=size)


class Libavcodec:
    """The packets that the clips need, sent to one decoder; nothing is read and nothing converted.

    ``prepare`` takes packets from the files before the clock starts. Of each run from an entry
    point those are needed that carry a wanted frame, or a reference in front of the last wanted
    one.
    """

    def __init__(self, setup: Setup) -> None:
        catalog = open_catalog(setup.catalog)
        rows = rows_of(catalog, setup.paths)
        self._paths = setup.paths
        self._tables = {number: catalog.frame_table(row) for number, row in enumerate(rows)}
        self._streams: dict[int, tuple[bytes, list[Any], list[bool]]] = {}
        self._contexts: dict[int, av.VideoCodecContext] = {}
        self._plans: dict[tuple[int, int], list[Any]] = {}
        self.num_decoded = 0

    def prepare(self, clips: list[Clip]) -> None:
        for clip in clips:
            if clip.video not in self._streams:
                path, table = self._paths[clip.video], self._tables[clip.video]
                self._streams[clip.video] = _packets(path, table)
            self._plans[_key(clip)] = self._plan(clip)

    def read(self, clip: Clip) -> int:
        context = self._contexts[clip.video]
        num_out = 0
        for packet in (*self._plans[_key(clip)], None):
            num_out += len(context.decode(packet))
        context.flush_buffers()
        assert num_out >= len(clip.frames), f"{num_out} frames came out"
        self.num_decoded += num_out
        return num_out

    def read_visit(self, clips: list[Clip]) -> list[int]:
        return [self.read(clip) for clip in clips]

    def _plan(self, clip: Clip) -> list[Any]:
        extradata, packets, is_reference = self._streams[clip.video]
        if clip.video not in self._contexts:
            context = av.CodecContext.create("h264", "r")
            assert isinstance(context, av.VideoCodecContext)
            context.extradata, context.thread_count = extradata, 1
            context.decode(packets[0])  # as warm as a decoder that was kept
            context.flush_buffers()
            self._contexts[clip.video] = context
        table = self._tables[clip.video]
        entries = table.entry_of_frame[clip.frames]
        wanted = table.packet[clip.frames]
        plan: list[Any] = []
        for entry in np.unique(entries):
            first, last = int(table.entries.packet[entry]), int(wanted[entries == entry].max())
            mine = set(wanted[entries == entry].tolist())
            plan += [packets[p] for p in range(first, last + 1) if p in mine or is_reference[p]]
        return plan


def _key(clip: Clip) -> tuple[int, int]:
    return clip.video, clip.frames[0]


def _packets(path: str, table: FrameTable) -> tuple[bytes, list[Any], list[bool]]:
    with av.open(path) as container:
        stream = container.streams.video[0]
        extradata = stream.codec_context.extradata or b""
        packets = [packet for packet in container.demux(stream) if packet.size]
    assert len(packets) > int(table.packet.max())
    return extradata, packets, [_is_reference(bytes(packet)) for packet in packets]


def _is_reference(packet: bytes) -> bool:
    """Whether other pictures may refer to this one (H.264 7.3.1: nal_ref_idc of its slices)."""
    at = 0
    while at + 4 < len(packet):
        head = packet[at + 4]
        if head & 31 in (1, 5):
            return head >> 5 & 3 != 0
        at += 4 + int.from_bytes(packet[at : at + 4], "big")
    return True


def rows_of(catalog: Catalog, paths: list[str]) -> list[int]:
    """The catalog's row of each path."""
    rows = {catalog.video(row).path: row for row in range(catalog.num_videos)}
    return [rows[path] for path in paths]
