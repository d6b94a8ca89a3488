"""Step times from one published time of the same model: what is not known cancels.

The table's bounds are wide, because nobody knows how well a code uses a card. One time of that code
on that card settles it; other shapes, batches and methods then differ by their operations alone.
"""

from __future__ import annotations

from filmgate.plan.interval import Interval
from filmgate.plan.step_work import StepWork
from filmgate.records import Record

ATTENTION_TO_LINEAR = 0.7
"""Rate of attention over that of other products: 0.6 for FlashAttention-2 on H100, 0.8 on A100, 0.9
for FlashAttention-3; the middle of them."""
WITHIN = 0.15
"""What a calibrated prediction claims."""


class TimedRow(Record, frozen=True):
    """One published time."""

    name: str
    """Of the row."""
    group: str
    """Rows that one calibration serves: the same model, code and card."""
    work: StepWork
    """The step."""
    seconds: float
    """As published."""
    num_gpus: int = 1
    """Over which a generated clip is divided; a training step is per GPU."""


class TimedResult(Record, frozen=True):
    """One row against its prediction."""

    name: str
    """Of the row."""
    group: str
    """As above."""
    published_seconds: float
    """As published."""
    predicted_seconds: Interval | None
    """From the group's first row; None for that row, and where it is the only one."""
    ratio: float | None
    """Middle of the prediction over the published time."""
    within: bool | None
    """Whether the prediction is off by 15 % at most."""


class TimeScore(Record, frozen=True):
    """All rows."""

    results: list[TimedResult]
    """In the order of the rows."""
    num_predicted: int
    """Rows that a prediction was made for."""
    num_within: int
    """Of them, off by 15 % at most."""


def score_times(rows: list[TimedRow]) -> TimeScore:
    """Each group calibrated on its first row; the others predicted from it."""
    first: dict[str, TimedRow] = {}
    results = []
    for row in rows:
        on = first.setdefault(row.group, row)
        results.append(_result(row, None if on is row else on))
    told = [one.within for one in results if one.within is not None]
    return TimeScore(results=results, num_predicted=len(told), num_within=sum(told))


def calibrated_seconds(work: StepWork, *, on: StepWork, seconds: float) -> Interval:
    """Seconds of ``work``, where ``on`` takes ``seconds``, with the error that is claimed."""
    middle = seconds * effort(work) / effort(on)
    return Interval(low=middle * (1 - WITHIN), high=middle * (1 + WITHIN))


def effort(work: StepWork) -> float:
    """Operations, those of attention counted as the longer that they take."""
    return work.linear_flops + work.attention_flops / ATTENTION_TO_LINEAR


def _result(row: TimedRow, on: TimedRow | None) -> TimedResult:
    predicted = ratio = None
    if on is not None:
        seconds = on.seconds * on.num_gpus / row.num_gpus
        predicted = calibrated_seconds(row.work, on=on.work, seconds=seconds)
        ratio = (predicted.low + predicted.high) / 2 / row.seconds
    return TimedResult(
        name=row.name,
        group=row.group,
        published_seconds=row.seconds,
        predicted_seconds=predicted,
        ratio=ratio,
        within=None if ratio is None else abs(ratio - 1) <= WITHIN,
    )
