"""The sample that layouts are tried on: stretches of some videos, encoded by each recipe."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import av
import numpy as np

from filmgate.catalog import Catalog
from filmgate.errors import UserError, VideoError
from filmgate.prepare.check import Likeness, WrongCopy, check_copy, mean_likeness
from filmgate.prepare.encode import write_copy
from filmgate.prepare.encoders import ENCODERS, encoders_of
from filmgate.prepare.pictures import UnusablePicture, why_left_out
from filmgate.prepare.recipe import Recipe
from filmgate.prepare.times import CopyTimes, UnusableTimes, copy_times
from filmgate.spec import Clip
from filmgate.work import run_jobs
from filmgate.work.cores import num_usable_cores

ENCODE_DEADLINE_SECONDS = 1800.0
"""A stretch that takes longer rules its recipe out."""


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """Part of a source video that every recipe copies."""

    row: int
    """In the source's catalog."""
    first: int
    """First frame."""
    num_frames: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class MadeCopy:
    """All stretches encoded by one recipe."""

    recipe: Recipe
    folder: Path
    """Holds one file for each stretch, in their order by name."""
    num_bytes: int
    cpu_seconds: float
    """To make them, reading the source included."""
    likeness: Likeness | None
    why_not: str | None
    """Why it cannot be used; None when it can."""


@dataclass(frozen=True, kw_only=True)
class _Encode:
    """One stretch to be encoded by one recipe."""

    catalog: Catalog
    stretch: Stretch
    recipe: Recipe
    out: Path
    """Without its suffix."""


@dataclass(frozen=True, kw_only=True)
class _Encoded:
    cpu_seconds: float = 0.0
    num_bytes: int = 0
    likeness: Likeness | None = None
    why_not: str | None = None


def choose_stretches(
    catalog: Catalog, clip: Clip, num_videos: int, seconds: float
) -> list[Stretch]:
    """The middle ``seconds`` of videos that spread evenly over the catalog's bit rates.

    Raises UserError when no video is long enough for a clip.
    """
    durations = catalog.column("duration_seconds").to_numpy()
    sizes = np.array([stamp["size_bytes"] for stamp in catalog.column("stamp").to_pylist()])
    span = clip_span_frames(clip, catalog)
    usable = np.flatnonzero((catalog.num_frames >= span) & (durations > 0))
    if not len(usable):
        raise UserError(
            f"no video is long enough for a clip of {span} frames",
            hint="ask for fewer frames or a smaller stride in the job's [clip]",
        )
    by_rate = usable[np.argsort(sizes[usable] / durations[usable], kind="stable")]
    places = np.linspace(0, len(by_rate) - 1, min(num_videos, len(by_rate))).round().astype(int)
    return [_middle(catalog, int(row), seconds, span) for row in by_rate[places].tolist()]


def clip_span_frames(clip: Clip, catalog: Catalog) -> int:
    """Source frames from the first to the last of a clip, at most, at 60 frames a second."""
    if clip.sampling == "uniform":
        return clip.frames
    if clip.fps is not None:
        fastest = max(num / den for num, den in catalog.column("average_fps").to_pylist())
        return int((clip.frames - 1) * fastest / clip.fps) + 2
    return (clip.frames - 1) * (clip.stride or 1) + 1


def _middle(catalog: Catalog, row: int, seconds: float, span: int) -> Stretch:
    facts, table = catalog.video(row), catalog.frame_table(row)
    wanted = round(facts.num_frames * min(1.0, seconds / facts.duration_seconds))
    num_frames = min(facts.num_frames, max(wanted, 2 * span))
    first = (facts.num_frames - num_frames) // 2
    last_end = (
        int(table.pts[first + num_frames])
        if first + num_frames < table.num_frames
        else (table.end_ticks)
    )
    return Stretch(
        row=row,
        first=first,
        num_frames=num_frames,
        seconds=float((last_end - int(table.pts[first])) * table.time_base),
    )


