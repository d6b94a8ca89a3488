"""The times of a copy: the source's own, or even ones by its times."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from filmgate.prepare.times import UnusableTimes, copy_times
from filmgate.video import FrameTable, probe
from tests.footage import write_video


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> FrameTable:
    path = write_video(tmp_path_factory.mktemp("times") / "a.mp4", num_frames=20)
    return probe(path)[1]


def shown_at(table: FrameTable, pts: list[int], end: int) -> FrameTable:
    return replace(table, pts=np.array(pts, np.int64), end_ticks=end, time_base=Fraction(1, 1000))


steps = st.lists(st.integers(1, 500), min_size=1, max_size=40)


@given(steps=steps, start=st.integers(-1000, 1000))
def test_without_a_rate_every_frame_keeps_its_time(
    table: FrameTable, steps: list[int], start: int
) -> None:
    pts = np.cumsum([start, *steps]).tolist()
    times = copy_times(shown_at(table, pts[:-1], pts[-1]), None)
    assert (times.ticks_N * times.time_base).tolist() == [
        Fraction(tick - start, 1000) for tick in pts[:-1]
    ]
    assert times.source_frames_N.tolist() == list(range(len(steps)))
    assert times.durations.tolist() == steps


@given(steps=steps, fps=st.sampled_from([1.0, 10.0, 23.976, 25.0, 29.97, 60.0, 1000.0]))
def test_with_a_rate_each_time_shows_the_frame_that_the_source_shows(
    table: FrameTable, steps: list[int], fps: float
) -> None:
    pts = np.cumsum([7, *steps]).tolist()
    source = shown_at(table, pts[:-1], pts[-1])
    times = copy_times(source, fps)
    for number, frame in enumerate(times.source_frames_N.tolist()):
        seconds = number / Fraction(fps).limit_denominator(1_000_000)
        assert times.ticks_N[number] * times.time_base == seconds
        assert frame == source.frame_at(seconds)
    after = len(times.ticks_N) / Fraction(fps).limit_denominator(1_000_000)
    with pytest.raises(ValueError, match="no frame is shown"):
        source.frame_at(after)


def test_two_frames_at_one_time_are_refused_by_number(table: FrameTable) -> None:
    with pytest.raises(UnusableTimes, match="frame 1 is shown for no time"):
        copy_times(shown_at(table, [0, 40, 40, 80], 120), None)
