"""Masks: runs and polygons as pixels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from filmgate.pack.mask import (
    Polygons,
    Runs,
    box_of_pixels,
    check_runs,
    counts_of_text,
    mask_pixels,
    pixels_runs,
    ring_pixels,
    rings_of,
    runs_pixels,
)

COCOAPI_TEXT = "623000O"
"""``pycocotools.mask.encode`` of a 5 x 4 mask with the rows 1 and 2 of its last three columns."""
bits = st.tuples(st.integers(1, 12), st.integers(1, 12)).flatmap(
    lambda size: arrays(np.bool_, size)
)


@given(bits)
def test_pixels_to_runs_and_back_are_the_same_pixels(pixels: np.ndarray) -> None:
    runs = pixels_runs(pixels)
    check_runs(runs)
    assert np.array_equal(runs_pixels(runs), pixels)


def text_of_counts(counts: list[int]) -> str:
    """COCO's ``rleToString``, for the test of its reverse."""
    text = ""
    for place, count in enumerate(counts):
        value = count - (counts[place - 2] if place > 2 else 0)
        while True:
            bits_of = value & 0x1F
            value >>= 5
            is_more = value != -1 if bits_of & 0x10 else value != 0
            text += chr((bits_of | (0x20 if is_more else 0)) + 48)
            if not is_more:
                break
    return text


@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=40))
def test_compressed_runs_are_read_as_they_were_written(counts: list[int]) -> None:
    assert counts_of_text(text_of_counts(counts)).tolist() == counts


def test_known_compressed_runs_are_read_as_cocoapi_wrote_them() -> None:
    pixels = np.zeros((5, 4), np.bool_)
    pixels[1:3, 1:4] = True
    assert np.array_equal(counts_of_text(COCOAPI_TEXT), pixels_runs(pixels).counts)


@pytest.mark.parametrize("text", ["6`", "\x1f1"])
def test_compressed_runs_that_end_midway_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="compressed runs"):
        counts_of_text(text)


def test_runs_that_do_not_fill_the_picture_are_refused() -> None:
    with pytest.raises(ValueError, match="do not fill"):
        check_runs(Runs(size=(2, 2), counts=np.array([1, 2])))
    with pytest.raises(ValueError, match="do not fill"):
        check_runs(Runs(size=(2, 2), counts=np.array([5, -1])))


@given(
    st.integers(0, 9), st.integers(0, 9), st.integers(1, 10), st.integers(1, 10),
    st.booleans(),
)  # fmt: skip
def test_a_rectangle_on_whole_pixels_is_those_pixels(
    left: int, top: int, width: int, height: int, backwards: bool
) -> None:
    ring = np.array(
        [[left, top], [left + width, top], [left + width, top + height], [left, top + height]],
        float,
    )
    wanted = np.zeros((12, 12), np.bool_)
    wanted[top : top + height, left : left + width] = True
    pixels = ring_pixels(ring[::-1] if backwards else ring, (12, 12))
    assert np.array_equal(pixels, wanted)
    assert box_of_pixels(pixels) == (
        left, top, min(left + width, 12), min(top + height, 12)
    )  # fmt: skip


@given(arrays(np.float64, (5, 2), elements=st.floats(-5, 15)))
def test_a_pixel_is_inside_when_its_middle_is(ring: np.ndarray) -> None:
    pixels = ring_pixels(ring, (10, 10))
    for row in range(10):
        for column in range(10):
            assert pixels[row, column] == is_inside(ring, column + 0.5, row + 0.5)


def is_inside(ring: np.ndarray, x: float, y: float) -> bool:
    """By the textbook: a ray to the left crosses the outline an odd number of times."""
    inside = False
    for (x1, y1), (x2, y2) in zip(ring, np.roll(ring, -1, axis=0), strict=True):
        if (y1 <= y) != (y2 <= y) and x1 + (y - y1) / (y2 - y1) * (x2 - x1) <= x:
            inside = not inside
    return inside


def test_the_rings_of_an_object_add_up() -> None:
    rings = rings_of([[0, 0, 2, 0, 2, 2, 0, 2], [1, 1, 3, 1, 3, 3, 1, 3]])
    assert mask_pixels(Polygons(rings=rings), (4, 4)).sum() == 4 + 4 - 1


def test_a_polygon_of_two_points_is_refused() -> None:
    with pytest.raises(ValueError, match="fewer than three"):
        rings_of([[0, 0, 1, 1]])


def test_no_pixel_has_an_empty_box() -> None:
    assert box_of_pixels(np.zeros((3, 3), np.bool_)) == (0, 0, 0, 0)
