"""Decoded frames kept for repeated use, as many whole videos as the budget holds.

Random order over a set larger than a cache makes one that evicts useless. This one is filled once:
which frames have a place is arithmetic on the catalog, a frame is written there when it is first
decoded, and it stays. The share of the videos that fits is served from memory from then on, the
rest is decoded as ever. Source: the MinIO cache of Mohan et al., "Analyzing and Mitigating Data
Stalls in DNN Training" (2021), section 5.1.

With a random crop frames are kept whole, at the size that the window is cut from, and unmirrored.
Pixels are written by workers and read by all; what is there only the line knows, which tells
workers with each task and hears it from them with each report.

R videos with a place, T clip frames, C = 3 as R G B.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from filmgate.catalog import Catalog
from filmgate.catalog.order import Order
from filmgate.catalog.sample import Sample
from filmgate.feed.geometry import Orientation, Size, cover, crop_offset
from filmgate.feed.mapping import (
    Memory,
    file_memory,
    open_memory,
    private_memory,
    refuse_too_large,
    shared_memory,
)
from filmgate.feed.mirror import mirror
from filmgate.feed.picture import Painter, Window
from filmgate.spec import Job
from filmgate.video import FrameTable

ROWS_AT_ONCE = 4096
"""Catalog rows that are unpacked together while places are given out."""
MAX_FILL_FRAMES = 512
"""Longest run between entry points that is decoded as a whole when one of its frames is missing."""
_COLUMNS = (
    "num_frames", "width", "height", "rotation_degrees", "mirrored", "sample_aspect", "mixed_sizes",
)  # fmt: skip


def fill_of(table: FrameTable, missing: NDArray[np.int64], video: KeptVideo) -> list[int]:
    """The missing frames, and all that come out of the decoder with them: whole runs between
    entry points, as far as the video's range goes and a run is not too long."""
    wanted = set(missing.tolist())
    entries = table.entry_of_frame[video.first : video.first + video.num_frames]
    for entry in np.unique(table.entry_of_frame[missing]):
        run = video.first + np.flatnonzero(entries == entry)
        if len(run) <= MAX_FILL_FRAMES:
            wanted.update(run.tolist())
    return sorted(wanted)


@dataclass(frozen=True, kw_only=True)
class KeptVideo:
    """Where the frames of one video lie."""

    offset: int
    """Byte of the memory at which frame 0 of the range lies."""
    first: int
    """First frame that the split shows."""
    num_frames: int
    """Frames with a place."""
    stored: Size
    """Of the frames as they come out of the decoder."""
    size: Size
    """Of the frames as they are kept."""


@dataclass(frozen=True, kw_only=True)
class StorePlan:
    """The places of all kept frames; the same for every process."""

    videos: dict[int, KeptVideo]
    """Catalog row -> its place."""
    num_bytes: int
    """Size of the memory."""
    window: Size
    """H and W of a clip."""


def plan_store(job: Job, catalog: Catalog, order: Order, budget_bytes: int) -> StorePlan:
    """Places for the first videos of the catalog, until the budget is given out."""
    window = (job.clip.height, job.clip.width)
    videos: dict[int, KeptVideo] = {}
    offset = 0
    for row, facts in _facts(catalog):
        if facts["mixed_sizes"] or not order.is_shown(row):
            continue
        video = _place(job, order, row, facts, offset=offset)
        end = offset + video.num_frames * 3 * video.size[0] * video.size[1]
        if end > budget_bytes:
            break
        videos[row], offset = video, end
    return StorePlan(videos=videos, num_bytes=offset, window=window)


def _facts(catalog: Catalog) -> Iterator[tuple[int, dict[str, object]]]:
    columns = [catalog.column(name) for name in _COLUMNS]
    for start in range(0, catalog.num_videos, ROWS_AT_ONCE):
        parts = [column.slice(start, ROWS_AT_ONCE).to_pylist() for column in columns]
        for place, values in enumerate(zip(*parts, strict=True)):
            yield start + place, dict(zip(_COLUMNS, values, strict=True))


def _place(job: Job, order: Order, row: int, facts: dict[str, object], offset: int) -> KeptVideo:
    first, limit = order.clip_frames.bounds(row, order.facts.split)
    window = (job.clip.height, job.clip.width)
    stored = (int(str(facts["height"])), int(str(facts["width"])))
    aspect = facts["sample_aspect"]
    orientation = Orientation(
        rotation_degrees=int(str(facts["rotation_degrees"])),
        mirrored=bool(facts["mirrored"]),
        sample_aspect=(int(aspect[0]), int(aspect[1])) if isinstance(aspect, list) else None,
    )
    is_whole = job.clip.crop == "random"
    return KeptVideo(
        offset=offset,
        first=first,
        num_frames=limit - first,
        stored=stored,
        size=cover(orientation.upright(stored), window) if is_whole else window,
    )


