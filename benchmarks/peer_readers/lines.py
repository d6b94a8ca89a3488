"""What filmgate promises beside other readers, and whether a run holds it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.peer_readers.compare import Check
from benchmarks.peer_readers.readers import CEILING, OURS
from benchmarks.peer_readers.result import Judged, ReaderResult, RowResult
from benchmarks.peer_readers.rows import (
    AU,
    CACHE,
    COPY_RGB,
    COPY_YUV,
    FEED_AHEAD,
    ONE_WORKER,
    REST,
    ROWS,
    TORCHCODEC,
    TWO_WORKERS,
)


@dataclass(frozen=True, kw_only=True)
class Line:
    """One promise."""

    name: str
    says: str
    row: str
    """Name of the row that measures it."""
    ours: str
    """Label of filmgate's entry."""
    against: tuple[str, ...]
    """Labels, or readers, it is held against: the fastest right one counts. Empty: the figure of
    filmgate's entry itself."""
    bar: float
    aim: float


LINES: tuple[Line, ...] = (
    Line(
        name="source-torchcodec", row="source", ours=OURS, against=TORCHCODEC, bar=1.6, aim=1.9,
        says="untouched source (720p, x264, key frames up to 250 apart, 16 frames stride 4), "
        "against torchcodec",
    ),
    Line(
        name="source-others", row="source", ours=OURS, against=REST, bar=1.35, aim=1.6,
        says="the same, against the best of decord2, OpenCV, SPDL and plain PyAV",
    ),
    Line(
        name="visits-torchcodec", row="visits", ours=OURS, bar=2.7, aim=3.5,
        against=tuple(f"{name}, clip by clip" for name in TORCHCODEC),
        # Asked for all four in one call torchcodec shares their decoding, too: the table has both.
        says="the same, visits of 4 clips, against torchcodec clip by clip",
    ),
    Line(
        name="copy-rgb", row="copies", ours=COPY_RGB, against=TORCHCODEC, bar=30.0, aim=50.0,
        says="training copy, starts on multiples of 4, RGB, against torchcodec on the source",
    ),
    Line(
        name="copy-yuv", row="copies", ours=COPY_YUV, against=TORCHCODEC, bar=40.0, aim=50.0,
        says="training copy, starts on multiples of 4, YUV, against torchcodec on the source",
    ),
    Line(
        name="cache", row="copies", ours=CACHE, against=TORCHCODEC, bar=300.0, aim=1000.0,
        says="decoded clips served from the cache in the pixel format they are kept in, against "
        "torchcodec on the source",
    ),
    Line(
        name="ceiling", row="source", ours=OURS, against=(CEILING,), bar=0.8, aim=0.9,
        says="one thread, against libavcodec alone decoding the same needed frames (no output)",
    ),
    Line(
        name="two-workers", row="two-workers", ours=TWO_WORKERS, against=(ONE_WORKER,),
        bar=1.8, aim=1.95,
        says="2 workers against 1",
    ),
    Line(
        name="au", row="au", ours=AU, against=(), bar=0.97, aim=0.99,
        says="AU at a demand of 85 % of the measured supply",
    ),
    Line(
        name="feed-torchcodec", row="feed", ours=FEED_AHEAD,
        against=tuple(f"{name}, DataLoader" for name in TORCHCODEC), bar=2.3, aim=3.5,
        says="open_feed with 2 workers against a DataLoader of 2 workers over torchcodec, source, "
        "look-ahead 4",
    ),
)  # fmt: skip


def judge(rows: Iterable[RowResult]) -> list[Judged]:
    """Every line, in the order of ``LINES``; those whose row is not there have no figure."""
    by_name = {row.name: row for row in rows}
    return [_judge(line, by_name.get(line.row)) for line in LINES]


def is_right(reader: ReaderResult) -> str | None:
    """Why a reader's frames do not count; None where they do, or where there are none to check."""
    if isinstance(reader.check, str):
        return f"its frames could not be checked: {reader.check}"
    if isinstance(reader.check, Check) and (reader.check.wrong or reader.check.far):
        bad = reader.check.wrong + reader.check.far
        return f"{bad} of {reader.check.frames} frames are not the ones asked for"
    return None


def fastest(readers: Iterable[ReaderResult]) -> tuple[ReaderResult | None, dict[str, str]]:
    """The fastest that gives the right frames, and why each of those left out is."""
    best: ReaderResult | None = None
    left_out: dict[str, str] = {}
    for reader in readers:
        if reader.median is None:
            left_out[reader.label] = reader.why_not or "not measured"
        elif (why := is_right(reader)) is not None:
            left_out[reader.label] = why
        elif best is None or best.median is None or reader.median > best.median:
            best = reader
    return best, left_out


def _judge(line: Line, row: RowResult | None) -> Judged:
    if row is None:
        return _judged(line, (), why_not=f"row {line.row} was not measured")
    ours = next(one for one in row.ours if one.label == line.ours)
    if ours.median is None:
        return _judged(line, (), why_not=ours.why_not or "nothing came of filmgate's side")
    if not line.against:
        return _judged(line, ours.samples, broken=ours.why_not)
    best, left_out = fastest(one for one in row.others if one.label in line.against)
    if best is None:
        why = "; ".join(f"{label}: {why}" for label, why in left_out.items())
        return _judged(line, (), left_out=left_out, why_not=why or "nobody to compare with")
    figures = best.ratios[line.ours]
    return _judged(line, figures, against=best.label, left_out=left_out, broken=ours.why_not)


def _judged(
    line: Line,
    figures: Sequence[float],
    *,
    against: str | None = None,
    left_out: dict[str, str] | None = None,
    broken: str | None = None,
    why_not: str | None = None,
) -> Judged:
    """``broken``: filmgate's side failed in some round, which never holds."""
    figure = median(figures) if figures else None
    return Judged(
        name=line.name,
        says=line.says,
        row=line.row,
        ours=line.ours,
        against=against,
        figure=figure,
        lowest=min(figures, default=None),
        highest=max(figures, default=None),
        rounds=len(figures),
        bar=line.bar,
        aim=line.aim,
        holds=None if figure is None else figure >= line.bar and broken is None,
        reaches_aim=None if figure is None else figure >= line.aim and broken is None,
        left_out=left_out or {},
        why_not=why_not or broken,
    )


assert {line.row for line in LINES} == {row.name for row in ROWS if not row.is_extra}
