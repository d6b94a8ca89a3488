"""An exception from outside, as Ctrl-C is, anywhere in the feed's own code."""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

import filmgate.feed
import filmgate.video
from filmgate.feed import ClipReader, Feed, open_feed
from tests.feed.conftest import job_of
from tests.feed.test_feed import all_same, batches, take

ROOMS = tuple(str(Path(room.__file__).parent) for room in (filmgate.feed, filmgate.video))


LISTENING = ("CALL", "CALL_FUNCTION_EX", "JUMP_BACKWARD", "RESUME")
"""Operations behind which CPython runs the handlers of signals; ``with lock:`` has none inside."""


class Tracer:
    """Counts the places on this thread where a signal may strike, and strikes at one."""

    def __init__(self, break_at: int | None = None) -> None:
        self.num_places = 0
        self._break_at = break_at
        self._last: dict[FrameType, str] = {}

    def __call__(self, frame: FrameType, event: str, _: object) -> Tracer | None:
        if not frame.f_code.co_filename.startswith(ROOMS):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode" and self._listens(frame):
            self.num_places += 1
            if self.num_places == self._break_at:
                raise KeyboardInterrupt
        return self

    def _listens(self, frame: FrameType) -> bool:
        last = self._last.get(frame, "")
        self._last[frame] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
        return last in LISTENING


@contextmanager
def traced(tracer: Tracer) -> Iterator[None]:
    sys.settrace(tracer)
    try:
        yield
    finally:
        sys.settrace(None)


def num_places(feed: Feed) -> int:
    """Of one batch, about: how often a wait looks around depends on the day."""
    tracer = Tracer()
    with traced(tracer):
        next(feed)
    return tracer.num_places


def check_broken_off_at(feed: Feed, place: int, whole: list) -> bool:
    """The feed goes on with the batch that it says; whether ``next`` was broken off at all."""
    before = feed.state_dict()["next_sample"]
    try:
        with traced(Tracer(place)):
            next(feed)
        return False
    except KeyboardInterrupt:
        stands_at = feed.state_dict()["next_sample"]
        assert stands_at in (before, before + 4)
    rest = next(feed)
    assert rest.sample_start == stands_at
    assert all_same([rest], [whole[stands_at // 4]])
    return True


@pytest.mark.parametrize(
    ("workers", "num_points"), [(0, 80), pytest.param(0, 1500, marks=pytest.mark.slow), (1, 6)]
)
def test_a_feed_that_is_broken_off_anywhere_goes_on_where_it_says_it_stands(
    catalog, workers, num_points
):
    whole = batches(catalog, 6)
    with open_feed(job_of(workers), catalog) as feed:
        count = num_places(feed)
    places = {1 + point * (count - 1) // (num_points - 1) for point in range(num_points)}
    num_broken = 0
    with open_feed(job_of(workers), catalog) as feed:
        for place in sorted(places):
            feed.load_state_dict({**feed.state_dict(), "next_sample": 0})
            take(feed, 1)
            num_broken += check_broken_off_at(feed, place, whole)
    assert num_broken > len(places) // 3


@pytest.mark.parametrize("num_points", [60, pytest.param(1500, marks=pytest.mark.slow)])
def test_a_reader_that_is_broken_off_anywhere_gives_right_frames_afterwards(catalog, num_points):
    lists = [[30, 34, 38], [3, 5, 7], [41, 12], [38, 40, 42, 44]]
    with ClipReader(catalog, size=(48, 64)) as reader:
        whole = [reader.read(0, frames) for frames in lists]
        tracer = Tracer()
        with traced(tracer):
            reader.read(0, lists[1])
        for point in range(num_points):
            before, broken, after = (lists[(point + step) % 4] for step in range(3))
            reader.read(0, before)
            strike = Tracer(1 + point * tracer.num_places // num_points)
            with pytest.raises(KeyboardInterrupt), traced(strike):
                for _ in range(4):
                    reader.read(0, broken)
            frames = reader.read(0, after)
            assert np.array_equal(frames, whole[lists.index(after)])
