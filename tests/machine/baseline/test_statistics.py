from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filmgate.machine.baseline.statistics import compare_logs, student_cdf, student_quantile

TIMES = st.lists(st.floats(0.01, 100), min_size=2, max_size=8)


@pytest.mark.parametrize(
    ("probability", "freedom", "quantile"),
    [  # Source: tables of Student's distribution, for example NIST/SEMATECH 1.3.6.7.2
        (0.975, 1, 12.706), (0.975, 2, 4.303), (0.975, 5, 2.571), (0.975, 8, 2.306),
        (0.975, 30, 2.042), (0.95, 10, 1.812), (0.999, 4, 7.173),
        (0.9995, 1, 636.619), (0.975, 1000, 1.962),
    ],
)  # fmt: skip
def test_quantiles_are_those_of_the_tables(
    probability: float, freedom: float, quantile: float
) -> None:
    assert student_quantile(probability, freedom) == pytest.approx(quantile, abs=6e-4)


def test_the_distribution_of_one_degree_of_freedom_is_cauchys() -> None:
    for t in (0.0, 0.3, 1.0, 5.0, 100.0):
        assert student_cdf(t, 1) == pytest.approx(0.5 + math.atan(t) / math.pi, abs=1e-12)


@given(TIMES, TIMES)
def test_the_interval_holds_the_ratio_and_turns_with_the_sides(
    a: list[float], b: list[float]
) -> None:
    there, back = compare_logs(a, b), compare_logs(b, a)
    assert there.low <= there.ratio <= there.high
    assert there.smallest_seen > 0
    assert back.ratio == pytest.approx(1 / there.ratio)
    assert back.low == pytest.approx(1 / there.high)


@given(TIMES, TIMES, st.floats(0.1, 10))
def test_another_unit_changes_nothing(a: list[float], b: list[float], factor: float) -> None:
    plain, scaled = (
        compare_logs(a, b),
        compare_logs([x * factor for x in a], [x * factor for x in b]),
    )
    assert scaled.ratio == pytest.approx(plain.ratio)
    assert scaled.high == pytest.approx(plain.high)


@pytest.mark.parametrize("change", [1.0, 1.2])
def test_the_interval_holds_the_truth_in_95_of_100_cases(change: float) -> None:
    chance = random.Random(3)

    def times(centre: float) -> list[float]:
        return [centre * math.exp(chance.gauss(0, 0.05)) for _ in range(5)]

    found = [compare_logs(times(1.0), times(change)) for _ in range(400)]
    share = sum(one.low <= change <= one.high for one in found) / len(found)
    assert 0.92 <= share <= 0.98


def test_the_smallest_change_that_is_seen_is_seen_in_80_of_100_cases() -> None:
    chance = random.Random(4)

    def times(centre: float) -> list[float]:
        return [centre * math.exp(chance.gauss(0, 0.03)) for _ in range(5)]

    told = [compare_logs(times(1.0), times(1.0)).smallest_seen for _ in range(100)]
    smallest = sum(told) / len(told)
    found = [compare_logs(times(1.0), times(1 + smallest)) for _ in range(200)]
    assert 0.68 <= sum(one.low > 1 for one in found) / len(found) <= 0.9
