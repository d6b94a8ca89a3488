"""Colours against the formula of the standards, and windows against plain array operations.

The reference is ITU-R BT.601-7, BT.709-6 and BT.2020-2: Kr and Kb of each matrix, and the limited
and full quantisations.
"""

from __future__ import annotations

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from filmgate.feed.colour import UnsupportedColour
from filmgate.feed.geometry import Orientation
from filmgate.feed.picture import Painter, Window

UPRIGHT = Orientation(rotation_degrees=0, mirrored=False, sample_aspect=None)
# name -> (Kr, Kb, AVColorSpace)
MATRICES = {"bt601": (0.299, 0.114, 6), "bt709": (0.2126, 0.0722, 1), "bt2020": (0.2627, 0.0593, 9)}
FORMATS = [
    f"yuv{chroma}p{depth}" for chroma in ("420", "422", "444") for depth in ("", "10le", "12le")
]


def to_rgb(yuv: NDArray[np.float64], matrix: str, is_full: bool, bits: int) -> NDArray[np.float64]:
    """(..., 3) code values to RGB in 0..255."""
    kr, kb, _ = MATRICES[matrix]
    scale, top = 2.0 ** (bits - 8), 2.0**bits - 1
    if is_full:
        luma, u, v = yuv[..., 0] / top, *((yuv[..., i] - 128 * scale) / top for i in (1, 2))
    else:
        luma = (yuv[..., 0] / scale - 16) / 219
        u, v = ((yuv[..., i] / scale - 128) / 224 for i in (1, 2))
    red, blue = luma + 2 * (1 - kr) * v, luma + 2 * (1 - kb) * u
    green = (luma - kr * red - kb * blue) / (1 - kr - kb)
    return 255 * np.clip(np.stack([red, green, blue], -1), 0, 1)


def frame_of(planes: list[NDArray[np.int64]], format_name: str) -> av.VideoFrame:
    """A frame with these planes; the padding at the end of rows is filled with noise."""
    height, width = planes[0].shape
    frame = av.VideoFrame(width, height, format_name)
    dtype = np.uint16 if format_name.endswith("le") else np.uint8
    noise = np.random.default_rng(0)
    for plane, values in zip(frame.planes, planes, strict=True):
        rows = np.frombuffer(plane, np.uint8).reshape(plane.height, plane.line_size)
        rows[:] = noise.integers(0, 256, rows.shape)
        rows.view(dtype)[:, : plane.width] = values[: plane.height, : plane.width]
    return frame


def flat_frame(
    codes: tuple[int, int, int], format_name: str, size: tuple[int, int]
) -> av.VideoFrame:
    return frame_of([np.full(size, code) for code in codes], format_name)


def painted(
    frame: av.VideoFrame,
    size: tuple[int, int],
    orientation: Orientation = UPRIGHT,
    painter: Painter | None = None,
    **window: object,
) -> NDArray[np.uint8]:
    """uint8 (H, W, 3)."""
    out_CHW = np.full((3, *size), 77, np.uint8)
    (painter or Painter()).paint(frame, orientation, Window(size=size, **window), out_CHW)
    return out_CHW.transpose(1, 2, 0)


@pytest.mark.parametrize("is_full", [False, True], ids=["limited", "full"])
@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("format_name", FORMATS)
def test_colours_are_within_two_levels_of_the_formula(format_name, matrix, is_full):
    bits = int(format_name[7:9] or 8)
    painter = Painter()
    corners = [(low, low, high) for low in (0, 2**bits - 1) for high in (0, 2**bits - 1)]
    drawn = np.random.default_rng(1).integers(0, 2**bits, (60, 3)).tolist()
    for codes in [*corners, *map(tuple, drawn)]:
        frame = flat_frame(codes, format_name, (48, 48))
        frame.colorspace, frame.color_range = MATRICES[matrix][2], 2 if is_full else 1
        expected = to_rgb(np.array(codes, float), matrix, is_full, bits)
        for size in ((24, 24), (48, 48), (70, 70)):
            error = np.abs(painted(frame, size, painter=painter) - expected)
            assert error.max() <= 2, (codes, size, error.max())


