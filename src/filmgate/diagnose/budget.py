"""Where the counted time went, and AU."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from filmgate.diagnose.history import History
from filmgate.diagnose.verdict import Part
from filmgate.records.telemetry import Save, Step

STEP_PARTS = ("data_wait", "transfer", "forward", "backward", "optimizer")
"""The parts that a step records."""
COMPUTE_PARTS = ("forward", "backward", "optimizer")
"""The parts that count as computing in AU."""


def part_seconds(step: Step, name: str) -> float:
    """Seconds of one part of one step; ``other`` is what no part accounts for."""
    if name == "other":
        return step.total_seconds - sum(part_seconds(step, part) for part in STEP_PARTS)
    return float(getattr(step, f"{name}_seconds"))


def budget(history: History) -> list[Part]:
    """Every part of the counted time; empty when no step counts. The shares add up to 1."""
    if not history.steps:
        return []
    seconds = {
        name: [part_seconds(step, name) for step in history.steps]
        for name in (*STEP_PARTS, "other")
    }
    seconds["save"] = [save.stall_seconds for save in history.saves]
    seconds["evaluation"] = [evaluation.seconds for evaluation in history.evaluations]
    everything = sum(sum(some) for some in seconds.values())
    training = everything - sum(seconds["evaluation"])
    return [
        Part(
            name=name,
            count=len(some),
            total_seconds=sum(some),
            median_seconds=median(some) if some else None,
            share=_share(sum(some), everything),
            share_of_training=None if name == "evaluation" else _share(sum(some), training),
        )
        for name, some in seconds.items()
    ]


def training_shares(steps: Sequence[Step], saves: Sequence[Save]) -> dict[str, float]:
    """Share of each part in step time plus standstill for saves; all 0 when that is 0."""
    totals = {
        name: sum(part_seconds(step, name) for step in steps) for name in (*STEP_PARTS, "other")
    }
    totals["save"] = sum(save.stall_seconds for save in saves)
    training = sum(totals.values())
    return {name: _share(seconds, training) for name, seconds in totals.items()}


def accelerator_utilisation(shares: dict[str, float]) -> float:
    """AU = compute time / total time.

    Source: MLPerf Storage v2.0 (mlcommons/storage caa90c9), ``AU% = total_compute_time /
    total_benchmark_running_time x 100``, first step's I/O left out. Here compute is forward,
    backward and optimizer as measured, total is step time plus the standstill for saves;
    evaluation is in neither, because its waiting and computing are not told apart. Known error:
    on a device that computes while the program goes on, the parts are right only as far as the
    trainer waited for the device when it took the times.
    """
    return sum(shares[name] for name in COMPUTE_PARTS)


def _share(seconds: float, whole: float) -> float:
    return seconds / whole if whole > 0 else 0.0
