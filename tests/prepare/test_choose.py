"""The choice of a layout follows demand, limits and what making it costs."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filmgate.prepare.check import Likeness
from filmgate.prepare.choose import Needs, choose
from filmgate.prepare.measure import Trial
from filmgate.prepare.recipe import Layout, Recipe

SOURCE = Trial(
    label="source", recipe=None, video_seconds=60, bytes=60_000_000, size_share=1.0,
    clips_per_cpu_second=2.0, read_bytes_per_clip=2e6,
)  # fmt: skip


def copy(label: int, share: float, speed: float, psnr_db: float, encode: float = 3600.0) -> Trial:
    layout = Layout(name="short-gop", codec="h264", quality=label, key_every=16)
    return Trial(
        label=layout.label, recipe=Recipe(layout=layout), video_seconds=60,
        bytes=round(share * 60_000_000), size_share=share, clips_per_cpu_second=speed,
        read_bytes_per_clip=1e5, encode_cpu_seconds_per_hour=encode,
        likeness=Likeness(psnr_db=psnr_db, lowest_psnr_db=psnr_db - 2, ssim=0.98),
    )  # fmt: skip


SMALL, FAST, COARSE = copy(20, 0.4, 40, 40), copy(18, 0.6, 80, 42), copy(30, 0.2, 100, 35)
HOUR = {"video_seconds": 3600.0, "source_bytes": 1_000_000_000}


def test_without_demand_the_copy_with_the_cheapest_clips_is_chosen() -> None:
    choice = choose([SOURCE, SMALL, FAST, COARSE], Needs(), **HOUR)
    assert choice.label == FAST.label
    assert "80 clips per CPU-second against 2.0" in choice.why
    coarse = choice.outlooks[3]
    assert coarse.why_not == "35.0 dB is below 38 dB"


def test_with_demand_the_smallest_copy_that_meets_it_is_chosen() -> None:
    needs = Needs(clips_per_second=60, cores=2)
    assert choose([SOURCE, SMALL, FAST], needs, **HOUR).label == SMALL.label
    more = Needs(clips_per_second=100, cores=2)
    choice = choose([SOURCE, SMALL, FAST], more, **HOUR)
    assert choice.label == FAST.label
    assert choice.outlooks[1].why_not == "it takes 2.5 cores of 2"


def test_a_copy_that_the_clips_do_not_pay_for_is_not_chosen() -> None:
    trials = [SOURCE, FAST]
    pays_from = choose(trials, Needs(), **HOUR).outlooks[1].pays_from_clips
    assert pays_from == math.ceil(3600 / (1 / 2 - 1 / 80))
    assert choose(trials, Needs(clips=pays_from - 1), **HOUR).label == "source"
    assert choose(trials, Needs(clips=pays_from), **HOUR).label == FAST.label


def test_no_copy_within_the_limits_is_said_and_none_is_chosen() -> None:
    choice = choose([SOURCE, COARSE], Needs(), **HOUR)
    assert choice.label is None and choice.chosen is None
    full = choose([SOURCE, FAST], Needs(bytes_free=1_000_000), **HOUR)
    assert "do not fit" in (full.outlooks[1].why_not or "")


def test_a_layout_that_failed_keeps_its_reason() -> None:
    failed = Trial(label="x", recipe=FAST.recipe, video_seconds=60, why_not="no encoder")
    choice = choose([SOURCE, failed, FAST], Needs(), **HOUR)
    assert choice.outlooks[1].why_not == "no encoder"
    assert choice.label == FAST.label


def test_the_smallest_storage_class_that_carries_the_demand_is_named() -> None:
    slow = choose([SOURCE, FAST], Needs(clips_per_second=600, cores=1000), **HOUR)
    assert slow.outlooks[0].storage_class == "NAS over 10 GbE"
    assert slow.outlooks[0].read_bytes_per_second == 1.2e9
    fast = choose([SOURCE, FAST], Needs(clips_per_second=1e6, cores=1_000_000), **HOUR)
    assert fast.outlooks[0].storage_class is None


@given(
    shares=st.lists(st.floats(0.05, 1.5), min_size=1, max_size=6),
    demand=st.none() | st.floats(0.1, 1000),
    clips=st.none() | st.integers(1, 10**7),
)
def test_whatever_is_chosen_keeps_every_limit(
    shares: list[float], demand: float | None, clips: int | None
) -> None:
    trials = [SOURCE, *[copy(n + 10, share, 5 + 60 * share, 36 + n) for n, share in
                        enumerate(shares)]]  # fmt: skip
    needs = Needs(clips_per_second=demand, cores=4, clips=clips)
    choice = choose(trials, needs, **HOUR)
    chosen = choice.chosen
    if chosen is not None and chosen.trial.recipe is not None:
        assert chosen.why_not is None
        assert chosen.trial.likeness is not None
        assert (chosen.trial.likeness.psnr_db or math.inf) >= needs.lowest_psnr_db
        assert (chosen.trial.size_share or 0) <= needs.largest_size_share
        assert demand is None or (chosen.cores_for_demand or 0) <= 4
        assert clips is None or clips >= (chosen.pays_from_clips or math.inf)


@pytest.mark.parametrize("speed", [1.0, 2.0])
def test_a_copy_that_reads_no_faster_never_pays(speed: float) -> None:
    choice = choose([SOURCE, copy(20, 0.5, speed, 40)], Needs(clips=10**9), **HOUR)
    assert choice.label == "source"
    assert "no copy within the limits is read faster" in choice.why
