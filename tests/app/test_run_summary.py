from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from filmgate.app.run_summary import RunSummary, describe_score, score_interval
from tests.app.runs import SUMMARY


def test_the_interval_is_wilsons() -> None:
    # 8 of 10: Newcombe 1998 gives .490 to .943 for the score interval without correction.
    low, high = score_interval(8, 10)
    assert (low, high) == (pytest.approx(0.490, abs=1e-3), pytest.approx(0.943, abs=1e-3))


@given(st.integers(1, 1000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_holds_the_share_and_stays_inside_0_and_1(score: tuple[int, int]) -> None:
    right, clips = score
    low, high = score_interval(right, clips)
    assert 0 <= low <= right / clips + 1e-12
    assert right / clips - 1e-12 <= high <= 1


def test_a_score_is_said_beside_chance_and_its_interval() -> None:
    assert describe_score(SUMMARY) == "70 % of 40 held-out clips (55 to 82 %); chance 50 %"


def test_a_run_that_was_not_scored_says_so() -> None:
    unscored = msgspec.structs.replace(SUMMARY, accuracy=None)
    assert describe_score(unscored) == "not scored"
    reason = "no video is long enough to hold out a clip"
    unscored = msgspec.structs.replace(unscored, why_not_scored=reason)
    assert describe_score(unscored) == f"not scored: {reason}"


def test_a_summary_is_json_and_back() -> None:
    clean = msgspec.structs.replace(SUMMARY, left_out=[])
    assert msgspec.json.decode(msgspec.json.encode(clean), type=RunSummary) == clean
