"""Files of measurements that a plan takes its figures from: bench, feed bench, layouts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from filmgate.app.plan_whole import Measured
from filmgate.errors import UserError
from filmgate.feed.bench import FeedBench
from filmgate.machine.measured import MachineMeasured
from filmgate.plan.interval import Interval
from filmgate.plan.step_time import Rate, Rates
from filmgate.prepare.layouts import Layouts
from filmgate.records import Header, Record, read_record


class _Any(Record, frozen=True):
    header: Header


def read_measured(files: list[Path], precision: str) -> Measured:
    """What all of them tell; a later file stands above an earlier one.

    Raises UserError for a file that is none of the three kinds.
    """
    told = Measured(files=tuple(files))
    for file in files:
        told = _with(told, file, precision)
    return told


def _with(told: Measured, file: Path, precision: str) -> Measured:
    kind = read_record(file, _Any).header.schema
    if kind == "filmgate.layouts":
        speed = _of_layouts(read_record(file, Layouts))
        return _replaced(told, clips_per_core_second=speed, clips_from=f"{file.name}, layouts")
    if kind == "filmgate.feed-bench":
        bench = read_record(file, FeedBench)
        one = bench.clips_per_cpu_second
        speed = None if one is None else Interval(low=0.9 * one, high=1.1 * one)
        return _replaced(told, clips_per_core_second=speed, clips_from=f"{file.name}, feed bench")
    if kind == "filmgate.bench":
        measured = read_record(file, MachineMeasured)
        cards = measured.identity.gpus
        return _replaced(
            told, rates=rates_measured(measured, precision), card=cards[0] if cards else None
        )
    raise UserError(
        f"{file} is a record of {kind}",
        hint="name what `bench --out`, `feed bench --json` or `prepare` (layouts.json) wrote",
    )


def _replaced(told: Measured, **said: Any) -> Measured:
    return Measured(**(vars(told) | said))


def _of_layouts(layouts: Layouts) -> Interval | None:
    chosen = layouts.choice.chosen
    rounds = [] if chosen is None else chosen.trial.clips_per_cpu_second_rounds
    return Interval(low=min(rounds), high=max(rounds)) if rounds else None


def rates_measured(measured: MachineMeasured, precision: str) -> Rates:
    """Rates of the GPU that a bench measured; None where it did not."""
    kind = "fp32" if precision == "fp32" else precision[:4]
    return Rates(
        matmul=_largest(measured, "precision", "FLOP/s", kind),
        memory=_largest(measured, "memory", "bytes/s", "gpu0-copy"),
        host=_largest(measured, "memory", "bytes/s", "gpu0-from-host-pinned"),
    )


def _largest(measured: MachineMeasured, part: str, unit: str, words: str) -> Rate | None:
    """The measure with these words in its name whose median is the largest."""
    found = next((one for one in measured.parts if one.name == part), None)
    if found is None or not measured.identity.gpus:
        return None
    named = [one for one in found.measures if one.unit == unit and words in one.name]
    if not named:
        return None
    best = max(named, key=lambda one: one.median)
    return Rate(
        per_second=Interval(low=best.low, high=best.high),
        basis="measured",
        source=f"filmgate bench {part}, {best.name}",
    )
