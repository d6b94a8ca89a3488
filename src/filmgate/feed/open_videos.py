"""Videos that a process has at hand: facts, frame table and an open decoder, the latest few."""

from __future__ import annotations

import os
import resource
import time
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

import msgspec

from filmgate.catalog import Catalog, VideoRow
from filmgate.catalog.read_file import stamp_of
from filmgate.catalog.tiers import Located, Tier, is_staged, is_staging, is_url, locate
from filmgate.errors import UnreadableVideo
from filmgate.feed.geometry import Orientation, orientation_of
from filmgate.pack.frames import PackedFrames, open_packed, pack_beside
from filmgate.records import digest_file
from filmgate.video import VideoReader
from filmgate.video.spare import may_leave_out

MAX_OPEN_VIDEOS = 32
"""Decoders kept open by one process; each costs a file descriptor and the frames it holds."""
MAX_OPEN_BYTES = 512_000_000
"""Memory of all decoders kept open by one process, as far as it can be told beforehand."""
FRAMES_IN_DECODER = 20
"""Frames that an open decoder holds. Measured: 17 (H.264, 640x360, 2 B-frames, 8 decoders)."""
OTHER_DESCRIPTORS = 40
"""Descriptors left to everything else in the process."""
STAGING_WAIT_SECONDS = 20.0
"""How long a video that lies in an object store is waited for, while others are staged."""
STAGING_LOOK_SECONDS = 0.2


@dataclass(frozen=True, kw_only=True)
class OpenVideo:
    """One video at hand. The file itself is opened by the first read."""

    facts: VideoRow
    """With the path of the file that is read, hot or cold."""
    reader: VideoReader | PackedFrames
    orientation: Orientation
    tier: Tier | None
    """None in a catalog of which nothing was staged."""
    lease: int | None

    def close(self) -> None:
        """Close the file; from now on a hot one may be evicted."""
        self.reader.close()
        if self.lease is not None:
            os.close(self.lease)


class OpenVideos:
    """The videos used last; the one unused longest is closed when there is no room."""

    def __init__(
        self, catalog: Catalog, max_open: int | None = None, *, cuda_device: int | None = None
    ) -> None:
        self._catalog = catalog
        self._cuda_device = cuda_device
        self._max_open = max_open or max_open_videos(with_leases=is_staged(catalog.path))
        self._open: OrderedDict[int, OpenVideo] = OrderedDict()
        self._checked: set[int] = set()
        self._pack = pack_beside(catalog)

    def __contains__(self, row: int) -> bool:
        return row in self._open

    def get(self, row: int) -> OpenVideo:
        """A row's video. Raises IndexError for a row that the catalog does not have."""
        video = self._open.pop(row, None) or self._look_up(row)
        self._open[row] = video
        while len(self._open) > 1 and self._are_too_many():
            self.drop(next(iter(self._open)))
        return video

    def check(self, row: int) -> None:
        """Make sure that the file is the one that was indexed, once while it is at hand.

        A file whose size, time or inode changed is read whole, and its content decides: a copy
        is as good as the original. Raises UnreadableVideo for other content, and for a video in an
        object store that is not staged.
        """
        facts = self._open[row].facts
        if row in self._checked or self._pack is not None:  # a pack checks each image
            return
        if is_url(facts.path):
            raise UnreadableVideo(
                facts.path,
                "it lies in an object store and is not staged",
                hint="stage it: filmgate stage CATALOG --to DIR, and give DIR as the catalog",
            )
        if stamp_of(Path(facts.path)) != facts.stamp:
            _check_content(facts)
        self._checked.add(row)

    def drop(self, row: int) -> None:
        """Close one, so that its next use begins afresh."""
        self._checked.discard(row)
        if row in self._open:
            self._open.pop(row).close()

    def close(self) -> None:
        """Close all of them."""
        while self._open:
            self._open.popitem()[1].close()
        if self._pack is not None:
            self._pack.close()

    def _are_too_many(self) -> bool:
        if len(self._open) > self._max_open:
            return True
        return sum(decoder_bytes(video.facts) for video in self._open.values()) > MAX_OPEN_BYTES

    def _look_up(self, row: int) -> OpenVideo:
        if self._pack is not None:
            facts, reader = open_packed(self._catalog, self._pack, row)
            return OpenVideo(
                facts=facts,
                reader=reader,
                orientation=orientation_of(facts),
                tier=self._pack.tier_of(row),
                lease=None,  # the pack holds its shards
            )
        facts = self._catalog.video(row)
        table = self._catalog.frame_table(row)
        located = self._locate(facts)
        facts = msgspec.structs.replace(facts, path=located.path, stamp=located.stamp)
        return OpenVideo(
            facts=facts,
            reader=VideoReader(
                Path(facts.path), table, may_leave_out(facts), cuda_device=self._cuda_device
            ),
            orientation=orientation_of(facts),
            tier=located.tier,
            lease=located.lease,
        )

    def _locate(self, facts: VideoRow) -> Located:
        """Where to read it; an object is waited for, as long as somebody stages."""
        deadline = time.monotonic() + STAGING_WAIT_SECONDS
        located = locate(self._catalog.path, facts)
        while is_url(located.path) and time.monotonic() < deadline:
            is_going_on = is_staging(self._catalog.path)
            located = locate(self._catalog.path, facts)
            if not is_going_on:
                break
            time.sleep(STAGING_LOOK_SECONDS)
        return located


def _check_content(facts: VideoRow) -> None:
    try:
        digest = digest_file(Path(facts.path))
    except OSError as error:
        raise UnreadableVideo(facts.path, f"reading failed: {error}") from None
    if digest != facts.content_digest:
        reason = "its content changed since it was indexed"
        raise UnreadableVideo(facts.path, reason, hint="index it again")


def decoder_bytes(facts: VideoRow) -> int:
    """What an open decoder of the video takes, taking its chroma as 4:2:0: an estimate."""
    bytes_per_sample = (facts.bits_per_sample + 7) // 8
    return FRAMES_IN_DECODER * facts.width * facts.height * bytes_per_sample * 3 // 2


def max_open_videos(*, with_leases: bool = False) -> int:
    """As many as the limit on open files allows, at most MAX_OPEN_VIDEOS and at least one.

    A lease, which keeps a staged file from being evicted, is a second descriptor.
    """
    soft_limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft_limit == resource.RLIM_INFINITY:
        return MAX_OPEN_VIDEOS
    num_videos = (soft_limit - OTHER_DESCRIPTORS) // (2 if with_leases else 1)
    return max(1, min(MAX_OPEN_VIDEOS, num_videos))
