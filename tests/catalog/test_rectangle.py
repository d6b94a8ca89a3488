from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from filmgate.catalog.augmentation import draw_resized_crop
from filmgate.catalog.rectangle import Rectangle, ResizedCrop, Shape, cut_box, placed
from filmgate.spec import Augment

SIDES = st.integers(1, 4000)
SHARES = st.floats(0, 1, exclude_max=True)
PICTURES = st.tuples(SIDES, SIDES)


def is_inside(rectangle: Rectangle, picture: tuple[int, int]) -> bool:
    top, left, height, width = rectangle
    return 0 <= top <= top + height <= picture[0] and 0 <= left <= left + width <= picture[1]


@given(PICTURES, st.integers(0, 10**9), st.floats(0.01, 1), st.floats(0.1, 5), SHARES, SHARES)
def test_a_resized_crop_lies_inside_and_has_the_area_and_the_aspect(
    picture, number, scale, ratio, top_share, left_share
):
    augment = Augment(crop_scale=(scale / 2, scale), crop_ratio=(ratio, 2 * ratio))
    crop = draw_resized_crop(augment, b"key", number, 0, top_share, left_share)
    rectangle = crop.rectangle(picture)
    assert is_inside(rectangle, picture)
    assert rectangle.height >= 1 and rectangle.width >= 1
    if min(rectangle.height, rectangle.width) < 30:
        return
    aspect = rectangle.width / rectangle.height
    assert ratio * 0.95 <= aspect <= 2 * ratio * 1.05
    assert all(scale / 2 <= shape.area_share <= scale for shape in crop.shapes)
    area_share = rectangle.height * rectangle.width / (picture[0] * picture[1])
    is_tried = any(math.isclose(area_share, s.area_share, rel_tol=0.1) for s in crop.shapes)
    assert is_tried or rectangle.height == picture[0] or rectangle.width == picture[1]


def crop_of(*shapes: Shape) -> ResizedCrop:
    return ResizedCrop(shapes=shapes, ratio=(0.75, 4 / 3), top_share=0.0, left_share=0.999)


def test_the_first_shape_that_fits_is_taken():
    crop = crop_of(Shape(1.0, 4.0), Shape(0.25, 1.0), Shape(0.1, 1.0))
    assert crop.rectangle((100, 100)) == (0, 50, 50, 50)


def test_a_picture_that_no_shape_fits_gives_its_middle_in_the_nearest_ratio():
    never = crop_of(Shape(1.0, 50.0))
    assert never.rectangle((100, 1000)) == (0, 433, 100, 133)
    assert never.rectangle((1000, 100)) == (433, 0, 133, 100)
    assert never.rectangle((100, 120)) == (0, 0, 100, 120)


def test_every_place_is_reached():
    tops = {placed((10, 10), (8, 10), k / 100, 0.5).top for k in range(100)}
    assert tops == {0, 1, 2}


@given(PICTURES, st.floats(0, 1), SHARES, SHARES)
def test_an_exchanged_box_lies_inside_and_takes_no_more_than_its_share(picture, own, row, column):
    box = cut_box(picture, own, row, column)
    assert is_inside(box, picture)
    assert box.height * box.width <= (1 - own) * picture[0] * picture[1] + 1e-6
