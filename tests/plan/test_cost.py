from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from filmgate.errors import UserError
from filmgate.plan.cost import Cost, CostParts, break_even_hours, monthly_usd, rework_share
from filmgate.plan.hardware_plan import plan_hardware
from filmgate.plan.interval import Interval, exactly
from filmgate.plan.money import CostWish, check_wish
from filmgate.plan.ways import capital_share
from tests.plan.jobs import question

PRICES = st.tuples(st.floats(1, 1e6), st.floats(1, 3))


def cost(**said: object) -> Cost:
    found = plan_hardware(question(card="L40S", **said)).cost
    assert found is not None
    return found


def interval(pair: tuple[float, float]) -> Interval:
    return Interval(low=pair[0], high=pair[0] * pair[1])


@given(price=PRICES, months=st.floats(1, 120), residual=st.floats(0, 0.9))
def test_doubling_the_price_doubles_the_capital_share(
    price: tuple[float, float], months: float, residual: float
) -> None:
    wish = CostWish(life_months=months, residual_share=residual)
    once = capital_share(interval(price), wish)
    twice = capital_share(interval(price).times(2.0), wish)
    assert twice.low == pytest.approx(2 * once.low)
    assert twice.high == pytest.approx(2 * once.high)


@given(fixed=PRICES, hourly=st.floats(0, 1), rent=PRICES)
def test_at_the_break_even_owning_costs_what_renting_does(
    fixed: tuple[float, float], hourly: float, rent: tuple[float, float]
) -> None:
    even = break_even_hours(interval(fixed), exactly(hourly), interval(rent))
    if even is None:
        assert rent[0] * rent[1] <= hourly
        return
    assert even.low <= even.high
    parts = CostParts(
        fixed=exactly(interval(fixed).low), hourly=exactly(hourly),
        rent=exactly(interval(rent).high), spot=None, kept=exactly(0.0), rework=exactly(0.0),
    )  # fmt: skip
    own, cloud = monthly_usd("own", even.low, parts), monthly_usd("cloud", even.low, parts)
    assert own is not None
    assert cloud is not None
    assert own.low == pytest.approx(cloud.low)


@given(seconds=st.floats(1, 1e5), more=st.floats(0, 1e5), rate=st.floats(0, 50))
def test_longer_checkpoint_intervals_never_mean_less_rework(
    seconds: float, more: float, rate: float
) -> None:
    few = rework_share(exactly(seconds), exactly(rate))
    many = rework_share(exactly(seconds + more), exactly(rate))
    assert few.high <= many.high


def test_a_month_has_four_ways_and_each_its_lines() -> None:
    found = cost()
    assert [one.way for one in found.ways] == ["own", "cloud", "spot", "hybrid"]
    for one in found.ways:
        assert one.usd_per_month is not None
        low = sum(line.usd_per_month.low for line in one.lines)
        assert one.usd_per_month.low == pytest.approx(low)


def test_privacy_leaves_the_own_machine_alone() -> None:
    found = cost(wish=CostWish(private=True))
    assert [one.way for one in found.ways if one.allowed] == ["own"]
    assert any("building" in one for one in found.forced)


def test_a_deadline_says_how_many_times_the_cards_it_takes() -> None:
    late = cost(wish=CostWish(deadline_hours=1.0), steps=100_000)
    assert any("times these 1 cards" in one for one in late.forced)
    early = cost(wish=CostWish(deadline_hours=100_000.0), steps=100)
    assert any("is met" in one for one in early.forced)


def test_bursts_are_rented_and_the_rest_owned() -> None:
    found = {one.way: one for one in cost(wish=CostWish(burst_share=0.5)).ways}
    own, hybrid = found["own"].usd_per_month, found["hybrid"].usd_per_month
    assert own is not None
    assert hybrid is not None
    assert found["hybrid"].lines[0].usd_per_month.high < own.high


def test_a_card_without_a_price_is_no_cost_of_nothing() -> None:
    found = plan_hardware(question(card="H100 PCIe")).cost
    assert found is not None
    assert found.capital_usd is None
    assert found.ways[0].usd_per_month is None
    assert "no price" in found.ways[0].why
    assert found.break_even_hours is None
    assert "--cards" in found.break_even_says


@pytest.mark.parametrize(
    ("field", "value"),
    [("hours_per_month", -1.0), ("hours_per_month", 800.0), ("residual_share", 1.5),
     ("life_months", 0.0), ("pue", 0.5), ("deadline_hours", -3.0), ("burst_share", 2.0),
     ("stored_gb", -1.0), ("idle_share", float("nan"))],
)  # fmt: skip
def test_an_impossible_wish_is_an_error_with_its_bounds(field: str, value: float) -> None:
    with pytest.raises(UserError, match="it lies from"):
        check_wish(replace(CostWish(), **{field: value}))
