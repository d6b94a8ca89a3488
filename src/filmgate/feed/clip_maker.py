"""Makes clips: a visit in, pixels in the slots, reports out. The same in a worker and without one.

T C H W of one clip.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from filmgate.catalog import Catalog
from filmgate.catalog.clip_frames import Split
from filmgate.catalog.order import Order
from filmgate.catalog.order_over import order_over
from filmgate.catalog.sample import Sample
from filmgate.errors import UnreadableVideo, UserError, VideoError
from filmgate.feed.colour import UnsupportedColour
from filmgate.feed.frame_store import FrameStore, KeptVideo, fill_of
from filmgate.feed.messages import (
    ClipDone,
    ClipFailed,
    Effort,
    FailureKind,
    Made,
    PlaneColour,
    Task,
    Visit,
)
from filmgate.feed.open_videos import OpenVideo, OpenVideos
from filmgate.feed.picture import Painter
from filmgate.feed.placement import window_of
from filmgate.feed.scaler import Scaler
from filmgate.feed.watch import Watch
from filmgate.feed.yuv import paint_yuv, yuv_colour
from filmgate.spec import Job
from filmgate.video import FrameTable

ClipOfSlot = Callable[[int], NDArray[np.uint8]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Canvas:
    """A clip in the making."""

    task: Task
    sample: Sample
    out_TCHW: NDArray[np.uint8]
    """In planes, (T, P, W), where the job transports them."""
    colours: set[PlaneColour] = field(default_factory=set)
    """Of the frames in planes so far; more than one is refused."""


class ClipMaker:
    """Makes the clips of one split of a job; keeps decoders and scalers between clips."""

    def __init__(
        self, job: Job, order: Order, videos: OpenVideos, store: FrameStore | None
    ) -> None:
        self._job = job
        self._store = store
        self._order = order
        self._videos = videos
        self._painter = Painter()
        self._scaler = Scaler()

    def make(
        self, visit: Visit, clip_of_slot: ClipOfSlot, *, clip_deadline_seconds: float | None = None
    ) -> tuple[Made, ...]:
        """Write each clip of a visit into its slot, or say why that cannot be done.

        A deadline given here is looked at between frames; a single frame can go past it.
        Raises UserError when a clip is too short and the job says ``raise``.
        """
        if visit.does_more:
            together = self._make(visit.tasks, clip_of_slot, clip_deadline_seconds, may_fill=True)
            if all(isinstance(made, ClipDone) for made in together):
                return together
        # One by one, so that each clip gets the verdict that it would have got by itself.
        return tuple(
            made
            for task in visit.tasks
            for made in self._make((task,), clip_of_slot, clip_deadline_seconds, may_fill=False)
        )

    def _make(
        self,
        tasks: tuple[Task, ...],
        clip_of_slot: ClipOfSlot,
        clip_deadline_seconds: float | None,
        *,
        may_fill: bool,
    ) -> tuple[Made, ...]:
        """All of the clips, or all of them failed; the first report carries the effort."""
        watch = Watch()
        clips = [
            Canvas(task=task, sample=sample_of(self._order, task), out_TCHW=clip_of_slot(task.slot))
            for task in tasks
        ]
        row = clips[0].sample.video
        video = self._videos.get(row)
        decoded_before = video.reader.num_decoded
        watch.lap("look-up")
        deadline_seconds = clip_deadline_seconds and clip_deadline_seconds * len(tasks)
        kept: list[int] = []
        frames = self._paint(clips, video, watch, kept, may_fill=may_fill)
        fault = _try(frames, watch, deadline_seconds)
        effort = watch.effort(video.reader.num_decoded - decoded_before, video.tier)
        efforts = [effort, *[Effort(tier=video.tier)] * (len(tasks) - 1)]
        facts = video.facts
        if fault is not None:
            self._videos.drop(row)
            return tuple(
                failure(task, clip.sample, facts.video_id, facts.path, fault, effort)
                for task, clip, effort in zip(tasks, clips, efforts, strict=True)
            )
        return tuple(
            _done(clip, video, effort, tuple(kept))
            for clip, effort in zip(clips, efforts, strict=True)
        )

    def _paint(
        self,
        clips: list[Canvas],
        video: OpenVideo,
        watch: Watch,
        kept: list[int],
        *,
        may_fill: bool,
    ) -> Iterator[None]:
        """Decode each frame once and convert it for every clip that shows it.

        Frames with a place in the store are written there, and added to ``kept``.
        """
        row = clips[0].sample.video
        self._videos.check(row)
        place = self._store.video(row) if self._store is not None else None
        wanted = np.unique(np.concatenate([self._copy_kept(clip) for clip in clips]))
        indices = wanted.tolist()
        if place is not None and may_fill and clips[0].task.fill:
            indices = fill_of(video.reader.table, wanted, place)
        for index, frame in video.reader.frames(indices):
            watch.lap("decode")
            is_kept = place is not None and self._keep(frame, video, place, index)
            if is_kept:
                kept.append(index)
            for clip in clips:
                self._paint_frame(index, frame, clip, video, is_kept=is_kept)
            watch.lap("convert")
            yield

    def _copy_kept(self, clip: Canvas) -> NDArray[np.int64]:
        """Cut the frames that the store has; the frames that it does not have."""
        indices_T = clip.sample.frame_indices_T
        if self._store is None or not clip.task.have:
            return indices_T
        have_T = np.frombuffer(clip.task.have, np.bool_)
        for place in np.flatnonzero(have_T).tolist():
            self._store.write_frame(clip.sample, int(indices_T[place]), clip.out_TCHW[place])
        return indices_T[~have_T]

    def _keep(self, frame: av.VideoFrame, video: OpenVideo, place: KeptVideo, index: int) -> bool:
        assert self._store is not None
        return self._store.keep(self._painter, frame, video.orientation, place, index)

    def _paint_frame(
        self, index: int, frame: av.VideoFrame, clip: Canvas, video: OpenVideo, *, is_kept: bool
    ) -> None:
        """A frame that the clip shows twice is converted once."""
        places = np.flatnonzero(clip.sample.frame_indices_T == index).tolist()
        if not places:
            return
        first, *others = places
        if is_kept and self._store is not None:
            self._store.write_frame(clip.sample, index, clip.out_TCHW[first])
        else:
            self._paint_window(frame, clip, video, clip.out_TCHW[first])
        for other in others:
            clip.out_TCHW[other] = clip.out_TCHW[first]

    def _paint_window(
        self, frame: av.VideoFrame, clip: Canvas, video: OpenVideo, out_CHW: NDArray[np.uint8]
    ) -> None:
        stored = (video.facts.height, video.facts.width)
        window = window_of(self._job.clip, clip.sample, video.orientation, stored)
        if self._job.data.transport == "rgb24":
            self._painter.paint(frame, video.orientation, window, out_CHW)
            return
        is_scaled = paint_yuv(frame, video.orientation, window, self._scaler, out_CHW)
        clip.colours.add(PlaneColour(colour=yuv_colour(frame), is_scaled=is_scaled))
        if len(clip.colours) > 1:
            raise UnsupportedColour("colour tags or size change within the clip: no yuv420p of it")

    def close(self) -> None:
        """Close the decoders."""
        self._videos.close()


def _try(
    frames: Iterator[None], watch: Watch, deadline_seconds: float | None
) -> tuple[FailureKind, str] | None:
    """Make all the frames; None when they came out, otherwise what went wrong."""
    try:
        for _ in frames:
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


def make_clip_maker(
    job: Job,
    catalog: Catalog,
    split: Split,
    store: FrameStore | None = None,
    *,
    order_digest: str | None = None,
) -> ClipMaker:
    """A maker with its own order and decoders over a catalog.

    Raises UserError when its order is not the one of the digest: a file of weights has changed.
    """
    videos = OpenVideos(catalog)

    def frame_table(row: int) -> FrameTable:
        """Of the open video, so that the catalog is not asked twice."""
        return videos.get(row).reader.table

    order = order_over(job, catalog, split, frame_table)
    if order_digest is not None and order.digest != order_digest:
        raise UserError(
            f"{job.data.weights} has changed since the feed was opened",
            hint="leave the weights as they are while they are in use; start again",
        )
    return ClipMaker(job, order, videos, store)


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


def _done(clip: Canvas, video: OpenVideo, effort: Effort, kept: tuple[int, ...]) -> ClipDone:
    table, sample = video.reader.table, clip.sample
    return ClipDone(
        task=clip.task,
        sample=sample,
        times_T=np.array([table.seconds(int(index)) for index in sample.frame_indices_T]),
        video_id=video.facts.video_id,
        content_digest=video.facts.content_digest,
        label=video.facts.label,
        effort=effort,
        colour=next(iter(clip.colours), None),
        kept=kept,
    )