class FrameStore:
    """The pixels of kept frames."""

    def __init__(self, plan: StorePlan, memory: Memory) -> None:
        self.plan = plan
        self._memory = memory
        self._scratch_CHW = np.empty((3, *plan.window), np.uint8)

    @property
    def handle(self) -> tuple[StorePlan, int]:
        """For ``open_store`` in another process that inherits the descriptor."""
        assert self._memory.descriptor is not None
        return self.plan, self._memory.descriptor

    def video(self, row: int) -> KeptVideo | None:
        """The place of a video; None when it has none."""
        return self.plan.videos.get(row)

    def frames(self, video: KeptVideo) -> NDArray[np.uint8]:
        """(frames, C, h, w) of a video, from ``first`` on; the memory itself."""
        shape = (video.num_frames, 3, *video.size)
        return np.ndarray(shape, np.uint8, buffer=self._memory.view, offset=video.offset)

    def keep(
        self,
        painter: Painter,
        frame: av.VideoFrame,
        orientation: Orientation,
        video: KeptVideo,
        index: int,
    ) -> bool:
        """Write a decoded frame to its place; False when it has another size than its video.

        It is painted window by window, so that each kept pixel is the very one that painting a
        clip's own window would give.
        """
        if (frame.height, frame.width) != video.stored:
            return False
        out_CHW = self.frames(video)[index - video.first]
        height, width = self.plan.window
        free_rows, free_columns = video.size[0] - height, video.size[1] - width
        for top in _steps(free_rows, height):
            for left in _steps(free_columns, width):
                window = Window(
                    size=self.plan.window,
                    top_share=(top + 0.5) / (free_rows + 1),
                    left_share=(left + 0.5) / (free_columns + 1),
                )
                painter.paint(frame, orientation, window, self._scratch_CHW)
                out_CHW[:, top : top + height, left : left + width] = self._scratch_CHW
        return True

    def write_frame(self, sample: Sample, index: int, out_CHW: NDArray[np.uint8]) -> None:
        """Cut a kept frame for a clip."""
        cut_NCHW, first = self._cut(sample)
        frame_CHW = cut_NCHW[index - first]
        if sample.flip:
            mirror(frame_CHW, out_CHW)
        else:
            out_CHW[:] = frame_CHW

    def write_clip(self, sample: Sample, out_TCHW: NDArray[np.uint8]) -> None:
        """Cut a clip all of whose frames are there."""
        cut_NCHW, first = self._cut(sample)
        for index, out_CHW in zip(sample.frame_indices_T.tolist(), out_TCHW, strict=True):
            if sample.flip:
                mirror(cut_NCHW[index - first], out_CHW)
            else:
                out_CHW[:] = cut_NCHW[index - first]

    def _cut(self, sample: Sample) -> tuple[NDArray[np.uint8], int]:
        """The sample's window in all kept frames of its video, and the first of them."""
        video = self.plan.videos[sample.video]
        height, width = self.plan.window
        top = crop_offset(video.size[0] - height, sample.crop_top_share)
        left = crop_offset(video.size[1] - width, sample.crop_left_share)
        frames_NCHW = self.frames(video)
        return frames_NCHW[:, :, top : top + height, left : left + width], video.first

    def close(self) -> None:
        """Give this process's hold on the memory back."""
        self._memory.close()


def create_store(
    plan: StorePlan | None, folder: Path | None, *, is_shared: bool
) -> FrameStore | None:
    """A new, empty store; None for no plan. Raises UserError when there is no room for it."""
    if plan is None:
        return None
    if folder is not None:
        return FrameStore(plan, file_memory(plan.num_bytes, folder))
    what = f"the decoded frames of {len(plan.videos)} videos"
    refuse_too_large(plan.num_bytes, what, "lower cache in [limits], or name a cache_folder")
    make = shared_memory if is_shared else private_memory
    return FrameStore(plan, make(plan.num_bytes))


def open_store(handle: tuple[StorePlan, int] | None) -> FrameStore | None:
    """The store of another process; None for none."""
    if handle is None:
        return None
    plan, descriptor = handle
    return FrameStore(plan, open_memory(descriptor, plan.num_bytes))


def _steps(free: int, step: int) -> list[int]:
    """Offsets of windows that together cover everything."""
    return sorted({*range(0, free, step), free})
