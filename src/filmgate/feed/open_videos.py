"""Videos that a process has at hand: facts, frame table and an open decoder, the latest few."""

from __future__ import annotations

import resource
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from filmgate.catalog import Catalog, VideoRow
from filmgate.feed.geometry import Orientation, orientation_of
from filmgate.video import VideoReader

MAX_OPEN_VIDEOS = 32
"""Decoders kept open by one process; each costs a few MB and a file descriptor."""
OTHER_DESCRIPTORS = 40
"""Descriptors left to everything else in the process."""


@dataclass(frozen=True, kw_only=True)
class OpenVideo:
    """One video at hand. The file itself is opened by the first read."""

    facts: VideoRow
    reader: VideoReader
    orientation: Orientation


class OpenVideos:
    """The videos used last; the one unused longest is closed when there is no room."""

    def __init__(self, catalog: Catalog, max_open: int | None = None) -> None:
        self._catalog = catalog
        self._max_open = max_open or max_open_videos()
        self._open: OrderedDict[int, OpenVideo] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def get(self, row: int) -> OpenVideo:
        """A row's video. Raises IndexError for a row that the catalog does not have."""
        video = self._open.pop(row, None) or self._look_up(row)
        self._open[row] = video
        if len(self._open) > self._max_open:
            self._open.popitem(last=False)[1].reader.close()
        return video

    def drop(self, row: int) -> None:
        """Close one, so that its next use begins afresh."""
        if row in self._open:
            self._open.pop(row).reader.close()

    def close(self) -> None:
        """Close all of them."""
        while self._open:
            self._open.popitem()[1].reader.close()

    def _look_up(self, row: int) -> OpenVideo:
        facts = self._catalog.video(row)
        reader = VideoReader(Path(facts.path), self._catalog.frame_table(row))
        return OpenVideo(facts=facts, reader=reader, orientation=orientation_of(facts))


def max_open_videos() -> int:
    """As many as the limit on open files allows, at most MAX_OPEN_VIDEOS and at least one."""
    soft_limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft_limit == resource.RLIM_INFINITY:
        return MAX_OPEN_VIDEOS
    return max(1, min(MAX_OPEN_VIDEOS, soft_limit - OTHER_DESCRIPTORS))
