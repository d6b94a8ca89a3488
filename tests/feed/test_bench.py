from __future__ import annotations

import time

import msgspec
import pytest

from filmgate.catalog import Catalog
from filmgate.errors import UserError
from filmgate.feed.batch import Batch
from filmgate.feed.bench import FeedBench, bench_feed
from filmgate.feed.bench_windows import (
    Consumer,
    Mark,
    rates_of_parts,
    share_of_supply,
    sleeping_consumer,
)
from filmgate.feed.memory import proportional_bytes
from tests.feed.conftest import job_of

NULLABLE = {
    "read_bytes_per_second",
    "demand_clips_per_second",
    "headroom",
    "au",
    "au_spread",
    "au_seconds",
    "step_seconds",
    "clips_per_cpu_second",
    "cpu_seconds_per_1000_frames",
    "frames_decoded_per_frame_delivered",
    "peak_rss_bytes",
}


@pytest.fixture(scope="module")
def with_a_slow_step(catalog: Catalog) -> FeedBench:
    consumer = sleeping_consumer(0.4)
    return bench_feed(job_of(workers=1), catalog, seconds=1.0, consumer=consumer)


def test_demand_is_the_batch_over_the_given_step(with_a_slow_step: FeedBench) -> None:
    assert with_a_slow_step.demand_clips_per_second == pytest.approx(4 / 0.4)
    assert with_a_slow_step.headroom == pytest.approx(
        with_a_slow_step.supply_clips_per_second / 10.0
    )


def test_au_is_a_share_of_a_window_as_long_as_asked_for(with_a_slow_step: FeedBench) -> None:
    assert with_a_slow_step.au is not None
    assert 0 < with_a_slow_step.au <= 1
    assert with_a_slow_step.au_seconds is not None
    assert with_a_slow_step.au_seconds >= 1.0


def test_costs_add_up(with_a_slow_step: FeedBench) -> None:
    bench = with_a_slow_step
    assert bench.workers == 1
    assert bench.frames_decoded_per_frame_delivered is not None
    assert bench.frames_decoded_per_frame_delivered >= 1
    assert bench.clips_per_cpu_second is not None
    assert bench.cpu_seconds_per_1000_frames == pytest.approx(
        1000 / bench.clips_per_cpu_second / bench.frames_per_clip
    )
    assert {"decode", "convert"} <= set(bench.stages)
    assert sum(cost.share for cost in bench.stages.values()) == pytest.approx(1)
    assert bench.supply_frames_per_second == pytest.approx(4 * bench.supply_clips_per_second)
    assert bench.supply_bytes_per_second == pytest.approx(
        bench.supply_frames_per_second * 48 * 64 * 3
    )


def test_the_record_goes_to_json_and_back(with_a_slow_step: FeedBench) -> None:
    text = msgspec.json.encode(with_a_slow_step)
    assert msgspec.json.decode(text, type=FeedBench) == with_a_slow_step


def test_a_fast_step_waits_for_the_feed(catalog: Catalog) -> None:
    job = job_of(workers=0, height=240, width=320)
    bench = bench_feed(job, catalog, seconds=0.3, consumer=sleeping_consumer(1e-4))
    assert bench.workers == 0
    assert bench.au is not None
    assert bench.au < 0.5
    assert bench.headroom is not None
    assert bench.headroom < 1


def test_the_step_of_a_consumer_is_measured_where_it_is_not_told(catalog: Catalog) -> None:
    def step(batch: Batch) -> None:
        time.sleep(0.05)

    consumer = Consumer(step=step, says="a model")
    bench = bench_feed(job_of(workers=1), catalog, seconds=0.4, consumer=consumer)
    assert bench.demand_from == "a model"
    assert bench.demand_clips_per_second is not None
    assert 0 < bench.demand_clips_per_second <= 4 / 0.05


def test_demand_can_be_a_share_of_the_supply_just_measured(catalog: Catalog) -> None:
    bench = bench_feed(job_of(workers=1), catalog, seconds=0.5, consumer=share_of_supply(0.85))
    assert bench.demand_clips_per_second == pytest.approx(0.85 * bench.supply_clips_per_second)
    assert bench.headroom == pytest.approx(1 / 0.85)
    assert bench.step_seconds == pytest.approx(4 / bench.demand_clips_per_second)
    assert bench.demand_from == "a step that takes 85% of the supply"
    assert bench.au is not None
    assert 0 < bench.au < 1


def test_a_late_machine_does_not_count_as_compute(catalog: Catalog) -> None:
    consumer = sleeping_consumer(0.02)
    late = Consumer(
        step=lambda batch: time.sleep(0.06), says=consumer.says, step_seconds=consumer.step_seconds
    )
    bench = bench_feed(job_of(workers=1), catalog, seconds=0.5, consumer=late)
    assert bench.au is not None
    assert bench.au <= 1 / 3


def test_the_spread_encloses_the_figure(with_a_slow_step: FeedBench) -> None:
    bench = with_a_slow_step
    assert (
        bench.supply_spread.lowest <= bench.supply_clips_per_second <= bench.supply_spread.highest
    )
    assert bench.au_spread is not None
    assert bench.au is not None
    assert bench.au_spread.lowest <= bench.au <= bench.au_spread.highest


def test_parts_are_consecutive_and_cover_the_window() -> None:
    marks = [Mark(seconds=second, amount=4.0 * second) for second in range(11)]
    assert rates_of_parts(marks) == [4.0] * 5
    uneven = [Mark(seconds=s, amount=a) for s, a in ((0, 0), (1, 8), (3, 12))]
    assert rates_of_parts(uneven) == [8.0, 2.0]


@pytest.mark.parametrize("share", [0.0, -0.5, float("nan"), float("inf"), 1e300])
def test_a_demand_that_is_no_share_is_refused(share: float) -> None:
    with pytest.raises(UserError, match="times the supply"):
        share_of_supply(share)


def test_what_is_not_known_is_null_and_says_why(catalog: Catalog) -> None:
    bench = bench_feed(job_of(workers=0), catalog, seconds=0.1, consumer=None)
    nulls = {name for name in bench.__struct_fields__ if getattr(bench, name) is None}
    assert {"demand_clips_per_second", "au", "headroom"} <= nulls <= NULLABLE
    assert set(bench.unknown) == nulls
    assert all(bench.unknown.values())


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf"), 1e9])
def test_a_window_without_length_or_end_is_refused(catalog: Catalog, seconds: float) -> None:
    with pytest.raises(UserError, match="window"):
        bench_feed(job_of(), catalog, seconds=seconds, consumer=None)


@pytest.mark.parametrize("seconds", [0.0, float("nan"), float("inf"), 1e297])
def test_a_step_without_length_or_end_is_refused(seconds: float) -> None:
    with pytest.raises(UserError, match="a step of"):
        sleeping_consumer(seconds)


def test_memory_of_several_processes_counts_what_each_adds() -> None:
    own = proportional_bytes([])
    assert own is not None
    assert own > 10_000_000
    gone = proportional_bytes([2**22 - 1])
    assert gone is not None
    assert abs(gone - own) < own
