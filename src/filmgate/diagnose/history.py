"""Which steps count: the settled ones of the newest setup, each step once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from filmgate.diagnose.counters import FeedCounters, sum_counters
from filmgate.diagnose.verdict import LeftOutSteps
from filmgate.records.telemetry import (
    AnyLine,
    Evaluation,
    FeedSnapshot,
    Finish,
    Save,
    Start,
    Step,
    newest_steps,
)


@dataclass(frozen=True, kw_only=True)
class History:
    """A run's telemetry, sorted into what counts and what does not."""

    start: Start | None
    """Of the newest attempt; its setup is the one judged."""
    attempts: int
    finished: bool
    steps: list[Step]
    """The counted steps, in step order."""
    saves: list[Save]
    """Made at counted steps."""
    evaluations: list[Evaluation]
    """Made at counted steps."""
    feed: FeedCounters | None
    """None without a usable snapshot."""
    left_out: list[LeftOutSteps]
    skipped_clips: int


def read_history(lines: Sequence[AnyLine]) -> History:
    """Sort the lines of a run.

    Left out, and said: the warm-up of each attempt (``num_warm_up_steps``), steps that were done
    again after a resume, and attempts whose setup differs from the newest one's, because numbers
    of two setups must not be averaged.
    """
    starts = {line.attempt: line for line in lines if isinstance(line, Start)}
    start = starts[max(starts)] if starts else None
    alike = {number for number, other in starts.items() if start and _setup(other) == _setup(start)}
    rows: dict[int, list[Step]] = {}
    for line in lines:
        if isinstance(line, Step):
            rows.setdefault(line.attempt, []).append(line)
    warm_ups = {number: num_warm_up_steps(steps) for number, steps in rows.items()}
    newest = newest_steps(list(lines))
    counted, left_out = _sort_steps(rows, newest, alike, warm_ups)
    settled = sorted(alike & rows.keys())
    keys = {(step.attempt, step.step) for step in counted}
    return History(
        start=_with_workers(start, lines),
        attempts=len({line.attempt for line in lines}),
        finished=any(isinstance(line, Finish) for line in lines),
        steps=counted,
        saves=[x for x in lines if isinstance(x, Save) and (x.attempt, x.step) in keys],
        evaluations=[x for x in lines if isinstance(x, Evaluation) and (x.attempt, x.step) in keys],
        feed=sum_counters(lines, {n: _last_warm_up(rows[n], warm_ups[n]) for n in settled}),
        left_out=left_out,
        skipped_clips=_num_skipped(lines),
    )


def _with_workers(start: Start | None, lines: Iterable[AnyLine]) -> Start | None:
    """The setup with the workers that the feed had in the end, where it changed them itself."""
    counts = [
        line.num_workers
        for line in lines
        if isinstance(line, FeedSnapshot) and start and line.attempt == start.attempt
    ]
    if start is None or not counts or counts[-1] is None:
        return start
    return msgspec.structs.replace(start, num_workers=counts[-1])


def num_warm_up_steps(steps: Sequence[Step]) -> int:
    """The first step of an attempt, and as many more as batches stood ready after it.

    The first step pays for compilation, opening files and filling the pipeline; the batches that
    were finished meanwhile come for nothing. Source: MLPerf Storage leaves out the I/O of the first
    step, DLIO (e1919d7) the steps at the start; the drain of the ready batches is added here.
    """
    if len(steps) < 2:
        return len(steps)
    return min(len(steps), 1 + steps[1].feed_queue_batches)


def _setup(start: Start) -> tuple[object, ...]:
    return (
        start.device,
        start.world_size,
        start.num_workers,
        start.batch_size,
        start.clip_frames,
        start.clip_bytes,
        start.cores,
        start.train_threads,
    )


def _sort_steps(
    rows: dict[int, list[Step]], newest: list[Step], alike: set[int], warm_ups: dict[int, int]
) -> tuple[list[Step], list[LeftOutSteps]]:
    kept = {(step.attempt, step.step) for step in newest}
    reasons: dict[str, list[Step]] = {}
    counted = []
    for attempt, steps in sorted(rows.items()):
        for place, step in enumerate(steps):
            if (attempt, step.step) not in kept:
                reasons.setdefault("done again after a resume", []).append(step)
            elif attempt not in alike:
                reasons.setdefault("run with another setup than the newest", []).append(step)
            elif place < warm_ups[attempt]:
                reasons.setdefault("warm-up and pipeline fill", []).append(step)
            else:
                counted.append(step)
    left_out = [
        LeftOutSteps(reason=reason, steps=len(some), seconds=sum(x.total_seconds for x in some))
        for reason, some in reasons.items()
    ]
    return sorted(counted, key=lambda step: step.step), left_out


def _last_warm_up(steps: list[Step], num_warm_up: int) -> int:
    return steps[num_warm_up - 1].step if num_warm_up else 0


def _num_skipped(lines: Sequence[AnyLine]) -> int:
    """Of the run, as its newest snapshot says; older telemetry has it by attempt."""
    snapshots = [line for line in lines if isinstance(line, FeedSnapshot)]
    if snapshots and snapshots[-1].skipped_in_run is not None:
        return snapshots[-1].skipped_in_run
    return sum({line.attempt: line.skipped for line in snapshots}.values())
