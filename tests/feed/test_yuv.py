from __future__ import annotations

import numpy as np
import pytest

from filmgate.errors import UserError
from filmgate.feed import ClipReader
from filmgate.feed.scaler import Scaler
from filmgate.feed.yuv import paint_yuv, split, to_rgb, yuv_colour
from tests.feed.test_picture import (
    FORMATS,
    MATRICES,
    UPRIGHT,
    Window,
    flat_frame,
)
from tests.feed.test_picture import (
    to_rgb as formula,
)


@pytest.mark.parametrize("is_full", [False, True], ids=["limited", "full"])
@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("format_name", FORMATS)
def test_samples_mean_the_colours_of_the_formula(format_name, matrix, is_full):
    bits = int(format_name[7:9] or 8)
    scaler, out = Scaler(), np.empty((36, 24), np.uint8)
    legal = [(60, 90, 170), (200, 128, 128), (120, 200, 60), (235, 128, 128), (16, 128, 128)]
    for codes in legal:
        deep = tuple(code << (bits - 8) for code in codes)
        for size in ((24, 24), (48, 48), (20, 40)):
            frame = flat_frame(deep, format_name, size)
            frame.colorspace, frame.color_range = MATRICES[matrix][2], 2 if is_full else 1
            paint_yuv(frame, UPRIGHT, Window(size=(24, 24)), scaler, out)
            expected = formula(np.array(deep, float), matrix, is_full, bits)
            assert np.abs(to_rgb(out, yuv_colour(frame)) - expected).max() <= 2


def test_samples_of_the_same_size_are_those_of_the_decoder(catalog):
    native = ClipReader(catalog, pixel_format="native").read(0, [3, 9])
    yuv = ClipReader(catalog, pixel_format="yuv420p").read(0, [3, 9])
    assert yuv.shape == (2, 96, 96)
    assert (yuv.reshape(2, -1) == native).all()


def test_rgb_and_yuv_of_a_video_are_the_same_picture(catalog):
    with (
        ClipReader(catalog, size=(32, 40)) as rgb,
        ClipReader(catalog, size=(32, 40), pixel_format="yuv420p") as yuv,
    ):
        want, got = rgb.read(0, [10]), yuv.read(0, [10])
        assert got.shape == (1, 48, 40)
        assert np.abs(want[0].astype(int) - to_rgb(got[0], yuv.colour(0))).mean() < 12


def test_planes_lie_one_after_the_other():
    luma, u, v = split(np.arange(36, dtype=np.uint8).reshape(6, 6), (4, 6))
    assert luma.shape == (4, 6)
    assert u.ravel().tolist() == [24, 25, 26, 27, 28, 29]
    assert v.ravel().tolist() == [30, 31, 32, 33, 34, 35]


def test_odd_sizes_have_no_yuv(catalog):
    with pytest.raises(UserError, match="31 x 40 has no yuv420p"):
        ClipReader(catalog, size=(31, 40), pixel_format="yuv420p").read(0, [0])


def test_an_unknown_pixel_format_is_refused(catalog):
    with pytest.raises(UserError, match="no pixel format 'bgr24'"):
        ClipReader(catalog, pixel_format="bgr24")