def encode_stretches(
    catalog: Catalog,
    stretches: Sequence[Stretch],
    recipes: Sequence[Recipe],
    scratch: Path,
    workers: int | None,
    on_progress: Callable[[int, int], None] | None,
) -> list[MadeCopy]:
    """Each recipe's copy of the sample, in its own folder below ``scratch``."""
    folders = [scratch / f"{number:03}" for number in range(len(recipes))]
    for folder in folders:
        folder.mkdir()
    jobs = [
        _Encode(catalog=catalog, stretch=stretch, recipe=recipe, out=folder / f"{number:03}")
        for recipe, folder in zip(recipes, folders, strict=True)
        for number, stretch in enumerate(stretches)
    ]
    results: dict[int, _Encoded] = {}
    for outcome in run_jobs(
        _encode,
        jobs,
        num_workers=num_usable_cores() if workers is None else workers,
        deadline_seconds=ENCODE_DEADLINE_SECONDS,
        on_progress=on_progress,
    ):
        results[outcome.index] = outcome.value or _Encoded(why_not=outcome.fault)
    size = len(stretches)
    return [
        _made(recipe, folder, [results[number * size + place] for place in range(size)])
        for number, (recipe, folder) in enumerate(zip(recipes, folders, strict=True))
    ]


def _made(recipe: Recipe, folder: Path, encoded: Sequence[_Encoded]) -> MadeCopy:
    why_not = next((one.why_not for one in encoded if one.why_not is not None), None)
    likenesses = [one.likeness for one in encoded if one.likeness is not None]
    return MadeCopy(
        recipe=recipe,
        folder=folder,
        num_bytes=sum(one.num_bytes for one in encoded),
        cpu_seconds=sum(one.cpu_seconds for one in encoded),
        likeness=mean_likeness(likenesses) if why_not is None else None,
        why_not=why_not,
    )


def _encode(job: _Encode) -> _Encoded:
    """Runs in a worker."""
    facts, table = job.catalog.video(job.stretch.row), job.catalog.frame_table(job.stretch.row)
    usable = encoders_of(job.recipe.layout.codec)
    if not usable:
        tried = ", ".join(one.name for one in ENCODERS if one.codec == job.recipe.layout.codec)
        return _Encoded(why_not=f"no encoder for {job.recipe.layout.codec} works here ({tried})")
    encoder = usable[0]
    why_not = why_left_out(facts, job.recipe, encoder)
    if why_not is not None:
        return _Encoded(why_not=f"{facts.video_id}: {why_not}")
    out = job.out.with_suffix(encoder.suffix)
    began = time.process_time()
    try:
        times = stretch_times(copy_times(table, job.recipe.fps), job.stretch)
        written = write_copy(Path(facts.path), facts, table, times, job.recipe, encoder, out)
        cpu_seconds = time.process_time() - began
        _, _, likeness = check_copy(out, times, written)
    except (VideoError, UnusableTimes, UnusablePicture, WrongCopy, av.FFmpegError) as error:
        return _Encoded(why_not=f"{facts.video_id}: {error}")
    return _Encoded(cpu_seconds=cpu_seconds, num_bytes=out.stat().st_size, likeness=likeness)


def stretch_times(times: CopyTimes, stretch: Stretch) -> CopyTimes:
    """The part of a copy's times that shows the source frames of a stretch."""
    last = stretch.first + stretch.num_frames
    chosen = (times.source_frames_N >= stretch.first) & (times.source_frames_N < last)
    start, end = (int(place) for place in (np.flatnonzero(chosen)[[0, -1]] + [0, 1]))
    ends = np.append(times.ticks_N[1:], times.end_ticks)
    return replace(
        times,
        ticks_N=times.ticks_N[start:end] - times.ticks_N[start],
        end_ticks=int(ends[end - 1] - times.ticks_N[start]),
        source_frames_N=times.source_frames_N[start:end],
    )
