"""What the rounds come to: medians, spread, and ratios of samples that were taken side by side."""

from __future__ import annotations

from statistics import median

from benchmarks.machine import Machine, Software
from benchmarks.peers.compare import Check
from benchmarks.peers.rounds import Turn
from benchmarks.peers.rows import WALL, Row
from benchmarks.peers.task import Answer
from filmgate.records import Header, Record


class ReaderResult(Record, frozen=True):
    """One reader in one row."""

    reader: str
    """Name, and how it was used."""
    samples: list[float]
    """One for each round, in the row's unit."""
    median: float | None
    """Of the samples; None where there are none."""
    spread: float | None
    """(highest - lowest) / median."""
    ratios: list[float]
    """filmgate's rate over this reader's, for each round: filmgate's is the mean of its samples
    just before and just after."""
    ratio: float | None
    """Median of the ratios: above 1 filmgate is faster."""
    peak_rss_bytes: int | None
    """Most memory of its process in any round, its workers not counted."""
    why_not: str | None
    """Why there are no samples: not installed, not yet, or what it raised."""
    versions: dict[str, str]
    """Of its packages."""


class RowResult(Record, frozen=True):
    """One comparison."""

    name: str
    """As ``rows`` has it."""
    says: str
    """What was read."""
    unit: str
    """Of all samples."""
    clips: int
    """Clips of one sample."""
    ours: ReaderResult
    """filmgate; its ratio is None."""
    others: list[ReaderResult]
    """The others, in the order in which they were measured."""
    fastest: str | None
    """The other with the highest median."""
    ratio: float | None
    """filmgate against that one."""
    bar: float | None
    """What the ratio has to pass; None: shown, not judged."""
    holds: bool | None
    """Whether it does; None where nothing is judged or was measured."""


class PeersReport(Record, frozen=True):
    """All rows of one run."""

    header: Header
    """When, and by which code."""
    machine: Machine
    """Where."""
    software: Software
    """Of the process that asked; the readers' own versions stand with them."""
    rounds: int
    """Samples of each reader."""
    rows: list[RowResult]
    """The comparisons."""
    frames: dict[str, dict[str, Check | str]]
    """Layout -> reader -> whether it gave the frames that were asked for."""


def row_result(row: Row, rounds: list[list[Turn]], count: int) -> RowResult:
    """Put the rounds of a row together."""
    turns = [turn for one_round in rounds for turn in one_round]
    names = list(dict.fromkeys(turn.reader for turn in turns))
    mine: list[Answer] = []
    for turn in turns:  # each of filmgate's samples lies between several turns, counted once
        for answer in (turn.before, turn.after):
            if not any(answer is known for known in mine):
                mine.append(answer)
    ours = _reader(row, _label(row, None), mine, [])
    others = [] if not row.others else [_other(row, name, turns) for name in names]
    measured = [other for other in others if other.median is not None]
    best = max(measured, key=lambda other: other.median or 0.0, default=None)
    ratio = best.ratio if best is not None else None
    is_judged = row.bar is not None and ratio is not None
    return RowResult(
        name=row.name,
        says=row.says,
        unit=row.unit,
        clips=row.num_clips(count),
        ours=ours,
        others=others,
        fastest=best.reader if best is not None else None,
        ratio=ratio,
        bar=row.bar,
        holds=ratio > row.bar if is_judged and ratio and row.bar else None,
    )


def _other(row: Row, name: str, turns: list[Turn]) -> ReaderResult:
    mine = [turn for turn in turns if turn.reader == name]
    ratios = []
    for turn in mine:
        theirs = rate(row, turn.answer)
        around = [r for a in (turn.before, turn.after) if (r := rate(row, a)) is not None]
        if theirs and around:
            ratios.append(sum(around) / len(around) / theirs)
    return _reader(row, _label(row, name), [turn.answer for turn in mine], ratios)


def _label(row: Row, name: str | None) -> str:
    """How the reader was used in this row; ``name`` None stands for filmgate's side."""
    mode = row.mode if name is not None else row.ours_mode or row.mode
    workers = row.workers if name is None or row.others_workers is None else row.others_workers
    ahead = f", look-ahead {row.lookahead}" if name is None and row.lookahead > 1 else ""
    by_mode = {
        "feed": f"filmgate feed, {workers} worker{'' if workers == 1 else 's'}{ahead}",
        "loader": f"{name or row.ours}, DataLoader({workers})",
    }
    return by_mode.get(mode, name or row.ours)


def _reader(row: Row, name: str, answers: list[Answer], ratios: list[float]) -> ReaderResult:
    samples = [value for answer in answers if (value := rate(row, answer)) is not None]
    middle = median(samples) if samples else None
    return ReaderResult(
        reader=name,
        samples=samples,
        median=middle,
        spread=(max(samples) - min(samples)) / middle if middle else None,
        ratios=ratios,
        ratio=median(ratios) if ratios else None,
        peak_rss_bytes=max((a.peak_rss_bytes for a in answers if a.peak_rss_bytes), default=None),
        why_not=next((why for a in answers if (why := a.missing or a.error)), None),
        versions={key: value for a in answers for key, value in a.versions.items()},
    )


def rate(row: Row, answer: Answer) -> float | None:
    """The sample in the row's unit; None for none."""
    seconds = answer.wall_seconds if row.unit == WALL else answer.cpu_seconds
    return answer.clips / seconds if answer.clips and seconds else None
