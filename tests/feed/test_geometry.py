from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from filmgate.feed.geometry import Orientation, cover, crop_offset, with_short_side

SIDES = st.integers(1, 5000)


@given(SIDES, SIDES, SIDES, SIDES)
def test_a_covering_size_touches_one_side_and_keeps_the_aspect(height, width, rows, columns):
    scaled = cover((height, width), (rows, columns))
    assert scaled[0] >= rows
    assert scaled[1] >= columns
    assert scaled[0] == rows or scaled[1] == columns
    assert abs(scaled[0] * width - scaled[1] * height) <= max(height, width) / 2 + max(
        rows * width, columns * height
    ) * (min(scaled) == 1)


@given(st.integers(0, 500), st.floats(0, 1, exclude_max=True))
def test_a_window_lies_inside_the_picture(free, where):
    assert 0 <= crop_offset(free, where) <= free


def test_every_offset_is_reached_evenly_and_the_middle_is_the_middle():
    assert [crop_offset(3, k / 8) for k in range(8)] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert crop_offset(4, 0.5) == 2


def test_the_short_side_fits_and_the_long_side_follows():
    assert with_short_side((720, 1280), 256) == (256, 455)
    assert with_short_side((1280, 720), 256) == (455, 256)


def test_a_wide_pixel_widens_the_picture_before_it_is_turned():
    turned = Orientation(rotation_degrees=90, mirrored=False, sample_aspect=(64, 45))
    assert turned.upright((576, 720)) == (1024, 576)
    assert turned.turned_back((1024, 576)) == (576, 1024)
