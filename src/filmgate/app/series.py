"""A run's telemetry as series over steps, thinned for drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from filmgate.diagnose.budget import STEP_PARTS, part_seconds
from filmgate.diagnose.history import read_history
from filmgate.records.telemetry import (
    AnyLine,
    Evaluation,
    FeedSnapshot,
    Save,
    Start,
    newest_steps,
)

PARTS = (*STEP_PARTS, "other", "save")
"""Drawn from the bottom up in reverse of what can be saved; evaluation is apart from training."""


@dataclass(frozen=True, kw_only=True)
class Series:
    """One entry per step, newest attempt of each, in step order; built by ``read_series``."""

    steps: list[int]
    counted: list[bool]
    """Whether the verdict counts the step."""
    parts: dict[str, list[float]]
    """Part -> seconds of each step; ``save`` is 0 where no save was made."""
    loss: list[float]
    queue: list[int]
    batch_size: int | None
    supply_steps: list[float]
    """Middle of each interval between feed snapshots."""
    supply: list[float]
    """Clips/s the feed could give in that interval."""
    resumed_after: list[int]
    """Steps done at each resume."""
    evaluations: list[Evaluation]

    def bins(self, at_most: int) -> list[range]:
        """Neighbouring places together: about ``at_most`` ranges that cover all of them.

        Steps that count and steps that do not are never in one range.
        """
        count = min(at_most, len(self.steps))
        edges = {len(self.steps) * place // count for place in range(count + 1)} if count else {0}
        edges |= {place for place in range(1, len(self.steps)) if self._turns(place)}
        return [range(*pair) for pair in pairwise(sorted(edges))]

    def _turns(self, place: int) -> bool:
        return self.counted[place] != self.counted[place - 1]

    @property
    def ends(self) -> tuple[float, float]:
        """Left and right end of an axis of steps; for a run with steps."""
        return self.steps[0] - 0.5, self.steps[-1] + 0.5

    def mean_step(self, places: range) -> float:
        """Middle of the steps of a bin."""
        return (self.steps[places[0]] + self.steps[places[-1]]) / 2

    def mean_part(self, name: str, places: range) -> float:
        """Seconds per step over a bin."""
        return sum(self.parts[name][place] for place in places) / len(places)

    def step_seconds(self, place: int) -> float:
        """Step time without saves."""
        return sum(self.parts[name][place] for name in PARTS if name != "save")


def read_series(lines: Sequence[AnyLine]) -> Series:
    """All series of a run; a run without steps gives empty ones."""
    steps = newest_steps(list(lines))
    history = read_history(lines)
    counted = {(step.attempt, step.step) for step in history.steps}
    newest = {step.step: step.attempt for step in steps}
    saves = {
        line.step: line.stall_seconds
        for line in lines
        if isinstance(line, Save) and newest.get(line.step) == line.attempt
    }
    parts = {name: [part_seconds(step, name) for step in steps] for name in PARTS[:-1]}
    parts["save"] = [saves.get(step.step, 0.0) for step in steps]
    supply = _supply(lines, newest)
    return Series(
        steps=[step.step for step in steps],
        counted=[(step.attempt, step.step) in counted for step in steps],
        parts=parts,
        loss=[step.loss for step in steps],
        queue=[step.feed_queue_batches for step in steps],
        batch_size=history.start.batch_size if history.start else None,
        supply_steps=[step for step, _ in supply],
        supply=[rate for _, rate in supply],
        resumed_after=[line.step for line in lines if isinstance(line, Start) and line.attempt > 0],
        evaluations=_newest_evaluations(lines),
    )


def _supply(lines: Sequence[AnyLine], newest: dict[int, int]) -> list[tuple[float, float]]:
    starts = {line.attempt: line for line in lines if isinstance(line, Start)}
    before: dict[int, FeedSnapshot] = {}
    rates = []
    for line in lines:
        if not isinstance(line, FeedSnapshot) or newest.get(line.step) != line.attempt:
            continue
        first, start = before.get(line.attempt), starts.get(line.attempt)
        before[line.attempt] = line
        if first is None or start is None:
            continue
        busy = line.worker_busy_seconds - first.worker_busy_seconds
        if busy > 0 and line.clips > first.clips:
            workers = max(1, start.num_workers) * start.world_size
            rate = (line.clips - first.clips) * workers / busy
            rates.append(((line.step + first.step) / 2, rate))
    return sorted(rates)


def _newest_evaluations(lines: Sequence[AnyLine]) -> list[Evaluation]:
    newest = {line.step: line for line in lines if isinstance(line, Evaluation)}
    return [newest[step] for step in sorted(newest)]


def trend(values: Sequence[float]) -> tuple[float, float]:
    """Mean of the first and of the last tenth (one value at least).

    Raises ValueError when there is none.
    """
    if not values:
        raise ValueError("no values")
    some = max(1, len(values) // 10)
    return sum(values[:some]) / some, sum(values[-some:]) / some
