from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from filmgate.errors import UserError
from filmgate.machine.environment.facts import Fact
from filmgate.machine.environment.lock import make_environment
from filmgate.machine.soak.compare import SoakComparison, compare_soaks, refuse_unlike
from filmgate.machine.soak.result import summed_up
from tests.machine.soak.made import TRAINING, made_lines


def compared(before: Any, after: Any, changed: str | None) -> SoakComparison:
    unlike = refuse_unlike(before[0], after[0], changed)
    return compare_soaks(summed_up(*before), summed_up(*after), unlike, changed)


def hot(second: float) -> dict[str, Any]:
    return {"throttle_reasons": ["thermal, by software"], "temperature_degrees": 87.0}


def test_a_better_fan_curve_shows_at_the_end_and_what_is_gone() -> None:
    before = made_lines(gpu=hot, step_rate=lambda s: 24.0)
    after = made_lines(gpu=lambda s: {"temperature_degrees": 71.0}, step_rate=lambda s: 30.0)
    found = compared(before, after, "fan curve")
    throughput = found.changes[0]
    assert throughput.name == "throughput"
    assert throughput.low is not None
    assert throughput.high is not None
    assert throughput.low <= 0.25 <= throughput.high
    assert found.verdict.startswith("sustained throughput: 25 % more (95 % interval")
    warmth = next(one for one in found.changes if one.name == "GPU 0 temperature")
    assert warmth.change == pytest.approx(-16)
    assert (found.gone, found.new) == (["GPU 0: heat"], [])
    assert "fan curve was named as changed, and nothing recorded shows it" in found.warnings


def test_the_same_twice_is_told_how_large_a_change_could_be() -> None:
    found = compared(made_lines(), made_lines(step_rate=lambda s: 30.01), None)
    assert "sustained throughput: no change larger than" in found.verdict
    assert "start to start" in found.warnings[0]


def test_another_batch_is_compared_by_its_clips_and_only_when_it_is_named() -> None:
    before = made_lines(load=TRAINING, gpu=None)
    larger = replace(TRAINING, batch_size=8, work_per_step=8)
    after = made_lines(load=larger, gpu=None, step_rate=lambda s: 18.0)
    with pytest.raises(UserError, match=r"work_per_step: 4 and 8; batch_size: 4 and 8") as raised:
        compared(before, after, None)
    assert "--force" not in raised.value.hint
    found = compared(before, after, "batch_size")
    assert found.changes[0].change == pytest.approx(0.2, abs=0.01)


def test_another_driver_refuses_the_comparison_by_name() -> None:
    locks = [
        make_environment([Fact(name="nvidia.driver", value=version)], [], [])
        for version in ("580.65.06", "590.1")
    ]
    before, after = made_lines(environment=locks[0]), made_lines(environment=locks[1])
    with pytest.raises(UserError, match=r"nvidia.driver: 580.65.06 and 590.1"):
        compared(before, after, "power limit")
    assert compared(before, after, "nvidia.driver").unlike[0].is_named
