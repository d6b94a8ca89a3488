"""Samples as tensors: what NVDEC's layouts hold is what the CPU's layouts hold."""

from __future__ import annotations

import av
import numpy as np
import pytest
import torch

from filmgate.feed.colour import UnsupportedColour
from filmgate.feed.device_samples import (
    can_be_samples,
    chroma_levels,
    luma_levels,
    samples_of,
)
from filmgate.video.planes import plane_rows
from tests.feed.test_picture import flat_frame, frame_of


def noise(format_name: str, size: tuple[int, int] = (48, 64)) -> av.VideoFrame:
    """Every plane full of random samples."""
    bits = 10 if format_name.endswith("10le") else 8
    drawn = np.random.default_rng(3)
    return frame_of([drawn.integers(0, 2**bits, size) for _ in range(3)], format_name)


@pytest.mark.parametrize(("planar", "semi"), [("yuv420p", "nv12"), ("yuv420p10le", "p010le")])
def test_nvdec_layouts_hold_the_same_levels_as_planar_ones(planar, semi):
    frame = noise(planar)
    one, other = samples_of(frame), samples_of(frame.reformat(format=semi))
    assert one.bits == other.bits
    assert torch.equal(luma_levels(one), luma_levels(other))
    assert torch.equal(chroma_levels(one), chroma_levels(other))


@pytest.mark.parametrize("format_name", ["yuv420p", "yuv422p", "yuv444p10le"])
def test_planes_are_those_of_the_frame_without_the_padding(format_name):
    frame = noise(format_name, (33, 47))
    samples = samples_of(frame)
    assert samples.size == (33, 47)
    for number, (tensor, plane) in enumerate(zip(samples.planes, frame.planes, strict=True)):
        assert tensor.shape == (plane.height, plane.width)
        rows = tensor.numpy().view(np.uint8)
        assert np.array_equal(rows, plane_rows(frame, number))


def test_other_layouts_are_known_beforehand():
    for name in ("nv12", "p010le", "yuv420p", "yuvj420p", "yuv422p12le", "yuv444p"):
        assert can_be_samples(av.VideoFrame(16, 16, name)), name
    for name in ("gray", "rgb24", "gbrp", "yuv410p", "yuv420p10be", "yuva420p", "pal8"):
        assert not can_be_samples(av.VideoFrame(16, 16, name)), name


def test_tags_decide_and_a_matrix_that_is_none_is_refused():
    frame = flat_frame((90, 60, 200), "yuv420p", (16, 16))
    frame.colorspace, frame.color_range = 1, 2
    assert samples_of(frame).colour.is_full
    frame.colorspace = 14
    with pytest.raises(UnsupportedColour, match="colour matrix 14"):
        samples_of(frame)


def test_samples_outlive_the_frame():
    frame = flat_frame((90, 60, 200), "yuv420p", (16, 16))
    samples = samples_of(frame)
    del frame
    _ = [av.VideoFrame(16, 16, "yuv420p") for _ in range(50)]
    assert (samples.planes[0] == 90).all() and (samples.planes[2] == 200).all()
