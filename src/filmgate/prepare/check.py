"""Holding a finished copy against its source: frames, times, size, colours, pictures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.filter import Graph

from filmgate.feed.colour import colour_of
from filmgate.prepare.encode import Written
from filmgate.prepare.pictures import COLOUR_OF_TAG
from filmgate.prepare.times import CopyTimes
from filmgate.records import Record
from filmgate.video import FrameTable, VideoFacts, VideoReader, probe

LOWEST_PSNR_DB = 20.0
"""A picture further off than this is taken for another picture, or a broken one."""


class WrongCopy(Exception):
    """A copy is not what was written; says in what."""


class Likeness(Record, frozen=True):
    """How close pictures are to those they were encoded from."""

    psnr_db: float | None
    """Peak signal-to-noise ratio from the mean squared error over all planes and pictures, as
    FFmpeg's psnr filter weighs them; None: identical."""
    lowest_psnr_db: float | None
    """Of the worst picture; None: identical."""
    ssim: float
    """Structural similarity, mean over the pictures, all planes; 1 is identical. As FFmpeg's ssim
    filter has it."""


def check_copy(
    path: Path, times: CopyTimes, written: Written
) -> tuple[VideoFacts, FrameTable, Likeness]:
    """The facts and frame table of a copy that is right, and how close it is.

    Raises WrongCopy, VideoError when it cannot be read.
    """
    facts, table = probe(path)
    _check_times(table, times)
    if (facts.height, facts.width) != written.size:
        raise WrongCopy(f"it is {facts.width}x{facts.height} instead of {written.size[::-1]}")
    if table.access != "seek":
        raise WrongCopy(f"its frames can be reached from the start only: {table.access_reason}")
    with VideoReader(path, table) as reader:
        pairs = []
        for number, frame in reader.frames(sorted(written.pictures)):
            colour, expected = colour_of(frame), COLOUR_OF_TAG[written.tags.matrix]
            if (colour.matrix, colour.range) != (expected, written.tags.range):
                raise WrongCopy(f"it says its colours are {colour}, they are {written.tags}")
            pairs.append((written.pictures[number], frame))
    likeness = likeness_of(pairs)
    if likeness.lowest_psnr_db is not None and likeness.lowest_psnr_db < LOWEST_PSNR_DB:
        raise WrongCopy(f"a picture is only {likeness.lowest_psnr_db:.1f} dB close to its source")
    return facts, _with_exact_end(table, times), likeness


def _check_times(table: FrameTable, times: CopyTimes) -> None:
    if table.num_frames != len(times.ticks_N):
        raise WrongCopy(f"it has {table.num_frames} frames instead of {len(times.ticks_N)}")
    ratio = table.time_base / times.time_base
    ticks_N = table.pts - table.pts[0]
    # Exact: a / b == c / d as a * d == b * c, in integers.
    off = np.flatnonzero(ticks_N * ratio.numerator != times.ticks_N * ratio.denominator)
    if len(off):
        number = int(off[0])
        got, wanted = table.seconds(number), float(int(times.ticks_N[number]) * times.time_base)
        raise WrongCopy(f"frame {number} is at {got} s instead of {wanted} s")


def _with_exact_end(table: FrameTable, times: CopyTimes) -> FrameTable:
    """The table with the source's end: containers round how long the last frame is shown."""
    end_ticks = times.end_ticks * times.time_base / table.time_base
    return replace(table, end_ticks=int(table.pts[0]) + int(end_ticks))


def likeness_of(pairs: Iterable[tuple[av.VideoFrame, av.VideoFrame]]) -> Likeness:
    """How close the second picture of each pair is to the first; same size and format."""
    squared_errors, similarities = [], []
    for original, decoded in pairs:
        other = decoded.reformat(format=original.format.name)
        peak = (1 << original.format.components[0].bits) - 1
        squared_error = float(_filtered("psnr", original, other)["lavfi.psnr.mse_avg"])
        squared_errors.append(squared_error / peak**2)
        similarities.append(float(_filtered("ssim", original, other)["lavfi.ssim.All"]))
    return Likeness(
        psnr_db=psnr_db(float(np.mean(squared_errors))),
        lowest_psnr_db=psnr_db(max(squared_errors)),
        ssim=float(np.mean(similarities)),
    )


def mean_likeness(likenesses: Sequence[Likeness]) -> Likeness:
    """Of several videos, each counted once; the worst picture of all."""
    errors = [0.0 if one.psnr_db is None else 10 ** (-one.psnr_db / 10) for one in likenesses]
    lowest = [one.lowest_psnr_db for one in likenesses if one.lowest_psnr_db is not None]
    return Likeness(
        psnr_db=psnr_db(float(np.mean(errors))),
        lowest_psnr_db=min(lowest, default=None),
        ssim=float(np.mean([one.ssim for one in likenesses])),
    )


def psnr_db(mean_squared_error: float) -> float | None:
    """Of an error relative to the peak's square; None where there is no error."""
    return None if mean_squared_error == 0 else -10 * math.log10(mean_squared_error)


def _filtered(name: str, original: av.VideoFrame, other: av.VideoFrame) -> dict[str, str]:
    """What a filter of two inputs says about one pair."""
    graph, time_base = Graph(), Fraction(1, 1)
    sink, compare = graph.add("buffersink"), graph.add(name)
    sources = [
        graph.add_buffer(
            width=frame.width, height=frame.height, format=frame.format, time_base=time_base
        )
        for frame in (other, original)
    ]
    for place, source in enumerate(sources):
        source.link_to(compare, 0, place)
    compare.link_to(sink)
    graph.configure()
    for source, frame in zip(sources, (other, original), strict=True):
        frame.pts, frame.time_base = 0, time_base
        source.push(frame)
        source.push(None)
    return dict(graph.vpull().metadata)
