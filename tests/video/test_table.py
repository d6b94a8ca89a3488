from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from filmgate.video import EntryPoints, FrameTable, VideoReader, probe
from tests.footage import read_index, write_video

TIME_BASES = st.sampled_from([Fraction(1, 1000), Fraction(1, 12800), Fraction(1001, 30000)])


def table_of(pts: list[int], end_ticks: int, time_base: Fraction) -> FrameTable:
    nothing = np.zeros(0, np.int64)
    return FrameTable(
        time_base=time_base,
        pts=np.array(pts, np.int64),
        end_ticks=end_ticks,
        is_key=np.ones(len(pts), bool),
        packet=np.arange(len(pts), dtype=np.int32),
        entries=EntryPoints(
            packet=nothing.astype(np.int32),
            first_frame=nothing.astype(np.int32),
            seek_target=nothing,
            position=nothing,
            size=nothing.astype(np.int32),
            crc32=nothing.astype(np.uint32),
        ),
        access="sequential",
        access_reason="made up",
        seek_by="dts",
        times_from_packets=True,
        stream_index=0,
        file_bytes=0,
    )


@st.composite
def tables(draw: st.DrawFn) -> FrameTable:
    gaps = draw(st.lists(st.integers(1, 5000), min_size=1, max_size=40))
    start = draw(st.integers(-(10**6), 10**9))
    pts = [start, *(start + int(total) for total in np.cumsum(gaps))]
    return table_of(pts[:-1], pts[-1], draw(TIME_BASES))


@given(table=tables())
def test_the_start_of_a_frame_finds_that_frame(table: FrameTable) -> None:
    for index in range(table.num_frames):
        assert table.frame_at(table.seconds(index)) == index


@given(table=tables(), data=st.data())
def test_every_moment_of_an_interval_finds_its_frame(
    table: FrameTable, data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, table.num_frames - 1))
    ends = [*table.pts.tolist(), table.end_ticks]
    tick = data.draw(st.integers(ends[index], ends[index + 1] - 1))
    share = data.draw(st.fractions(0, Fraction(999, 1000)))
    moment = (tick + share - ends[0]) * table.time_base
    assert table.frame_at(moment) == index


@given(table=tables())
def test_before_the_first_and_from_the_end_on_no_frame_is_shown(table: FrameTable) -> None:
    for outside in (Fraction(-1, 1000), Fraction(table.duration_seconds) + Fraction(1, 1000)):
        with pytest.raises(ValueError, match="runs from 0 to"):
            table.frame_at(outside)
    with pytest.raises(ValueError, match="runs from 0 to"):
        table.frame_at((table.end_ticks - int(table.pts[0])) * table.time_base)


def test_times_that_passed_through_single_precision_still_find_their_frame() -> None:
    table = table_of(list(range(0, 10 * 512, 512)), 5120, Fraction(1, 12800))
    for index in range(10):
        shown = float(np.float32(table.seconds(index) + 1e-6))
        assert table.frame_at(shown) == index


def test_a_second_at_25_fps_holds_25_frames() -> None:
    table = table_of(list(range(50)), 50, Fraction(1, 25))
    for start in (0.0, 0.02):
        first, behind = table.frame_at(start), table.frame_at(start + 1.0)
        assert behind - first == 25


@given(table=tables(), fps=st.sampled_from([1.0, 7.5, 16.0, 24.0, 29.97, 60.0]), data=st.data())
def test_a_clip_by_rate_takes_the_frames_that_are_shown(
    table: FrameTable, fps: float, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, table.num_frames - 1))
    count = data.draw(st.integers(1, 12))
    step = 1 / (Fraction(fps).limit_denominator(1_000_000))
    moments = [
        (int(table.pts[start]) - int(table.pts[0])) * table.time_base + step * k
        for k in range(count)
    ]
    if moments[-1] >= (table.end_ticks - int(table.pts[0])) * table.time_base:
        with pytest.raises(ValueError, match="after the video"):
            table.frames_at_rate(start, count, fps)
    else:
        frames = table.frames_at_rate(start, count, fps)
        assert frames.tolist() == [table.frame_at(moment) for moment in moments]


def test_even_spacing_is_judged_with_the_rounding_of_the_time_base() -> None:
    thirds = [round(k * 1000 / 30) for k in range(300)]
    assert not table_of(thirds, 10_000, Fraction(1, 1000)).is_variable_rate
    thirds[150] += 3
    assert table_of(thirds, 10_000, Fraction(1, 1000)).is_variable_rate


@pytest.mark.parametrize("fps_pair", [(16, 16), (24, 16)])
@pytest.mark.parametrize("num_frames", [49, 65, 81, 89])
def test_a_video_of_exactly_the_clip_length_is_long_enough(
    num_frames: int, fps_pair: tuple[int, int]
) -> None:
    video_fps, clip_fps = fps_pair
    table = table_of(list(range(num_frames)), num_frames, Fraction(1, video_fps))
    clip = -(-num_frames * clip_fps // video_fps)
    assert len(table.frames_at_rate(0, clip, clip_fps)) == clip
    with pytest.raises(ValueError, match="after the video"):
        table.frames_at_rate(0, clip + 1, clip_fps)


def test_constant_and_variable_rate_copies_show_the_same_at_every_time(tmp_path: Path) -> None:
    kept = [k for k in range(50) if (k % 2 == 0 if k < 25 else k % 5 == 0)]
    constant = write_video(tmp_path / "c.mp4", num_frames=50)
    variable = write_video(
        tmp_path / "v.mp4", num_frames=len(kept), pts=[40 * k for k in kept], b_frames=0
    )
    (_, even), (facts, odd) = probe(constant), probe(variable)
    assert facts.is_variable_rate
    assert odd.num_frames == len(kept)
    with VideoReader(constant, even) as reader:
        _, frame = next(reader.frames([33]))
        assert read_index(frame.to_ndarray(format="rgb24")) == 33
    for k in range(0, 46):
        moment = Fraction(k, 25)
        assert even.frame_at(moment) == k
        assert kept[odd.frame_at(moment)] == max(i for i in kept if i <= k)
