from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filmgate.plan.calibrate import TimedRow, calibrated_seconds, score_times
from filmgate.plan.interval import Interval, exactly
from filmgate.plan.model import flops_per_step
from filmgate.plan.request import Mode
from filmgate.plan.step_time import Rate, Rates, rates_of, step_seconds_on, step_time
from filmgate.plan.sync import INTERCONNECTS, all_scalings, scaling, sent_bytes
from tests.plan.jobs import FACTS, card, request, work

SHAPES = st.sampled_from([(17, 256, 256), (33, 480, 720), (49, 480, 720), (81, 720, 1280)])


def test_operations_are_those_of_the_model_divided_in_two() -> None:
    one = work()
    assert one.flops == pytest.approx(flops_per_step(FACTS, request()))
    assert one.attention_flops > 0
    assert one.linear_flops > 0


def test_a_step_on_a_faster_card_is_shorter() -> None:
    slow = step_time(work(), rates_of(card("A100 80GB SXM"), precision="bf16"))
    fast = step_time(work(), rates_of(card("H100 SXM"), precision="bf16"))
    assert slow is not None
    assert fast is not None
    assert fast.seconds.low < slow.seconds.low
    assert fast.seconds.high < slow.seconds.high


def test_a_large_model_is_bound_by_computing_and_a_feed_that_is_late_by_the_feed() -> None:
    rates = rates_of(card("H100 SXM"), precision="bf16")
    alone = step_time(work(), rates)
    late = step_time(work(), rates, supply_clips_per_second=exactly(0.01))
    assert alone is not None
    assert late is not None
    assert (alone.binds, late.binds) == ("compute", "feed")
    assert late.seconds.low >= 100
    assert late.surely_binds


def test_an_unknown_rate_is_said_and_no_number() -> None:
    rates = Rates(
        matmul=Rate(per_second=exactly(1e14), basis="told", source="me"), memory=None, host=None
    )
    step = step_time(work(), rates)
    assert step is not None
    assert set(step.unknown) == {"memory bandwidth", "host link"}
    assert step_time(work(), Rates(matmul=None, memory=None, host=None)) is None


def test_measured_rates_stand_above_the_table() -> None:
    measured = Rates(
        matmul=Rate(per_second=exactly(5e14), basis="measured", source="bench"),
        memory=None, host=None,
    )  # fmt: skip
    rates = rates_of(card("H100 SXM"), precision="bf16", measured=measured)
    assert rates.matmul == measured.matmul
    assert rates.memory is not None
    assert rates.memory.basis == "table"


@given(
    seconds=st.floats(0.001, 1e4), efficiency=st.floats(0.1, 1.0), cards=st.integers(1, 63)
)  # fmt: skip
def test_adding_cards_never_lengthens_a_step_at_equal_efficiency(
    seconds: float, efficiency: float, cards: int
) -> None:
    if cards == 1:
        efficiency = 1.0
    fewer = step_seconds_on(seconds, cards=cards, efficiency=efficiency)
    assert step_seconds_on(seconds, cards=cards + 1, efficiency=efficiency) <= fewer


@given(shape=SHAPES, batch=st.integers(1, 8), more=st.integers(1, 8))
def test_more_clips_never_take_less_time(
    shape: tuple[int, int, int], batch: int, more: int
) -> None:
    frames, height, width = shape
    rates = rates_of(card("A100 80GB SXM"), precision="bf16")
    few = step_time(work(frames=frames, height=height, width=width, batch=batch), rates)
    many = step_time(work(frames=frames, height=height, width=width, batch=batch + more), rates)
    assert few is not None
    assert many is not None
    assert few.seconds.low <= many.seconds.low
    assert few.seconds.high <= many.seconds.high


@given(cards=st.integers(2, 64))
def test_a_slower_link_never_scales_better(cards: int) -> None:
    step = Interval(low=1.0, high=3.0)
    full = request(mode="full", sharding="ddp", gpus=cards)
    one = work(mode="full")
    links = sorted(INTERCONNECTS, key=lambda link: link.bytes_per_second)
    found = [scaling(one, full, step, link, cards=cards).efficiency.low for link in links]
    assert found == sorted(found)


def test_adapters_send_almost_nothing_and_full_fine_tuning_sends_everything() -> None:
    adapters = sent_bytes(work(), request(gpus=8, sharding="ddp"), cards=8)
    full = request(mode="full", gpus=8, sharding="ddp")
    everything = sent_bytes(work(mode="full"), full, cards=8)
    assert everything == pytest.approx(2 * 7 / 8 * 2 * FACTS.parameters)
    assert adapters < everything / 20
    assert sent_bytes(work(), request(), cards=1) == 0


def test_sharding_sends_the_weights_as_well() -> None:
    ddp = request(mode="full", gpus=8, sharding="ddp")
    fsdp = request(mode="full", gpus=8, sharding="fsdp2")
    one = work(mode="full")
    assert sent_bytes(one, fsdp, cards=8) > sent_bytes(one, ddp, cards=8)
    assert len(all_scalings(one, fsdp, exactly(1.0), cards=8)) == len(INTERCONNECTS)


@given(factor=st.floats(0.05, 20), shapes=st.lists(SHAPES, min_size=2, max_size=6))
def test_a_calibration_finds_any_code_whose_speed_is_constant(
    factor: float, shapes: list[tuple[int, int, int]]
) -> None:
    rows = []
    for number, (frames, height, width) in enumerate(shapes):
        one = work(frames=frames, height=height, width=width)
        seconds = factor * (one.linear_flops + one.attention_flops / 0.7) / 1e14
        rows.append(TimedRow(name=str(number), group="made", work=one, seconds=seconds))
    score = score_times(rows)
    assert score.num_predicted == len(shapes) - 1
    assert score.num_within == score.num_predicted


@pytest.mark.parametrize("attention", [0.6, 0.9])
@pytest.mark.parametrize("mode", ["lora", "full", "generate"])
def test_a_calibration_holds_within_15_percent_for_codes_with_other_attention(
    attention: float, mode: Mode
) -> None:
    shapes = [(33, 480, 720), (49, 480, 720), (49, 480, 720)]
    rows = []
    for number, (frames, height, width) in enumerate(shapes):
        one = work(frames=frames, height=height, width=width, mode=mode, batch=1 + number)
        seconds = (one.linear_flops + one.attention_flops / attention) / 2e14
        rows.append(TimedRow(name=str(number), group="made", work=one, seconds=seconds))
    score = score_times(rows)
    assert score.num_within == score.num_predicted == 2


def test_a_group_with_one_row_has_no_prediction() -> None:
    score = score_times([TimedRow(name="a", group="x", work=work(), seconds=3.0)])
    assert score.num_predicted == 0
    assert score.results[0].predicted_seconds is None


def test_the_row_that_it_is_calibrated_on_comes_out_as_it_was() -> None:
    told = calibrated_seconds(work(), on=work(), seconds=7.0)
    assert (told.low + told.high) / 2 == pytest.approx(7.0)
