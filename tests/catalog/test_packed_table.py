"""Any frame table comes out of its bytes as it went in."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from filmgate.catalog.packed_table import pack_table, unpack_table
from filmgate.catalog.store import frame_arrays, frame_plain
from filmgate.video import EntryPoints, FrameTable


def integers(dtype: type[np.integer]) -> st.SearchStrategy[np.ndarray]:
    info = np.iinfo(dtype)
    values = st.lists(st.integers(int(info.min), int(info.max)), max_size=20)
    return values.map(lambda listed: np.array(listed, dtype))


tables = st.builds(
    FrameTable,
    time_base=st.fractions(min_value=Fraction(1, 10**6), max_value=10, max_denominator=10**6),
    pts=integers(np.int64),
    end_ticks=st.integers(-(2**62), 2**62),
    is_key=st.lists(st.booleans(), max_size=20).map(lambda listed: np.array(listed, np.bool_)),
    packet=integers(np.int32),
    entries=st.builds(
        EntryPoints,
        packet=integers(np.int32),
        first_frame=integers(np.int32),
        seek_target=integers(np.int64),
        position=integers(np.int64),
        size=integers(np.int32),
        crc32=integers(np.uint32),
    ),
    access=st.sampled_from(["seek", "sequential"]),
    access_reason=st.none() | st.text(max_size=9),
    seek_by=st.sampled_from(["pts", "dts", "position"]),
    times_from_packets=st.booleans(),
    stream_index=st.integers(0, 9),
    file_bytes=st.integers(0, 2**60),
)


@given(tables)
def test_a_table_comes_out_as_it_went_in(table: FrameTable) -> None:
    again = unpack_table(pack_table(table))
    assert frame_plain("", again) == frame_plain("", table)
    for name, values in frame_arrays(table).items():
        got = frame_arrays(again)[name]
        assert got.dtype == values.dtype
        assert np.array_equal(got, values)


def test_half_an_hour_of_even_frames_takes_less_than_a_byte_for_each() -> None:
    num_frames = 54_000
    empty = np.zeros(0, np.int32)
    entries = EntryPoints(
        packet=empty,
        first_frame=empty,
        seek_target=np.zeros(0, np.int64),
        position=np.zeros(0, np.int64),
        size=empty,
        crc32=np.zeros(0, np.uint32),
    )
    table = FrameTable(
        time_base=Fraction(1, 90_000),
        pts=np.arange(num_frames) * 3003,
        end_ticks=num_frames * 3003,
        is_key=np.arange(num_frames) % 250 == 0,
        packet=np.arange(num_frames, dtype=np.int32),
        entries=entries,
        access="seek",
        access_reason=None,
        seek_by="pts",
        times_from_packets=False,
        stream_index=0,
        file_bytes=1,
    )
    assert len(pack_table(table)) < num_frames
