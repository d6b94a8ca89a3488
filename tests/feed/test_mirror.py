"""Mirrored copies: the same samples whatever the width, the place in memory and the strides."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from filmgate.feed.mirror import mirror


@given(st.integers(1, 40), st.integers(1, 5), st.integers(0, 9))
def test_a_mirrored_picture_is_the_reversed_one(width, height, left):
    picture = np.random.default_rng(width).integers(0, 256, (3, height, width + 9), np.uint8)
    out = np.empty((3, height, width), np.uint8)
    mirror(picture[..., left : left + width], out)
    assert np.array_equal(out, picture[..., left : left + width][..., ::-1])


@pytest.mark.parametrize("step", [-1, 2])
def test_samples_that_do_not_lie_side_by_side_are_mirrored_too(step):
    picture = np.random.default_rng(1).integers(0, 256, (3, 4, 32), np.uint8)[..., ::step]
    out = np.zeros((3, 4, 2 * picture.shape[-1]), np.uint8)[..., ::2]
    mirror(picture, out)
    assert np.array_equal(out, picture[..., ::-1])
