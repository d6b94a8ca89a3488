"""Makes clips: a task in, pixels in its slot, a report out. The same in a worker and without one.

T C H W of one clip.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from filmgate.catalog import Catalog
from filmgate.catalog.clip_frames import Split
from filmgate.catalog.order import Order, Sample, make_order
from filmgate.errors import UnreadableVideo, VideoError
from filmgate.feed.messages import ClipDone, ClipFailed, Effort, FailureKind, Task
from filmgate.feed.open_videos import OpenVideo, OpenVideos
from filmgate.feed.picture import Painter, UnsupportedColour, Window
from filmgate.feed.watch import Watch
from filmgate.spec import Job
from filmgate.video import FrameTable


class ClipMaker:
    """Makes the clips of one split of a job; keeps decoders and scalers between clips."""

    def __init__(self, job: Job, order: Order, videos: OpenVideos) -> None:
        self._job = job
        self._order = order
        self._videos = videos
        self._painter = Painter()

    def make(
        self, task: Task, out_TCHW: NDArray[np.uint8], *, deadline_seconds: float | None = None
    ) -> ClipDone | ClipFailed:
        """Write the clip into ``out_TCHW``, or say why that cannot be done.

        A deadline given here is looked at between frames; a single frame can go past it.
        Raises UserError when a clip is too short and the job says ``raise``.
        """
        watch = Watch()
        sample = sample_of(self._order, task)
        video = self._videos.get(sample.video)
        decoded_before = video.reader.num_decoded
        watch.lap("look-up")
        fault = self._try(sample, video, out_TCHW, watch, deadline_seconds)
        effort = watch.effort(video.reader.num_decoded - decoded_before)
        if fault is None:
            return _done(task, sample, video, effort)
        self._videos.drop(sample.video)
        return failure(task, sample, video.facts.video_id, video.facts.path, fault, effort)

    def _try(
        self,
        sample: Sample,
        video: OpenVideo,
        out_TCHW: NDArray[np.uint8],
        watch: Watch,
        deadline_seconds: float | None,
    ) -> tuple[FailureKind, str] | None:
        """Paint the clip; None when all of it came out, otherwise what went wrong."""
        try:
            for _ in self._paint(sample, video, out_TCHW, watch):
                if deadline_seconds is not None and watch.seconds > deadline_seconds:
                    return "deadline", f"took longer than {deadline_seconds:g} s"
        except UnreadableVideo as error:
            return "unreadable", error.reason
        except VideoError as error:
            return "undecodable", error.reason
        except UnsupportedColour as error:
            return "undecodable", str(error)
        except (av.FFmpegError, OSError) as error:
            return "undecodable", f"reading failed: {error}"
        finally:
            watch.lap("decode")
        return None

    def _paint(
        self, sample: Sample, video: OpenVideo, out_TCHW: NDArray[np.uint8], watch: Watch
    ) -> Iterator[None]:
        """Decode and convert frame by frame; a frame shown twice is converted once."""
        window = Window(
            size=(self._job.clip.height, self._job.clip.width),
            top_share=sample.crop_top_share,
            left_share=sample.crop_left_share,
            flip=sample.flip,
        )
        for index, frame in video.reader.frames(sample.frame_indices_T.tolist()):
            watch.lap("decode")
            first, *others = np.flatnonzero(sample.frame_indices_T == index).tolist()
            self._painter.paint(frame, video.orientation, window, out_TCHW[first])
            for other in others:
                out_TCHW[other] = out_TCHW[first]
            watch.lap("convert")
            yield

    def close(self) -> None:
        """Close the decoders."""
        self._videos.close()


def make_clip_maker(job: Job, catalog: Catalog, split: Split) -> ClipMaker:
    """A maker with its own order and decoders over a catalog."""
    videos = OpenVideos(catalog)

    def frame_table(row: int) -> FrameTable:
        return videos.get(row).reader.table

    return ClipMaker(job, order_over(job, catalog, split, frame_table), videos)


def order_over(
    job: Job, catalog: Catalog, split: Split, frame_table: Callable[[int], FrameTable]
) -> Order:
    """The order of a job's clips over a catalog. Raises UserError as ``make_order``."""
    needs_durations = job.clip.fps is not None and job.data.holdout > 0
    return make_order(
        job,
        split,
        catalog_digest=catalog.digest,
        num_frames_V=catalog.num_frames,
        duration_seconds_V=(
            catalog.column("duration_seconds").to_numpy() if needs_durations else None
        ),
        frame_table=frame_table,
    )


def sample_of(order: Order, task: Task) -> Sample:
    """The sample that a task asks for, replacement or not."""
    if task.attempt:
        return order.substitute(task.number, task.attempt)
    return order.sample(task.number)


def failure(
    task: Task,
    sample: Sample,
    video_id: str,
    path: str,
    fault: tuple[FailureKind, str],
    effort: Effort,
) -> ClipFailed:
    """The report of a clip that did not come out."""
    first, last = int(sample.frame_indices_T.min()), int(sample.frame_indices_T.max())
    return ClipFailed(
        task=task,
        kind=fault[0],
        video=sample.video,
        video_id=video_id,
        path=Path(path),
        place=f"frames {first} to {last}",
        reason=fault[1],
        effort=effort,
    )


def _done(task: Task, sample: Sample, video: OpenVideo, effort: Effort) -> ClipDone:
    table = video.reader.table
    return ClipDone(
        task=task,
        sample=sample,
        times_T=np.array([table.seconds(int(index)) for index in sample.frame_indices_T]),
        video_id=video.facts.video_id,
        content_digest=video.facts.content_digest,
        label=video.facts.label,
        effort=effort,
    )
