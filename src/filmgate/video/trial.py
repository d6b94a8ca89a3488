"""Finding by trial where decoding can start, in files that cannot be trusted by rule.

Every candidate is entered as a reader would enter it, decoded past the next two candidates, and
compared frame by frame with one decode from the start. What a candidate gets right from some
frame on, it may be used for; a candidate that never gets right is no entry point.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import av
import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

from filmgate.errors import UndecodableFrame
from filmgate.video.decoder import Decoder
from filmgate.video.planes import packed_samples
from filmgate.video.table import EntryPoints, FrameTable

Digests = dict[int, bytes]
"""Place of a packet -> digest of the frame it carries."""
MOST_FRAMES_HELD_BACK = 32
"""Packets fed beyond a window, so that its last frames come out."""
SEEKS_TRIED = 8
"""Entry points that must hold where every packet stands alone."""
LEAST_PACKETS_APART = 12
"""Candidates closer together than this are not worth the trial."""


def frame_digest(frame: av.VideoFrame) -> bytes:
    """16 bytes that tell frames apart, faster than md5."""
    hasher = blake3(f"{frame.format.name} {frame.width} {frame.height}".encode())
    for samples in packed_samples(frame):
        hasher.update(samples)
    return hasher.digest(16)


def with_tried_entries(
    path: Path, table: FrameTable, digests: Digests, damaged: list[int], *, is_intra_only: bool
) -> FrameTable:
    """The table with the entry points that held; sequential access when none did.

    ``table.entries`` holds the candidates.
    """
    if not _is_one_to_one(table):
        return _sequential(table, "some packets give several frames")
    if not is_intra_only:
        table = replace(table, entries=_thinned(table.entries))
    num_candidates = len(table.entries.packet)
    decoder = Decoder(path, table)
    try:
        trial = _Trial(decoder, table, digests, damaged)
        if is_intra_only:
            first_frames = _own_frames(trial, table)
        else:
            first_frames = [trial.first_right_frame(entry) for entry in range(num_candidates)]
    finally:
        decoder.close()
    return _with_held(table, first_frames)


def _with_held(table: FrameTable, first_frames: list[int | None]) -> FrameTable:
    """Entry points that held; one that a later one overtakes is left out."""
    held = np.array([e for e, first in enumerate(first_frames) if first is not None], np.int64)
    firsts = np.array([first for first in first_frames if first is not None], np.int32)
    if not len(held):
        return _sequential(table, "decoding from the middle does not give the same frames")
    keep = np.minimum.accumulate(firsts[::-1])[::-1] == firsts
    entries = replace(chosen(table.entries, held[keep]), first_frame=firsts[keep])
    return replace(table, entries=entries, access="seek")


def chosen(entries: EntryPoints, which: NDArray[np.int64]) -> EntryPoints:
    """Some of the entry points."""
    return EntryPoints(
        packet=entries.packet[which],
        first_frame=entries.first_frame[which],
        seek_target=entries.seek_target[which],
        position=entries.position[which],
        size=entries.size[which],
        crc32=entries.crc32[which],
    )


def _is_one_to_one(table: FrameTable) -> bool:
    return len(np.unique(table.packet)) == table.num_frames


def _sequential(table: FrameTable, reason: str) -> FrameTable:
    nothing = chosen(table.entries, np.zeros(0, np.int64))
    return replace(table, entries=nothing, access="sequential", access_reason=reason)


def _thinned(entries: EntryPoints) -> EntryPoints:
    kept: list[int] = []
    for entry, place in enumerate(entries.packet):
        if not kept or place - entries.packet[kept[-1]] >= LEAST_PACKETS_APART:
            kept.append(entry)
    return chosen(entries, np.array(kept, np.int64))


def _own_frames(trial: _Trial, table: FrameTable) -> list[int | None]:
    """Where every packet stands alone, each is its own entry if a few of them hold."""
    num_candidates = len(table.entries.packet)
    some = sorted({num_candidates * k // SEEKS_TRIED for k in range(SEEKS_TRIED)})
    if not num_candidates or None in [trial.first_right_frame(entry) for entry in some]:
        return [None] * num_candidates
    frame_of_place = {int(place): frame for frame, place in enumerate(table.packet)}
    return [frame_of_place.get(int(place)) for place in table.entries.packet]


class _Trial:
    """Enters candidates and compares."""

    def __init__(
        self, decoder: Decoder, table: FrameTable, digests: Digests, damaged: list[int]
    ) -> None:
        self._decoder = decoder
        self._starts = table.entries.packet
        self._digests = digests
        self._damaged = np.array(damaged, np.int32)
        self._frames = np.argsort(table.packet, kind="stable")
        self._places = table.packet[self._frames]
        self._frame_of_place = {int(p): f for f, p in enumerate(table.packet)}

    def first_right_frame(self, entry: int) -> int | None:
        """First frame from which all frames of the window come out right; None for nowhere."""
        if not self._decoder.try_start(entry):
            return None
        next_start, stop = self._start(entry + 1), self._start(entry + 2)
        window = slice(*np.searchsorted(self._places, [self._starts[entry], stop]))
        places, frames = self._places[window], self._frames[window]
        useful = frames[places < next_start]
        if not len(useful):
            return None
        try:
            right = np.array(self._right_places(int(frames.max()), stop), np.int32)
        except UndecodableFrame:
            return None
        is_wrong = ~np.isin(places, right) & ~np.isin(places, self._damaged)
        first = int(frames[is_wrong].max(initial=frames.min() - 1)) + 1
        return first if first <= useful.max() else None

    def _start(self, entry: int) -> int:
        """Place of a candidate; behind everything after the last."""
        end = np.iinfo(np.int32).max
        return int(self._starts[entry]) if entry < len(self._starts) else end

    def _right_places(self, last_frame: int, stop: int) -> list[int]:
        """Decode until ``last_frame`` or a later one is out; places whose frames were right."""
        right: list[int] = []
        newest = -1
        while not self._decoder.ended and newest < last_frame:
            if self._decoder.source.place >= stop + MOST_FRAMES_HELD_BACK:
                break
            for decoded in self._decoder.step():
                newest = max(newest, self._frame_of_place.get(decoded.place, -1))
                wanted = self._digests.get(decoded.place)
                if not decoded.frame.is_corrupt and frame_digest(decoded.frame) == wanted:
                    right.append(decoded.place)
        return right
