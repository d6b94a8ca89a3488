"""The frame table of a container that can be believed, without decoding."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from filmgate.video.bitstream import hevc_may_hide_pictures
from filmgate.video.container import OpenVideo
from filmgate.video.packets import NO_TIME, PacketList
from filmgate.video.properties import StreamProperties
from filmgate.video.table import EntryPoints, FrameTable, SeekBy

SOUND_CONTAINERS = ("mov,mp4", "matroska")
"""Every packet is one sample with its own time, and a seek lands on a sample."""
FIELD_CODECS = {"h264", "mpeg2video"}
"""Codecs that may put the two fields of a frame into two packets."""
MOST_FRAMES_WITHOUT_IDR = 300
"""H.264 whose IDR frames are further apart is worth the search for other entry points."""


def doubt_about(video: OpenVideo, packets: PacketList, properties: StreamProperties) -> str | None:
    """Why the packets of a file do not tell its frames; None when they do."""
    context = video.stream.codec_context
    codec = context.codec.canonical_name
    if not video.container.format.name.startswith(SOUND_CONTAINERS):
        return f"{video.container.format.long_name} does not tell the time of every frame"
    if not packets.is_judged:
        return f"{codec} packets do not tell which frames they show"
    if codec in FIELD_CODECS and context.field_order != 1:
        return "interlaced: a frame may span packets"
    if codec == "hevc" and hevc_may_hide_pictures(context.extradata or b""):
        return "its parameter sets allow hidden pictures"
    if codec in ("h264", "mpeg4") and _reorder_depth(packets) > context.reorder_depth:
        return "frames are reordered further than the stream declares"
    return _doubt_about_packets(packets) or _doubt_about_entries(packets, codec)


def _doubt_about_packets(packets: PacketList) -> str | None:
    several = np.flatnonzero(packets.shown > 1)
    if packets.doubts and not (len(several) and several[0] < min(packets.doubts)):
        return packets.doubts[min(packets.doubts)]
    if len(several):
        return "packets that show several frames"
    if packets.read_faults:
        return "the container has unreadable places"
    if packets.is_corrupt.any():
        return "packets that the container calls corrupt"
    shown_pts = packets.pts[_is_shown(packets)]
    if NO_TIME in shown_pts:
        return "frames without a time"
    if np.any(np.diff(np.sort(shown_pts)) == 0):
        return "frames with the same time"
    if len(packets.parameters) > 1:
        return "its parameter sets change on the way"
    return None


def _doubt_about_entries(packets: PacketList, codec: str) -> str | None:
    if not packets.is_entry[0]:
        return "it does not begin with a key frame"
    if codec == "h264":
        entries = np.flatnonzero(packets.is_entry)
        gaps = np.diff(entries, append=len(packets))
        others = np.count_nonzero(packets.is_key) - len(entries)
        if others and gaps.max() > MOST_FRAMES_WITHOUT_IDR:
            return "most of its key frames are not IDR frames"
    return None


def _reorder_depth(packets: PacketList) -> int:
    """Frames that the decoder must hold back: the most that are decoded first and shown later."""
    places = np.argsort(packets.pts, kind="stable")
    # A frame that is shown as number r and decoded as number p came after p - r later ones.
    return int(np.max(places - np.arange(len(places)), initial=0))


def _is_shown(packets: PacketList) -> NDArray[np.bool_]:
    """(packets,) packets whose frame is displayed."""
    hidden = packets.is_discard | _lost_leading(packets)
    shown: NDArray[np.bool_] = (packets.shown == 1) & ~hidden
    return shown


def _lost_leading(packets: PacketList) -> NDArray[np.bool_]:
    """(packets,) HEVC pictures behind the first key frame that need pictures before it."""
    second = np.flatnonzero(packets.is_entry[1:])
    lost = packets.needs_previous.copy()
    lost[int(second[0]) + 1 if len(second) else len(lost) :] = False
    return lost


def table_by_packets(packets: PacketList, properties: StreamProperties) -> FrameTable:
    """The table of a file about which there is no doubt."""
    pts = packets.pts
    places = np.flatnonzero(_is_shown(packets))
    places = places[np.argsort(pts[places], kind="stable")]
    frame_pts = pts[places]
    candidates = np.flatnonzero(packets.is_entry)
    return FrameTable(
        time_base=properties.time_base,
        pts=frame_pts,
        end_ticks=end_of_last(frame_pts, packets, places, properties),
        is_key=packets.is_key[places],
        packet=places.astype(np.int32),
        entries=entries_at(
            packets, properties.seek_by, candidates, np.searchsorted(frame_pts, pts[candidates])
        ),
        access="seek",
        access_reason=None,
        seek_by=properties.seek_by,
        times_from_packets=True,
        stream_index=properties.stream_index,
        file_bytes=properties.file_bytes,
    )


def end_of_last(
    frame_pts: NDArray[np.int64],
    packets: PacketList,
    places: NDArray[np.int64],
    properties: StreamProperties,
) -> int:
    """When the last frame ends: its packet's duration, else the gap before it, else the rate."""
    if not len(frame_pts):
        return 0
    duration = int(packets.duration[places[-1]])
    if duration <= 0 and len(frame_pts) > 1:
        duration = int(frame_pts[-1] - frame_pts[-2])
    return int(frame_pts[-1]) + (duration if duration > 0 else properties.frame_ticks)


def entries_at(
    packets: PacketList,
    seek_by: SeekBy,
    places: NDArray[np.int64],
    first_frames: NDArray[np.int64],
) -> EntryPoints:
    """Entry points at these packets; one that is overtaken by a later one is left out."""
    keep = np.minimum.accumulate(first_frames[::-1])[::-1] == first_frames
    places, first_frames = places[keep], first_frames[keep]
    target = seek_targets(packets, seek_by)[places]
    return EntryPoints(
        packet=places.astype(np.int32),
        first_frame=first_frames.astype(np.int32),
        seek_target=target,
        position=packets.position[places],
        size=packets.size[places].astype(np.int32),
        crc32=packets.crc32[places].astype(np.uint32),
    )


def seek_targets(packets: PacketList, seek_by: SeekBy) -> NDArray[np.int64]:
    """(packets,) what a demuxer that seeks this way is asked for."""
    return {"dts": packets.dts, "pts": packets.pts, "byte": packets.position}[seek_by]
