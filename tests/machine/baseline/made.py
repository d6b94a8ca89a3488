"""Baselines made up for tests."""

from __future__ import annotations

from collections.abc import Sequence

from filmgate.machine.baseline.record import (
    Answer,
    Baseline,
    Round,
    Start,
    Workload,
    summarise,
)
from filmgate.machine.environment.facts import Environment
from filmgate.records import Header
from tests.machine.environment.made import environment

WORKLOAD = Workload(
    job="sample", seed=0, width=64, height=32, frames=8, steps=20, batch_size=1, threads=1,
    device="cpu", prompt="blake3:aa",
)  # fmt: skip


def baseline(
    seconds: Sequence[float],
    workload: Workload = WORKLOAD,
    with_: Environment | None = None,
    *,
    others: float = 0.0,
    result: str = "blake3:11",
) -> Baseline:
    """One start for each time, with a slow round to warm up and two that count."""
    starts = [
        Start(
            answer=Answer(
                rounds=[
                    Round(wall_seconds=10 * one, cpu_seconds=10 * one),
                    Round(wall_seconds=one * 1.01, cpu_seconds=one),
                    Round(wall_seconds=one / 1.01, cpu_seconds=one),
                ],
                peak_bytes=1000, peak_device_bytes=None, device_utilisation=None, result=result,
                unknown={"peak_device_bytes": "no GPU", "device_utilisation": "no GPU"},
            ),
            num_warm_up=1,
            others_cpu_share=others,
        )
        for one in seconds
    ]  # fmt: skip
    return Baseline(
        header=Header(schema="filmgate.baseline", schema_version=1, inputs={"workload": "w"}),
        workload=workload, environment=with_ or environment(), starts=starts,
        summary=summarise(starts, 2),
    )  # fmt: skip
