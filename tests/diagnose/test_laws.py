"""Laws that hold for any telemetry, however odd."""

from __future__ import annotations

from dataclasses import replace

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from filmgate.diagnose import Verdict
from filmgate.diagnose.judge import judge
from filmgate.records.telemetry import AnyLine, Step
from tests.diagnose.synthetic import Setup, resumed, simulate, with_each_step

seconds = st.just(0.0) | st.floats(1e-9, 0.3)
setups = st.builds(
    Setup,
    steps=st.integers(1, 60),
    batch_size=st.integers(1, 6),
    workers=st.integers(0, 5),
    prefetch_batches=st.integers(1, 4),
    forward=seconds,
    backward=seconds,
    optimizer=seconds,
    transfer=seconds,
    other=seconds,
    stage_seconds=st.dictionaries(
        st.sampled_from(["open", "decode", "convert"]), st.floats(1e-4, 0.2), min_size=1
    ),
    jitter=st.floats(0, 0.5),
    slow_clip_every=st.none() | st.integers(5, 50),
    save_every=st.integers(1, 30),
    save_seconds=seconds,
    evaluate_every=st.none() | st.integers(5, 30),
    device=st.sampled_from(["cpu", "NVIDIA H200"]),
    cores=st.none() | st.integers(1, 64),
    train_threads=st.none() | st.integers(1, 64),
    cpu_share=st.none() | st.floats(0, 1),
    seed=st.integers(0, 100),
)
runs = setups.map(simulate) | setups.filter(lambda setup: setup.steps > 20).map(
    lambda setup: resumed(setup, killed_after=15, resumed_from=10)
)

TIMES = (
    "forward", "backward", "optimizer", "transfer", "other", "first_step_extra", "save_seconds",
    "evaluation_seconds",
)  # fmt: skip
"""What a Setup tells in seconds, with its stages."""


def judged(lines: list[AnyLine]) -> Verdict:
    return judge(lines, telemetry_digest="blake3:00")


@given(runs)
def test_the_shares_of_the_budget_add_up_to_one(lines: list[AnyLine]) -> None:
    verdict = judged(lines)
    if verdict.budget:
        assert abs(sum(part.share for part in verdict.budget) - 1) < 1e-6
        training = [part.share_of_training for part in verdict.budget if part.name != "evaluation"]
        assert abs(sum(share or 0.0 for share in training) - 1) < 1e-6


@given(runs)
def test_every_step_is_counted_or_left_out_with_a_reason(lines: list[AnyLine]) -> None:
    verdict = judged(lines)
    left_out = sum(some.steps for some in verdict.steps_left_out)
    assert verdict.steps_counted + left_out == sum(isinstance(line, Step) for line in lines)


@given(runs)
def test_no_gain_is_negative_or_more_than_what_is_not_needed(lines: list[AnyLine]) -> None:
    verdict = judged(lines)
    shares = {part.name: part.share_of_training or 0.0 for part in verdict.budget}
    bounds = {
        "data": shares.get("data_wait", 0.0),
        "saving": shares.get("save", 0.0),
        "transfer": shares.get("transfer", 0.0),
        "compute": 1 - shares.get("data_wait", 0.0),
        "cannot say": 0.0,
    }
    for remedy in verdict.remedies:
        assert 0 <= remedy.gain_low <= remedy.gain_high + 1e-9
        assert remedy.gain_high <= bounds[verdict.bound] + 1e-9


@given(runs)
def test_cheaper_remedies_come_first(lines: list[AnyLine]) -> None:
    order = ["setting", "copy", "hardware"]
    places = [order.index(remedy.kind) for remedy in judged(lines).remedies]
    assert places == sorted(places)


@given(runs, st.floats(0, 1))
def test_more_data_wait_never_raises_utilisation(lines: list[AnyLine], more: float) -> None:
    waiting = with_each_step(
        lines,
        lambda step: msgspec.structs.replace(
            step,
            data_wait_seconds=step.data_wait_seconds + more,
            total_seconds=step.total_seconds + more,
        ),
    )
    before, after = judged(lines), judged(waiting)
    if before.accelerator_utilisation is not None:
        assert after.accelerator_utilisation is not None
        assert after.accelerator_utilisation <= before.accelerator_utilisation + 1e-9


@given(runs)
def test_delivered_is_never_more_than_demand(lines: list[AnyLine]) -> None:
    rates = judged(lines).rates
    if rates.demand_clips_per_second and rates.delivered_clips_per_second:
        assert rates.delivered_clips_per_second <= rates.demand_clips_per_second * (1 + 1e-9)


@given(setups.filter(lambda setup: setup.steps > 30))
@settings(max_examples=30)
def test_time_measured_in_other_units_gives_the_same_verdict(setup: Setup) -> None:
    # A power of two changes no digit, so that a run at the border of two verdicts stays there.
    def scaled(factor: float) -> Setup:
        times = {name: getattr(setup, name) * factor for name in TIMES}
        stages = {name: some * factor for name, some in setup.stage_seconds.items()}
        return replace(setup, **times, stage_seconds=stages, begin=0.0)

    one, eight = judged(simulate(scaled(1.0))), judged(simulate(scaled(8.0)))
    assert one.bound == eight.bound
    assert [remedy.kind for remedy in one.remedies] == [remedy.kind for remedy in eight.remedies]


@given(runs)
def test_a_verdict_is_json_and_back(lines: list[AnyLine]) -> None:
    verdict = judged(lines)
    assert msgspec.json.decode(msgspec.json.encode(verdict), type=Verdict) == verdict
