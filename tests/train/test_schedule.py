from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filmgate.spec import Job, Train
from filmgate.train.schedule import learning_rate_at


def rates_of(train: Train) -> list[float]:
    return [learning_rate_at(step, Job(train=train)) for step in range(1, train.steps + 1)]


@given(steps=st.integers(1, 3000), peak=st.floats(1e-6, 1.0))
def test_one_cycle_climbs_to_its_peak_and_falls_to_a_hundredth(steps: int, peak: float) -> None:
    rates = rates_of(Train(steps=steps, learning_rate=peak))
    top = rates.index(max(rates))
    assert rates[top] == peak
    assert rates[: top + 1] == sorted(rates[: top + 1])
    assert rates[top:] == sorted(rates[top:], reverse=True)
    assert min(rates) > 0
    if steps > 1:
        assert rates[-1] == pytest.approx(peak / 100)


@given(steps=st.integers(1, 500), warm_up_share=st.floats(0, 1), final_share=st.floats(1e-3, 1))
def test_every_schedule_stays_between_zero_and_its_peak(
    steps: int, warm_up_share: float, final_share: float
) -> None:
    for schedule in ("one-cycle", "cosine", "constant"):
        train = Train(
            steps=steps,
            learning_rate=0.5,
            schedule=schedule,
            warm_up_share=warm_up_share,
            final_share=final_share,
        )
        rates = rates_of(train)
        assert all(0 < rate <= 0.5 for rate in rates)
        assert max(rates) == 0.5


def test_a_constant_schedule_stays_at_its_peak_and_a_cosine_begins_there() -> None:
    constant = rates_of(Train(steps=20, learning_rate=1.0, schedule="constant"))
    assert constant[:3] == [0.5, 1.0, 1.0] and constant[-1] == 1.0
    cosine = rates_of(Train(steps=20, learning_rate=1.0, schedule="cosine", final_share=0.1))
    assert cosine[0] == 1.0 and cosine[-1] == pytest.approx(0.1)
    assert cosine == sorted(cosine, reverse=True)
