"""The frame table: when every displayed frame is shown, and from where it can be decoded.

Times are integer ticks of ``time_base``; seconds are only for people. Frame ``i`` is shown during
the half-open interval [pts[i], pts[i + 1]), the last one until ``end_ticks``.

N displayed frames, in display order; E entry points, in file order.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Access = Literal["seek", "sequential"]
SeekBy = Literal["dts", "pts", "byte"]

FIRST_PACKET = -1
"""Entry point number that stands for the beginning of the file."""


@dataclass(frozen=True, kw_only=True)
class EntryPoints:
    """Packets at which decoding can start, and how to know them again after a seek."""

    packet: NDArray[np.int32]
    """(E,) place in the stream, counted from 0 over all packets of the video stream."""
    first_frame: NDArray[np.int32]
    """(E,) first displayed frame that comes out right when decoding starts here."""
    seek_target: NDArray[np.int64]
    """(E,) what the demuxer is asked for: ticks or a byte position, as ``FrameTable.seek_by``."""
    position: NDArray[np.int64]
    """(E,) byte position that the demuxer reports for the packet; -1 where it tells none."""
    size: NDArray[np.int32]
    """(E,) bytes of the packet."""
    crc32: NDArray[np.uint32]
    """(E,) checksum of the packet's bytes."""


@dataclass(frozen=True, kw_only=True)
class FrameTable:
    """Every frame that the file really shows, in display order."""

    time_base: Fraction
    """Seconds per tick."""
    pts: NDArray[np.int64]
    """(N,) ticks at which each frame is first shown; never falling. Of frames with one time only
    the last is ever shown, the others can be had by number."""
    end_ticks: int
    """When the last frame ends."""
    is_key: NDArray[np.bool_]
    """(N,) frames whose packet the container calls a key frame."""
    packet: NDArray[np.int32]
    """(N,) packet that carries each frame, counted over all packets of the stream."""
    entries: EntryPoints
    """Where decoding can start."""
    access: Access
    """``seek``: frames are reached through entry points; ``sequential``: from the start only."""
    access_reason: str | None
    """Why access is sequential; None with ``seek``."""
    seek_by: SeekBy
    """What the demuxer of this container understands."""
    times_from_packets: bool
    """Whether ``pts`` are the packets' own times; then the reader checks each packet by them."""
    stream_index: int
    """The video stream inside the container."""
    file_bytes: int
    """Size of the file that the table describes; another size means another file."""

    @property
    def num_frames(self) -> int:
        """N."""
        return len(self.pts)

    @cached_property
    def entry_of_frame(self) -> NDArray[np.int32]:
        """(N,) last entry point from which each frame comes out right; FIRST_PACKET for none."""
        by_packet = np.searchsorted(self.entries.packet, self.packet, side="right") - 1
        frames = np.arange(self.num_frames)
        by_frame = np.searchsorted(self.entries.first_frame, frames, side="right") - 1
        return np.minimum(by_packet, by_frame).astype(np.int32)

    @cached_property
    def frame_of_packet(self) -> NDArray[np.int32]:
        """(packets up to the last that is shown,) frame that each packet carries, -1 for none."""
        frame_of_packet = np.full(int(self.packet.max(initial=-1)) + 1, -1, np.int32)
        frame_of_packet[self.packet] = np.arange(self.num_frames)
        return frame_of_packet

    @property
    def max_frames_between_entry_points(self) -> int:
        """The longest run of frames that share one entry point: what a far seek may decode."""
        return int(np.bincount(self.entry_of_frame + 1).max())

    @property
    def is_variable_rate(self) -> bool:
        """Whether some frame lies more than a tick off an even spacing."""
        if self.num_frames < 3:
            return False
        pts, last = self.pts - self.pts[0], self.num_frames - 1
        even = np.arange(self.num_frames) * int(pts[-1])
        return bool(np.any(np.abs(pts * last - even) > last))

    def seconds(self, index: int) -> float:
        """When frame ``index`` is shown, counted from frame 0.

        Raises IndexError outside 0..N-1.
        """
        if not 0 <= index < self.num_frames:
            raise IndexError(f"frame {index} of {self.num_frames}")
        return float((int(self.pts[index]) - int(self.pts[0])) * self.time_base)

    @property
    def duration_seconds(self) -> float:
        """From the start of frame 0 to the end of the last."""
        return float((self.end_ticks - int(self.pts[0])) * self.time_base)

    def frame_at(self, seconds: float | Fraction) -> int:
        """The frame shown ``seconds`` after the start of frame 0.

        Exact for a Fraction. A float within half a nanosecond of a frame's start means that start,
        because most starts have no exact float: ``frame_at(seconds(i)) == i``.

        Raises ValueError before frame 0 and from the end of the last frame on.
        """
        tick = self._tick_of(seconds)
        if not self.pts[0] <= tick < self.end_ticks:
            raise ValueError(
                f"no frame is shown at {float(seconds)} s; "
                f"the video runs from 0 to {self.duration_seconds} s"
            )
        return int(np.searchsorted(self.pts, tick, side="right")) - 1

    def _tick_of(self, seconds: float | Fraction) -> int:
        exact = Fraction(seconds) / self.time_base + int(self.pts[0])
        if isinstance(seconds, float):
            nearest = round(exact)
            if abs(exact - nearest) * self.time_base < Fraction(1, 2_000_000_000):
                return nearest
        return exact.numerator // exact.denominator

    def frames_at_rate(self, start_index: int, num_frames: int, fps: float) -> NDArray[np.int64]:
        """(num_frames,) the frames shown at the start of ``start_index`` + k / fps.

        Raises ValueError when the clip runs past the end of the video.
        """
        if not 0 <= start_index < self.num_frames:
            raise IndexError(f"frame {start_index} of {self.num_frames}")
        step_ticks = 1 / (Fraction(fps).limit_denominator(1_000_000) * self.time_base)
        start = int(self.pts[start_index])
        ticks = np.array([start + int(step_ticks * k) for k in range(num_frames)], np.int64)
        if num_frames and ticks[-1] >= self.end_ticks:
            raise ValueError(
                f"{num_frames} frames at {fps} fps from frame {start_index} end after the video"
            )
        return (np.searchsorted(self.pts, ticks, side="right") - 1).astype(np.int64)
