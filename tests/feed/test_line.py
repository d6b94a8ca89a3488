"""The line and the policy by themselves: no process, no pixel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from filmgate.catalog import Catalog
from filmgate.catalog.order import Order
from filmgate.catalog.order_over import order_over
from filmgate.errors import DeadlineError
from filmgate.feed.ahead import Ahead
from filmgate.feed.clip_maker import failure, sample_of
from filmgate.feed.division import Division
from filmgate.feed.kept_frames import KeptFrames
from filmgate.feed.line import MAX_PASSED_OVER, Line, Place
from filmgate.feed.messages import ClipDone, ClipFailed, Effort, FailureKind, Task, Visit
from filmgate.feed.policy import MAX_SUBSTITUTES, Policy
from filmgate.feed.stats import Tally
from filmgate.spec import Job
from tests.feed.conftest import job_of


class Bench:
    """A line whose tasks the test settles as it likes."""

    def __init__(
        self, catalog: Catalog, job: Job, num_slots: int = 8, num_cache_slots: int = 0
    ) -> None:
        self.order: Order = order_over(job, catalog, "train", catalog.frame_table)
        self.policy = Policy(job.data, self.order, catalog)
        division = Division(first=0, num_samples=None, batch_size=4, rank=0, world_size=1)
        slots = range(num_slots, num_slots + num_cache_slots)
        ahead = Ahead(self.order, division, num_epochs=job.data.lookahead, slots=slots)
        self.line = Line(
            division=division,
            policy=self.policy,
            ahead=ahead,
            kept_frames=KeptFrames(None, self.order, catalog),
            tally=Tally(),
            num_slots=num_slots,
            wake=lambda: None,
        )
        self.line.begin()

    def tasks(self) -> list[Task]:
        """All that wait to be started."""
        found = []
        while (visit := self.line.next_visit()) is not None:
            found += visit.tasks
        return found

    def done(self, task: Task) -> None:
        self.line.settle(
            ClipDone(
                task=task,
                sample=sample_of(self.order, task),
                times_T=np.zeros(4),
                video_id="",
                content_digest="",
                label=None,
                effort=Effort(),
            )
        )

    def failed(self, task: Task, kind: FailureKind = "undecodable") -> None:
        sample = sample_of(self.order, task)
        self.line.settle(failure(task, sample, f"{sample.video}", "x", (kind, "why"), Effort()))

    def video(self, task: Task) -> int:
        return self.order.video_of(task.number, task.attempt)

    def take(self, index: int) -> Place:
        return self.line.take(index, 0.0)


@pytest.fixture
def bench(catalog: Catalog) -> Bench:
    return Bench(catalog, job_of())


def test_places_are_delivered_in_order_whatever_the_order_they_are_made_in(bench):
    tasks = bench.tasks()
    assert [task.number for task in tasks] == list(range(8))
    for task in reversed(tasks[1:]):
        bench.done(task)
    assert bench.line.num_ready == 0
    bench.done(tasks[0])
    assert bench.line.num_ready == 8
    assert [bench.take(index).number for index in range(8)] == list(range(8))


def test_a_slot_is_given_out_again_only_after_its_clip_was_delivered(bench):
    first = bench.tasks()
    assert sorted(task.slot for task in first) == list(range(8))
    for task in first:
        bench.done(task)
    assert bench.tasks() == []
    bench.line.release(3)
    assert [(task.number, task.slot) for task in bench.tasks()] == [(8, 0), (9, 1), (10, 2)]


def test_a_clip_that_takes_two_workers_with_it_has_failed(bench):
    first, *rest = bench.tasks()
    bench.line.give_back(Visit(tasks=(first,)), ("crash", "its worker died (SIGSEGV)"))
    (again,) = bench.tasks()
    assert again == first
    bench.line.give_back(Visit(tasks=(again,)), ("crash", "its worker died (SIGSEGV)"))
    (substitute,) = [task for task in bench.tasks() if task.position == first.position]
    assert substitute.attempt == 1
    assert bench.video(substitute) != bench.video(first)
    bench.done(substitute)
    (failed,) = bench.take(0).failures
    assert (failed.kind, failed.reason) == ("crash", "its worker died (SIGSEGV), 2 times")
    assert bench.video(first) in bench.policy.quarantined
    assert rest


def test_a_task_that_only_waited_behind_a_crash_is_not_blamed(bench):
    first, *_ = bench.tasks()
    for _ in range(10):
        bench.line.give_back(Visit(tasks=(first,)), None)
        assert bench.tasks() == [first]


def test_given_back_tasks_come_before_all_others(bench):
    first = bench.line.next_visit()
    second = bench.line.next_visit()
    for visit in (second, first):
        bench.line.give_back(visit, None)
    assert bench.tasks()[:2] == [*first.tasks, *second.tasks]


@given(st.permutations(range(24)), st.data())
def test_a_quarantine_gives_the_same_clips_whichever_clip_was_faster(catalog, speed, data):
    """Clips of one video go past their deadline from some sample on."""
    hanging_video = data.draw(st.integers(0, 3))
    hangs_from = data.draw(st.integers(0, 20))

    def deliver(pick: list[int]) -> list[tuple[int, int]]:
        bench = Bench(catalog, job_of(error_budget=1.0), num_slots=24)
        rank = {position: place for place, position in enumerate(pick)}
        waiting = bench.tasks()
        while waiting:
            task = min(waiting, key=lambda task: rank[task.position])
            waiting.remove(task)
            if bench.video(task) == hanging_video and task.number >= hangs_from:
                bench.failed(task, "deadline")
            else:
                bench.done(task)
            if not waiting:
                for index in range(24):
                    bench.line.look(index)
            waiting += bench.tasks()
        places = [bench.take(index) for index in range(24)]
        return [(place.done.sample.video, place.done.task.attempt) for place in places]

    assert deliver(list(speed)) == deliver(list(range(24)))


def test_a_place_stays_masked_when_all_its_substitutes_fail(bench):
    task, *_ = bench.tasks()
    for _ in range(MAX_SUBSTITUTES + 1):
        bench.failed(task)
        task = next((task for task in bench.tasks() if task.position == 0), None)
    assert task is None
    place = bench.take(0)
    assert place.done is None
    assert len(place.failures) == MAX_SUBSTITUTES + 1


def test_an_ordinary_failure_does_not_leave_the_whole_video_out(bench):
    task, *_ = bench.tasks()
    bench.failed(task, "undecodable")
    assert bench.policy.quarantined == {}


def test_a_line_in_which_nothing_happens_raises_after_its_patience(bench):
    with pytest.raises(DeadlineError, match="no progress"):
        bench.line.take(0, 0.05)


def test_what_stopped_the_pump_is_raised_to_the_consumer(bench):
    bench.line.fail(RuntimeError("a feed worker failed"))
    with pytest.raises(RuntimeError, match="a feed worker failed"):
        bench.take(0)


def test_failures_name_the_frames(bench):
    task, *_ = bench.tasks()
    bench.failed(task)
    failed: ClipFailed = bench.policy.failure_of(task, "crash", "why")
    frames = sample_of(bench.order, task).frame_indices_T
    assert failed.place == f"frames {frames.min()} to {frames.max()}"


def test_a_worker_is_given_the_videos_that_suit_it_but_no_clip_waits_for_long(bench):
    videos = [bench.order.video_of(number) for number in range(8)]
    liked = videos[-1]
    taken = []
    while (visit := bench.line.next_visit(lambda video: video == liked)) is not None:
        taken.append(visit.tasks[0].number)
    assert sorted(taken) == list(range(8))
    assert taken != list(range(8))
    for place, number in enumerate(taken):
        assert place <= number + MAX_PASSED_OVER


def test_the_depth_bounds_the_places_that_are_open_and_can_grow(bench):
    for task in bench.tasks():
        bench.done(task)
    bench.line.set_depth(3)
    bench.line.release(6)
    assert [task.number for task in bench.tasks()] == [8]
    bench.line.set_depth(8)
    assert [task.number for task in bench.tasks()] == [9, 10, 11, 12, 13]
