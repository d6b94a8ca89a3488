"""What the rounds come to: medians, spread, and ratios of samples that were taken side by side."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

from benchmarks.footage import Layout
from benchmarks.machine import Machine, Software
from benchmarks.peer_readers.compare import Check
from benchmarks.peer_readers.rounds import Turn
from benchmarks.peer_readers.rows import SHARE, WALL, Row, Size, ask_of
from benchmarks.peer_readers.task import Answer, Entry
from filmgate.records import Header, Record


class ReaderResult(Record, frozen=True):
    """One reader in one row."""

    label: str
    """Name, and how it was used."""
    samples: list[float]
    """One for each round, more for filmgate, in the row's unit."""
    median: float | None
    """Of the samples; None where there are none."""
    spread: float | None
    """(highest - lowest) / median."""
    ratios: dict[str, list[float]]
    """Label of each of filmgate's entries -> its rate over this reader's, for each round:
    filmgate's is the mean of its samples just before and just after."""
    peak_rss_bytes: int | None
    """Most memory of its process in any round, its workers not counted."""
    others_cores: float | None
    """Cores that everything else on the machine took meanwhile, the median of its samples."""
    check: Check | str | None
    """Its frames against filmgate's; a sentence where there were none, None where nothing is
    to be compared."""
    why_not: str | None
    """Why samples are missing: not installed, or what it raised."""
    versions: dict[str, str]
    """Of its packages."""

    def ratio(self, ours: str) -> float | None:
        """Median of one of filmgate's entries against this reader: above 1 filmgate is faster."""
        return median(self.ratios[ours]) if self.ratios.get(ours) else None


class RowResult(Record, frozen=True):
    """One comparison."""

    name: str
    """As ``rows`` has it."""
    says: str
    """What was read."""
    unit: str
    """Of all samples."""
    amounts: dict[str, str]
    """Label -> what one sample of it is."""
    ours: list[ReaderResult]
    """filmgate's entries; they have no ratios."""
    others: list[ReaderResult]
    """The others, in the order in which they were measured."""
    load_before: float
    """Load average over the last minute when the row began: its first samples are what it was
    before the benchmark."""
    load_after: float
    """The same at its end, with the benchmark's own processes in it."""


class Judged(Record, frozen=True):
    """One line of what filmgate promises here, and whether it holds."""

    name: str
    """For acceptance and tables."""
    says: str
    """What is compared, as a sentence."""
    row: str
    """Where it was measured."""
    ours: str
    """filmgate's entry."""
    against: str | None
    """The fastest of those it is held against that gives the right frames; None for the figure
    itself, or where there is none."""
    figure: float | None
    """Median over the rounds: times as fast, or the share; None where it was not measured."""
    lowest: float | None
    """Of the rounds."""
    highest: float | None
    """Of the rounds."""
    rounds: int
    """Rounds behind the figure."""
    bar: float
    """What the figure has to reach."""
    aim: float
    """What it should reach."""
    holds: bool | None
    """Whether it reaches the bar; None where it was not measured."""
    reaches_aim: bool | None
    """Whether it reaches the aim."""
    left_out: dict[str, str]
    """Readers that do not count -> why: wrong frames, or nothing measured."""
    why_not: str | None
    """Why there is no figure."""


class PeersReport(Record, frozen=True):
    """All rows of one run."""

    header: Header
    """When, and by which code."""
    machine: Machine
    """Where."""
    software: Software
    """Of the process that asked; the readers' own versions stand with them."""
    size: str
    """``quick`` or ``full``, and what was changed of it."""
    rounds: int
    """Samples of each reader."""
    seconds: float
    """How long all of it took."""
    lines: list[Judged]
    """The promises."""
    rows: list[RowResult]
    """The comparisons."""
    frames: dict[str, dict[str, Check | str]]
    """Layout -> reader -> whether it gave the frames that were asked for; with a control."""


def row_result(
    row: Row,
    size: Size,
    rounds: list[list[Turn]],
    checks: Mapping[tuple[Layout, str], Check | str],
    load: tuple[float, float],
) -> RowResult:
    """Put the rounds of a row together."""
    turns = [turn for one_round in rounds for turn in one_round]
    others = [
        _other(row, entry, turns, checks.get((entry.layout, entry.reader)))
        for entry in row.others_of(size)
    ]
    return RowResult(
        name=row.name,
        says=row.says,
        unit=row.unit,
        amounts={entry.label: _amount(entry, size) for entry in (*row.ours, *row.others_of(size))},
        ours=[_reader(row, entry, _answers_of(entry, turns)) for entry in row.ours],
        others=others,
        load_before=load[0],
        load_after=load[1],
    )


def _answers_of(entry: Entry, turns: list[Turn]) -> list[Answer]:
    """One of filmgate's samples lies between several turns and counts once."""
    found: list[Answer] = []
    for turn in turns:
        for side in (turn.before, turn.after):
            answer = side[entry.label]
            if not any(answer is known for known in found):
                found.append(answer)
    return found


def _other(row: Row, entry: Entry, turns: list[Turn], check: Check | str | None) -> ReaderResult:
    mine = [turn for turn in turns if turn.label == entry.label]
    ratios: dict[str, list[float]] = {one.label: [] for one in row.ours}
    for turn in mine:
        theirs = rate(row, turn.answer)
        for label, found in ratios.items():
            sides = (turn.before[label], turn.after[label])
            around = [value for side in sides if (value := rate(row, side)) is not None]
            if theirs and around:
                found.append(sum(around) / len(around) / theirs)
    return _reader(row, entry, [turn.answer for turn in mine], ratios, check)


def _reader(
    row: Row,
    entry: Entry,
    answers: list[Answer],
    ratios: dict[str, list[float]] | None = None,
    check: Check | str | None = None,
) -> ReaderResult:
    samples = [value for answer in answers if (value := rate(row, answer)) is not None]
    cores = [answer.others_cores for answer in answers if answer.others_cores is not None]
    middle = median(samples) if samples else None
    return ReaderResult(
        label=entry.label,
        samples=samples,
        median=middle,
        spread=(max(samples) - min(samples)) / middle if middle else None,
        ratios=ratios or {},
        peak_rss_bytes=max((a.peak_rss_bytes for a in answers if a.peak_rss_bytes), default=None),
        others_cores=median(cores) if cores else None,
        check=check,
        why_not=next((why for a in answers if (why := a.missing or a.error)), None),
        versions={key: value for a in answers for key, value in a.versions.items()},
    )


def rate(row: Row, answer: Answer) -> float | None:
    """The sample in the row's unit; None for none."""
    if row.unit == SHARE:
        return answer.share
    seconds = answer.wall_seconds if row.unit == WALL else answer.cpu_seconds
    return answer.clips / seconds if answer.clips and seconds else None


def _amount(entry: Entry, size: Size) -> str:
    ask = ask_of(entry, size, 0)
    if ask.seconds:
        return f"{ask.seconds:g} s"
    return f"{ask.num_clips or len(ask.clips)} clips"
