"""Any frames of one video, in any order, the same bits as one sequential decode."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from filmgate.closing import Closing
from filmgate.errors import UndecodableFrame
from filmgate.video.decoder import Decoded, Decoder
from filmgate.video.plan import Run, runs_of
from filmgate.video.table import FIRST_PACKET, FrameTable

REORDER_FRAMES = 16
"""The most frames that codecs hold back; a frame that is this late does not come."""
WORTH_A_SEEK_PACKETS = 4
"""Packets that are decoded rather than jumped over."""
WORTH_A_DRAIN_PACKETS = 16
"""Packets that are sooner decoded once more than frames are waited for that come out late."""


class VideoReader(Closing):
    """Opens at the first read and keeps its decoder open; one thread, not to be shared by two.

    Pickled, or used in a forked child, it opens the file anew there. Without ``leaves_out`` it
    decodes pictures that nobody needs as well (``spare.may_leave_out``). With ``cuda_device`` NVDEC
    decodes and the frames lie on that GPU; damage that the decoder conceals is not noticed there.
    """

    def __init__(
        self,
        path: Path | str,
        table: FrameTable,
        leaves_out: bool = True,
        *,
        cuda_device: int | None = None,
    ) -> None:
        self.path = Path(path)
        self.table = table
        self.cuda_device = cuda_device
        self._may_leave_out = leaves_out
        self.num_decoded = 0
        self._decoder: Decoder | None = None
        self._owner = os.getpid()
        self._pending: dict[int, Decoded] = {}
        self._newest = -1
        self._wanted = 0
        self._num_in_run = 0
        self._first_right = 0
        self._leaves_out = leaves_out and table.access == "seek"
        self._goes_on = False
        self._is_torn = False
        """Whether an error, or an exception from outside as Ctrl-C is, broke off a frame."""

    def __reduce__(self) -> tuple[object, tuple[Path, FrameTable, bool]]:
        rebuild = partial(VideoReader, cuda_device=self.cuda_device)
        return rebuild, (self.path, self.table, self._may_leave_out)

    def close(self) -> None:
        """Close the file; the next read opens it again."""
        if self._decoder is not None and self._owner == os.getpid():
            self._decoder.close()
        self._decoder, self._pending, self._newest, self._is_torn = None, {}, -1, False

    def frames(self, indices: Sequence[int]) -> Iterator[tuple[int, av.VideoFrame]]:
        """Each distinct wanted frame once, ascending, with its time in the table's time base.

        Raises IndexError at once for an index outside 0..N-1, and UndecodableFrame for a frame
        that does not come out or comes out damaged; the ones after it can still be asked for.
        """
        wanted = sorted({int(index) for index in indices})
        if wanted and not 0 <= wanted[0] <= wanted[-1] < self.table.num_frames:
            outside = wanted[0] if wanted[0] < 0 else wanted[-1]
            raise IndexError(f"{self.path}: frame {outside} of {self.table.num_frames}")
        runs = runs_of(self.table, wanted)
        return ((index, self._frame(index, run)) for run in runs for index in run.frames)

    def _frame(self, index: int, run: Run) -> av.VideoFrame:
        if self._is_torn:
            self.close()
        self._wanted, self._is_torn = index, True
        decoded, fault = self._decode_to(index, run)
        if fault is not None and self._decoder is not None and self._decoder.left_out:
            decoded, fault = self._decode_everything_to(index, run)
        self._is_torn = False
        if fault is not None or decoded is None:
            raise UndecodableFrame(self.path, fault or "")
        decoded.frame.pts = int(self.table.pts[index])
        decoded.frame.time_base = self.table.time_base
        return decoded.frame

    def _decode_to(self, index: int, run: Run) -> tuple[Decoded | None, str | None]:
        """The frame, and why it cannot be given."""
        decoder = self._decoder_for(index)
        while not decoder.ended and not self._is_settled(index, decoder):
            self._step(decoder, run)
        for passed in [other for other in self._pending if other < index]:
            del self._pending[passed]
        decoded = self._pending.pop(index, None)
        return decoded, self._fault(index, decoded, decoder)

    def _decode_everything_to(self, index: int, run: Run) -> tuple[Decoded | None, str | None]:
        """The same without leaving anything out, in case that was why the frame did not come."""
        assert self._decoder is not None
        self._leaves_out, self._decoder.ended = False, True
        self._pending.clear()
        decoded, fault = self._decode_to(index, run)
        self._leaves_out = fault is not None
        return decoded, fault

    def _step(self, decoder: Decoder, run: Run) -> None:
        if self._is_behind(decoder, run):
            frames = decoder.drain()
        else:
            # Frames behind the last one wanted are kept: who reads on will want them.
            is_passed_by = self._leaves_out and decoder.source.place < run.last_place
            frames = decoder.step(run.places if is_passed_by else None)
        for decoded in frames:
            index = self._index_of(decoded.place)
            self.num_decoded += 1
            self._num_in_run += 1
            if index < self._first_right:
                continue
            self._newest = max(self._newest, index)
            if index >= self._wanted:  # a run-up of a hundred frames is a hundred frames of memory
                self._pending[index] = decoded

    def _is_behind(self, decoder: Decoder, run: Run) -> bool:
        """Whether all that is wanted is in the decoder, and asking for it beats decoding on."""
        if self.table.access == "sequential" or decoder.source.place <= run.last_place:
            return False
        if not decoder.holds_one_frame(run.last_place):
            return False
        return not run.is_last or (not self._goes_on and decoder.num_fed <= WORTH_A_DRAIN_PACKETS)

    def _is_settled(self, index: int, decoder: Decoder) -> bool:
        """Whether the frame is out, with all that it may refer to, or will not come any more.

        A frame that was decoded before it and is shown after it may be damaged, and only says so
        when it comes out itself.
        """
        if index not in self._pending:
            return self._newest > index + REORDER_FRAMES
        last = int(self._last_reference[index])
        if last > self._newest and decoder.left_out:
            last = self._last_decoded_reference(index, last, decoder)
        return self._newest >= last

    def _last_decoded_reference(self, index: int, last: int, decoder: Decoder) -> int:
        packet = self.table.packet
        later = [
            other
            for other in range(index + 1, last + 1)
            if packet[other] < packet[index] and packet[other] not in decoder.left_out
        ]
        return max(later, default=index)

    @cached_property
    def _last_reference(self) -> NDArray[np.int64]:
        """(N,) last frame that is shown after each frame and decoded before it, or itself."""
        packet, last = self.table.packet, np.arange(self.table.num_frames)
        for later in range(1, min(REORDER_FRAMES + 1, self.table.num_frames)):
            is_earlier = packet[later:] < packet[:-later]
            last[:-later][is_earlier] = np.flatnonzero(is_earlier) + later
        return last

    def _index_of(self, place: int) -> int:
        if self.table.access == "sequential":  # from the start, where places may repeat
            return self._num_in_run if self._num_in_run < self.table.num_frames else -1
        frame_of_packet = self.table.frame_of_packet
        return int(frame_of_packet[place]) if place < len(frame_of_packet) else -1

    def _decoder_for(self, index: int) -> Decoder:
        """The decoder at a place from which the frame comes out right by decoding on."""
        if self._decoder is not None and self._owner != os.getpid():
            self.close()
        if self._decoder is None:
            self._owner = os.getpid()
            self._decoder = Decoder(self.path, self.table, self.cuda_device)
        elif index in self._pending or self._can_go_on(self._decoder, index):
            return self._decoder
        entry = int(self.table.entry_of_frame[index])
        self._goes_on = self._is_drained_too_early(self._decoder, entry, index)
        self._pending, self._newest, self._num_in_run = {}, -1, 0
        self._first_right = self._first_right_from(entry)
        if self._decoder.damaged:  # flushed, it would not forget all of that: seen in H.264
            self._decoder.close()
            self._decoder = Decoder(self.path, self.table, self.cuda_device)
        self._decoder.start(entry)
        return self._decoder

    def _is_drained_too_early(self, decoder: Decoder, entry: int, index: int) -> bool:
        """Whether it stood where it could have gone on."""
        is_ahead = decoder.num_fed > 0 and int(self.table.packet[index]) >= decoder.source.place
        return decoder.ended and entry == decoder.entry and is_ahead

    def _first_right_from(self, entry: int) -> int:
        return 0 if entry == FIRST_PACKET else int(self.table.entries.first_frame[entry])

    def _can_go_on(self, decoder: Decoder, index: int) -> bool:
        if index <= self._newest or index < self._first_right or decoder.ended:
            return False
        if self.table.packet[index] in decoder.left_out:
            return False
        entry = int(self.table.entry_of_frame[index])
        if entry == FIRST_PACKET:
            return True
        ahead = int(self.table.entries.packet[entry]) - decoder.source.place
        return ahead <= WORTH_A_SEEK_PACKETS

    def _fault(self, index: int, decoded: Decoded | None, decoder: Decoder) -> str | None:
        """Why the frame cannot be given; None for a sound one."""
        if decoded is not None and not decoder.damaged:
            return None
        first, end = self._interval(index)
        if decoded is None:
            return f"frame {index} does not come out of the decoder (frames {first}-{end - 1})"
        start = self._clean_packet(index)
        if any(start <= place <= decoded.place for place in decoder.damaged):
            return f"frame {index} is damaged: decoder error in frames {first}-{end - 1}"
        return None

    @cached_property
    def _clean_points(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """(packet, first frame) of each place behind which earlier damage has no effect."""
        if self.table.access == "seek":
            entries = self.table.entries
            return entries.packet, entries.first_frame.astype(np.int64)
        keys = np.flatnonzero(self.table.is_key)
        return self.table.packet[keys], keys

    def _clean_point(self, index: int) -> int:
        packets, first_frames = self._clean_points
        by_packet = np.searchsorted(packets, self.table.packet[index], side="right") - 1
        by_frame = np.searchsorted(first_frames, index, side="right") - 1
        return int(min(by_packet, by_frame))

    def _clean_packet(self, index: int) -> int:
        point = self._clean_point(index)
        return int(self._clean_points[0][point]) if point >= 0 else 0

    def _interval(self, index: int) -> tuple[int, int]:
        """First frame, and frame after the last, that share the fate of a frame."""
        point, first_frames = self._clean_point(index), self._clean_points[1]
        first = int(first_frames[point]) if point >= 0 else 0
        later = first_frames[point + 1 :]
        return first, int(later[0]) if len(later) else self.table.num_frames
