"""Pictures made by torch against the formula of the standards, and against libswscale's.

What is promised: 2 levels of 255 where a frame keeps its size, as on the CPU; the same or 1 level
off where it is scaled (measured: 1, mean 0.01).
"""

from __future__ import annotations

import av
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from filmgate.feed.device_picture import paint_samples, scaling_filter
from filmgate.feed.device_samples import samples_of
from filmgate.feed.geometry import Orientation
from filmgate.feed.picture import Window
from tests.feed.test_picture import MATRICES, UPRIGHT, flat_frame, painted, to_rgb

CPU = torch.device("cpu")
LAYOUTS = ["yuv420p", "yuv422p", "yuv444p", "yuv420p10le", "yuv444p12le"]
SIZES = [((48, 64), (48, 64)), ((96, 128), (32, 40)), ((48, 64), (101, 133)), ((97, 65), (31, 33))]


def on_device(
    frame: av.VideoFrame,
    size: tuple[int, int],
    orientation: Orientation = UPRIGHT,
    **window: object,
) -> NDArray[np.uint8]:
    """uint8 (H, W, 3)."""
    rgb = paint_samples(samples_of(frame), orientation, Window(size=size, **window), CPU)
    assert rgb.dtype == torch.uint8 and rgb.shape == (3, *size)
    return rgb.numpy().transpose(1, 2, 0)


def photo(height: int, width: int, format_name: str, seed: int = 0) -> av.VideoFrame:
    """Waves of all lengths, the long ones the strongest, as in pictures of the world."""
    drawn = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    picture = np.full((height, width, 3), 128.0)
    for _ in range(30):
        down, along = drawn.uniform(-0.25, 0.25, 2)
        wave = np.sin(2 * np.pi * (down * y + along * x) + drawn.uniform(0, 6))
        picture += drawn.uniform(0, 50, 3) * wave[..., None] / (1 + 20 * np.hypot(down, along))
    rgb = np.clip(picture, 0, 255).astype(np.uint8)
    return av.VideoFrame.from_ndarray(rgb, format="rgb24").reformat(format=format_name)


@pytest.mark.parametrize("is_full", [False, True], ids=["limited", "full"])
@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("format_name", [*LAYOUTS, "nv12", "p010le"])
def test_colours_are_within_half_a_level_of_the_formula(format_name, matrix, is_full):
    planar = {"nv12": "yuv420p", "p010le": "yuv420p10le"}.get(format_name, format_name)
    bits = int(planar[7:9] or 8)
    corners = [(low, low, high) for low in (0, 2**bits - 1) for high in (0, 2**bits - 1)]
    drawn = np.random.default_rng(1).integers(0, 2**bits, (40, 3)).tolist()
    for codes in [*corners, *map(tuple, drawn)]:
        frame = flat_frame(codes, planar, (48, 48))
        if format_name != planar:
            frame = frame.reformat(format=format_name)
        frame.colorspace, frame.color_range = MATRICES[matrix][2], 2 if is_full else 1
        expected = to_rgb(np.array(codes, float), matrix, is_full, bits)
        for size in ((24, 24), (48, 48), (70, 70)):
            error = np.abs(on_device(frame, size) - expected)
            assert error.max() <= 0.51, (codes, size, error.max())


@pytest.mark.parametrize(("stored", "wanted"), SIZES)
@pytest.mark.parametrize("format_name", LAYOUTS)
def test_pictures_are_those_of_the_cpu(format_name, stored, wanted):
    for seed in range(3):
        frame = photo(*stored, format_name, seed)
        error = np.abs(on_device(frame, wanted).astype(int) - painted(frame, wanted))
        assert error.max() <= 2
        assert error.mean() <= 0.5 if stored == wanted else error.max() <= 1


def test_nvdec_layouts_give_the_pictures_of_planar_ones():
    for planar, semi in (("yuv420p", "nv12"), ("yuv420p10le", "p010le")):
        frame = photo(96, 128, planar)
        for size in ((96, 128), (32, 40)):
            expected = on_device(frame, size)
            assert (on_device(frame.reformat(format=semi), size) == expected).all()


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
@pytest.mark.parametrize("aspect", [None, (2, 1)])
def test_turned_mirrored_and_wide_pictures_are_those_of_the_cpu(degrees, mirrored, aspect):
    orientation = Orientation(rotation_degrees=degrees, mirrored=mirrored, sample_aspect=aspect)
    frame = photo(48, 64, "yuv420p")
    for size in (orientation.upright((48, 64)), (30, 30)):
        for window in ({}, {"flip": True}, {"top_share": 0.0, "left_share": 0.999}):
            got = on_device(frame, size, orientation, **window)
            expected = painted(frame, size, orientation, **window)
            assert np.abs(got.astype(int) - expected).max() <= 2


@pytest.mark.parametrize("height", [2, 48, 49])
def test_no_width_from_2_to_70_has_garbage_columns(height):
    expected = to_rgb(np.array([90.0, 60, 200]), "bt601", False, 8)
    for width in range(2, 71):
        frame = flat_frame((90, 60, 200), "yuv420p", (height, width))
        for size in ((height, width), (17, max(1, width // 2)), (61, width + 3)):
            assert np.abs(on_device(frame, size) - expected).max() <= 0.51, (width, size)


@given(source=st.integers(1, 300), target=st.integers(1, 300))
def test_a_filter_hands_all_of_a_flat_picture_on(source, target):
    matrix = scaling_filter(source, target, CPU)
    assert matrix.shape == (target, source)
    assert (matrix >= 0).all()
    assert torch.allclose(matrix.sum(1), torch.ones(target), atol=1e-5)


@given(size=st.integers(1, 200))
def test_a_filter_to_the_same_size_changes_nothing(size):
    assert torch.equal(scaling_filter(size, size, CPU), torch.eye(size))
