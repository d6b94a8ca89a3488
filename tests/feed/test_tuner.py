"""What changes while a feed runs: decided from sums alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from filmgate.feed.sizing import Size, choose_size
from filmgate.feed.tuner import (
    WINDOW_SECONDS,
    WINDOWS_TO_GROW,
    WINDOWS_TO_SHRINK,
    Reading,
    SizeChange,
    Tuner,
    tuner_of,
)
from filmgate.spec import Limits
from tests.feed.test_sizing import around


class Run:
    """A feed of which only the sums are made up."""

    def __init__(self, num_cores: int = 8, limits: Limits | None = None) -> None:
        self.size: Size = choose_size(
            limits or Limits(),
            around(num_cores),
            batch_clips=4,
            clip_bytes=1_000_000,
            num_clips=None,
        )
        self.tuner: Tuner = tuner_of(self.size, 4)
        self.seconds = self.waited = self.idle = 0.0
        self.batches = 1
        self.look()

    def look(self) -> SizeChange | None:
        return self.tuner.look(
            Reading(
                seconds=self.seconds,
                waited_seconds=self.waited,
                idle_seconds=self.idle,
                num_batches=self.batches,
            )
        )

    def windows(self, count: int, *, wait: float, idle: float) -> list[SizeChange]:
        """So many windows with these shares; what changed."""
        changes = []
        for _ in range(count):
            self.seconds += WINDOW_SECONDS
            self.waited += wait * WINDOW_SECONDS
            self.idle += idle * WINDOW_SECONDS * self.tuner.num_workers
            self.batches += 1
            if (change := self.look()) is not None:
                changes.append(change)
        return changes


def test_workers_are_added_while_training_waits_for_busy_ones_up_to_the_budget():
    run = Run(17, Limits(cpu_budget_cores=14))
    changes = run.windows(20, wait=0.4, idle=0.0)
    assert [change.num_workers for change in changes] == [12, 14]
    assert "training waited 40 % of the time and the workers were busy" in changes[0].why
    assert changes == run.tuner.changes


def test_the_queue_grows_where_workers_had_time_to_spare():
    run = Run()
    (change,) = run.windows(WINDOWS_TO_GROW, wait=0.2, idle=0.5)
    assert change.num_workers == run.size.num_workers
    assert change.depth_batches == 8  # 5 for 7 workers, half as many more
    run.windows(100, wait=0.2, idle=0.5)
    assert run.tuner.depth_batches == run.size.most_depth_batches


def test_a_worker_retires_after_a_long_idle_time_and_the_last_one_never_does():
    run = Run()
    assert run.windows(WINDOWS_TO_SHRINK - 1, wait=0.0, idle=0.9) == []
    (change,) = run.windows(1, wait=0.0, idle=0.9)
    assert change.num_workers == run.size.num_workers - 1
    run.windows(100 * WINDOWS_TO_SHRINK, wait=0.0, idle=0.95)
    assert run.tuner.num_workers == 1


def test_a_worker_that_was_missed_after_it_retired_stays():
    run = Run()
    run.windows(WINDOWS_TO_SHRINK, wait=0.0, idle=0.9)
    before = run.tuner.num_workers
    run.windows(WINDOWS_TO_GROW, wait=0.3, idle=0.0)
    grown = run.tuner.num_workers
    assert grown > before
    run.windows(10 * WINDOWS_TO_SHRINK, wait=0.0, idle=0.9)
    assert run.tuner.num_workers == grown


def test_one_bad_window_changes_nothing():
    run = Run(16)
    for _ in range(20):
        assert run.windows(1, wait=0.5, idle=0.0) == []
        assert run.windows(1, wait=0.0, idle=0.0) == []


def test_the_start_of_workers_does_not_count():
    run = Run(16)
    for _ in range(10):
        run.windows(1, wait=1.0, idle=0.0)
        run.tuner.begin_window()
    assert run.tuner.changes == []


def test_a_consumer_that_sleeps_costs_no_worker():
    run = Run()
    for _ in range(1000):
        run.seconds += 10
        run.idle += 10 * run.tuner.num_workers
        assert run.look() is None


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=60))
def test_given_numbers_never_change(windows):
    run = Run(8, Limits(workers=3, prefetch_batches=2))
    for wait, idle in windows:
        assert run.windows(1, wait=wait, idle=idle) == []


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=200))
def test_numbers_stay_within_their_bounds_whatever_happens(windows):
    run = Run(12)
    for wait, idle in windows:
        run.windows(3, wait=wait, idle=idle)
        assert 1 <= run.tuner.num_workers <= 12
        assert run.size.depth_batches <= run.tuner.depth_batches <= run.size.most_depth_batches