def test_smooth_pictures_are_within_two_levels_of_the_formula_too():
    y, x = np.mgrid[0:96, 0:128]
    yuv = np.stack([40 + x, 90 + y // 2, 160 - y // 2], -1)
    chroma = [yuv[::2, ::2, 1], yuv[::2, ::2, 2]]
    frame = frame_of([yuv[..., 0], *chroma], "yuv420p")
    frame.colorspace, frame.color_range = 1, 1
    error = np.abs(painted(frame, (96, 128)) - to_rgb(yuv.astype(float), "bt709", False, 8))
    assert error[2:-2, 2:-2].max() <= 2


@pytest.mark.parametrize("is_full", [False, True], ids=["limited", "full"])
@pytest.mark.parametrize("top_luma", [254, 255])
def test_any_samples_at_the_videos_own_size_are_within_two_levels(top_luma, is_full):
    drawn, painter = np.random.default_rng(2), Painter()
    for size in ((48, 56), (34, 40), (46, 47), (34, 40), (66, 16)):
        luma = drawn.integers(0, top_luma, size, endpoint=True)
        u, v = drawn.integers(0, 256, (2, size[0] // 2, (size[1] + 1) // 2))
        frame = frame_of([luma, u, v], "yuv420p")
        frame.colorspace, frame.color_range = 1, 2 if is_full else 1
        full_u, full_v = (c.repeat(2, 0).repeat(2, 1)[:, : size[1]] for c in (u, v))
        yuv = np.stack([luma, full_u, full_v], -1).astype(float)
        error = np.abs(painted(frame, size, painter=painter) - to_rgb(yuv, "bt709", is_full, 8))
        assert error.max() <= 2, (size, error.max())


def test_a_frame_without_tags_is_bt601_and_limited_at_any_size():
    for size in ((48, 48), (720, 1280)):
        frame = flat_frame((90, 60, 200), "yuv420p", size)
        expected = to_rgb(np.array([90.0, 60, 200]), "bt601", False, 8)
        assert np.abs(painted(frame, (24, 24)) - expected).max() <= 2


def test_a_full_range_format_without_tags_is_full():
    frame = flat_frame((90, 60, 200), "yuvj420p", (48, 48))
    expected = to_rgb(np.array([90.0, 60, 200]), "bt601", True, 8)
    assert np.abs(painted(frame, (24, 24)) - expected).max() <= 2


def test_gray_is_full_unless_it_is_tagged_limited():
    frame = frame_of([np.full((32, 32), 100)], "gray")
    assert (painted(frame, (16, 16)) == 100).all()
    frame.color_range = 1
    assert (painted(frame, (16, 16)) == round((100 - 16) * 255 / 219)).all()


@pytest.mark.parametrize("format_name", ["rgb24", "bgra", "gbrp", "gbrp10le"])
def test_rgb_sources_keep_every_value(format_name):
    picture = np.random.default_rng(0).integers(0, 256, (33, 47, 3)).astype(np.uint8)
    frame = av.VideoFrame.from_ndarray(picture, format="rgb24").reformat(format=format_name)
    assert (painted(frame, (33, 47)) == picture).all()


@pytest.mark.parametrize("matrix", [8, 10, 14], ids=["YCgCo", "BT.2020 constant", "ICtCp"])
def test_a_matrix_that_is_none_is_refused(matrix):
    frame = flat_frame((90, 60, 200), "yuv420p", (48, 48))
    frame.colorspace = matrix
    with pytest.raises(UnsupportedColour, match=f"colour matrix {matrix}"):
        painted(frame, (24, 24))


@pytest.mark.parametrize("height", [48, 49])
@pytest.mark.parametrize("format_name", ["yuv420p", "yuv422p", "yuv444p", "yuv420p10le"])
def test_no_width_from_1_to_70_has_garbage_columns(format_name, height):
    bits = 10 if format_name.endswith("10le") else 8
    codes = tuple(value << (bits - 8) for value in (90, 60, 200))
    expected = to_rgb(np.array([90.0, 60, 200]), "bt601", False, 8)
    painter = Painter()
    for width in range(1, 71):
        frame = flat_frame(codes, format_name, (height, width))
        for size in ((height, width), (17, max(1, width // 2)), (61, width + 3)):
            error = np.abs(painted(frame, size, painter=painter) - expected)
            assert error.max() <= 2, (width, size)


def checks(height: int, width: int) -> NDArray[np.uint8]:
    """Four quarters in four colours."""
    picture = np.zeros((height, width, 3), np.uint8)
    picture[: height // 2, : width // 2] = (250, 20, 20)
    picture[: height // 2, width // 2 :] = (20, 250, 20)
    picture[height // 2 :, : width // 2] = (20, 20, 250)
    picture[height // 2 :, width // 2 :] = (240, 240, 20)
    return picture


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
def test_a_turned_video_is_delivered_upright_at_its_turned_size(degrees, mirrored):
    stored = checks(32, 48)
    upright = np.rot90(stored[:, ::-1] if mirrored else stored, k=-degrees // 90)
    frame = av.VideoFrame.from_ndarray(stored, format="rgb24")
    orientation = Orientation(rotation_degrees=degrees, mirrored=mirrored, sample_aspect=None)
    assert orientation.upright((32, 48)) == upright.shape[:2]
    assert (painted(frame, upright.shape[:2], orientation) == upright).all()


def test_clockwise_is_clockwise():
    frame = av.VideoFrame.from_ndarray(checks(32, 48), format="rgb24")
    orientation = Orientation(rotation_degrees=90, mirrored=False, sample_aspect=None)
    picture = painted(frame, (48, 32), orientation)
    assert tuple(picture[0, -1]) == (250, 20, 20)
    assert tuple(picture[0, 0]) == (20, 20, 250)


def test_wide_pixels_are_made_square():
    frame = av.VideoFrame.from_ndarray(checks(32, 32), format="rgb24")
    orientation = Orientation(rotation_degrees=0, mirrored=False, sample_aspect=(2, 1))
    picture = painted(frame, (32, 64), orientation)
    assert tuple(picture[0, 28]) == (250, 20, 20)
    assert tuple(picture[0, 36]) == (20, 250, 20)


def test_the_window_lies_where_the_sample_says():
    frame = av.VideoFrame.from_ndarray(checks(32, 64), format="rgb24")
    left, right = (painted(frame, (32, 32), left_share=share) for share in (0.0, 0.999))
    assert (left == checks(32, 64)[:, :32]).all()
    assert (right == checks(32, 64)[:, 32:]).all()
    flipped = painted(frame, (32, 64), flip=True)
    assert (flipped == checks(32, 64)[:, ::-1]).all()
    tall = av.VideoFrame.from_ndarray(checks(64, 32), format="rgb24")
    assert (painted(tall, (32, 32), top_share=0.999) == checks(64, 32)[32:]).all()


def test_a_reused_scaler_gives_what_a_fresh_one_gives():
    painter = Painter()
    frames = []
    for number in range(40):
        size = [(48, 64), (49, 63), (64, 48)][number % 3]
        frame = flat_frame(
            (60 + number, 90, 170), ["yuv420p", "yuv444p", "yuv420p"][number % 3], size
        )
        frame.colorspace, frame.color_range = (1, 6, 9)[number % 3], 1 + number % 2
        frames.append((frame, [(24, 24), (30, 20)][number % 2]))
    for frame, size in frames + frames[::-1]:
        assert (painted(frame, size, painter=painter) == painted(frame, size)).all()


def test_painting_does_not_change_the_frame():
    frame = flat_frame((90, 60, 200), "yuv420p", (48, 48))
    frame.color_trc, frame.color_primaries = 16, 9
    before = (bytes(frame.planes[0]), frame.colorspace, frame.color_range, frame.color_trc)
    painted(frame, (24, 24))
    after = (bytes(frame.planes[0]), frame.colorspace, frame.color_range, frame.color_trc)
    assert before == after
