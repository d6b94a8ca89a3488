"""Soaks as they would have been recorded: a load on some GPUs, with whatever goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from filmgate.machine.environment.lock import make_environment
from filmgate.machine.soak.gpu_pulse import GpuPulse
from filmgate.machine.soak.host_pulse import HostPulse
from filmgate.machine.soak.lines import (
    DONE,
    Line,
    Load,
    LoadPulse,
    Sample,
    SoakEnd,
    SoakStart,
    SoakWriter,
)
from filmgate.records import Header
from tests.machine.made import nvml_gpu

PRODUCTS = Load(
    kind="products", why="asked for", devices=["cuda:0"], unit="products", work_per_step=16,
    threads=2, seed=0, matrix_size=8192, number_type="bfloat16",
)  # fmt: skip
TRAINING = Load(
    kind="train", why="asked for", devices=["cpu"], unit="clips", work_per_step=4, threads=2,
    seed=0, batch_size=4, frames=4, width=96, height=64, clips="blake3:aa",
)  # fmt: skip
Told = Callable[[float], dict[str, Any]]
"""Second of the soak -> what is other than usual."""


def wobble(number: int) -> float:
    """Between -1 and 1, without a pattern that a window could see."""
    return ((number * 7919) % 1009) / 504.5 - 1


def usual_gpu(**told: Any) -> GpuPulse:
    """An H100 at work that keeps its clock."""
    usual: dict[str, Any] = {
        "index": 0, "clock_hertz": 1.98e9, "memory_clock_hertz": 2.6e9,
        "temperature_degrees": 62.0, "memory_temperature_degrees": 70.0, "power_watts": 640.0,
        "power_limit_watts": 700.0, "energy_joules": 0.0, "fan_share": None,
        "utilisation_share": 1.0, "throttle_reasons": [], "pcie_generation": 5, "pcie_width": 16,
        "pcie_replays": 3, "corrected_errors": 0, "uncorrected_errors": 0,
    }  # fmt: skip
    return GpuPulse(**(usual | told))


def usual_host(second: float, **told: Any) -> HostPulse:
    """Two hardware threads of which the load fills one."""
    usual: dict[str, Any] = {
        "clock_hertz": 3.2e9, "busy_seconds": 1000 + second, "stolen_seconds": 5.0, "num_cpus": 2,
        "limited_seconds": None, "throttles": 0,
        "stalled_seconds": {"cpu": 0.0, "io": 0.0, "memory": 0.0},
        "temperatures": {"package": 60.0},
        "fans": None, "energy_joules": None, "corrected_errors": 0, "uncorrected_errors": 0,
        "pcie_errors": 0,
    }  # fmt: skip
    return HostPulse(**(usual | told))


def nothing(second: float) -> dict[str, Any]:
    """All as usual."""
    del second
    return {}


def made_lines(
    *,
    seconds: float = 1800,
    interval: float = 5,
    load: Load = PRODUCTS,
    step_rate: Callable[[float], float] = lambda second: 30.0,
    spread: float = 0.01,
    gpu: Told | None = nothing,
    host: Told = nothing,
    xids: Callable[[float], list[str] | None] = lambda second: [],
    wrong: Callable[[float], int | None] = lambda second: 0,
    **start: Any,
) -> tuple[SoakStart, list[Sample], SoakEnd | None]:
    """A soak whose load does ``step_rate`` steps a second; ``gpu`` None: a machine without."""
    samples, done, joules = [], 0.0, 0.0
    for number in range(int(seconds / interval) + 1):
        second = number * interval
        done += step_rate(second) * interval * (1 + spread * wobble(number))
        pulse = usual_gpu(**gpu(second)) if gpu else None
        joules += (pulse.power_watts or 0) * interval if pulse else 0
        pulses = [] if pulse is None else [usual_gpu(**({"energy_joules": joules} | gpu(second)))]  # type: ignore[misc]
        steps = int(done)
        samples.append(
            Sample(
                seconds=second, gpus=pulses, host=usual_host(second, **host(second)),
                xids=xids(second),
                load=[
                    LoadPulse(
                        device=device, steps=steps, wrong=wrong(second), cpu_seconds=second,
                        # The last step was done a little before the sample.
                        at_seconds=second - (done - steps) / step_rate(second),
                    )
                    for device in load.devices
                ],
            )
        )  # fmt: skip
    told: dict[str, Any] = {
        "note": "", "planned_seconds": seconds, "unknown": {},
        "gpus": [nvml_gpu(0, "0000:65:00.0")] if gpu else [],
        "environment": make_environment([], [], []),
    }  # fmt: skip
    first = SoakStart(
        header=Header(schema="filmgate.soak-line", schema_version=1), load=load,
        interval_seconds=interval, **(told | start),
    )  # fmt: skip
    return first, samples, SoakEnd(seconds=seconds, why=DONE)


def write_lines(path: Path, lines: Sequence[Line]) -> Path:
    """As a soak writes them."""
    with SoakWriter(path) as writer:
        writer.open()
        for line in lines:
            writer.write(line)
    return path
