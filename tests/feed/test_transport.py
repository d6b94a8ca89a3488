"""Clips that travel as Y'CbCr 4:2:0 and become RGB with their batch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from av.video.reformatter import Colorspace

from filmgate.errors import UserError
from filmgate.feed import open_feed
from filmgate.feed.colour import Colour
from filmgate.feed.messages import PlaneColour
from filmgate.feed.transport import rgb_of_planes
from filmgate.feed.yuv import split, to_rgb
from tests.feed.conftest import job_of
from tests.feed.test_feed import all_same, batches

MATRICES = [
    Colorspace.ITU601,
    Colorspace.ITU709,
    Colorspace.BT2020,
    Colorspace.SMPTE240M,
    Colorspace.FCC,
]


def planes(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (24, 32), np.uint8)  # 16 x 32


@pytest.mark.parametrize("is_full", [False, True], ids=["limited", "full"])
@pytest.mark.parametrize("matrix", MATRICES, ids=lambda matrix: matrix.name)
def test_planes_become_rgb_by_the_formula(matrix, is_full):
    pictures = np.stack([planes(seed) for seed in range(6)]).reshape(2, 3, 24, 32)
    colour = Colour(matrix, is_full)
    how = PlaneColour(colour=colour, is_scaled=False)
    got = rgb_of_planes(torch.from_numpy(pictures), [how, how])
    assert got.shape == (2, 3, 3, 16, 32)
    for clip, expected in zip(got.numpy(), pictures, strict=True):
        for picture_CHW, picture in zip(clip, expected, strict=True):
            difference = picture_CHW.transpose(1, 2, 0).astype(int) - to_rgb(picture, colour)
            assert np.abs(difference).max() <= 1


def test_chroma_of_scaled_clips_is_interpolated_between_its_centres():
    picture = np.full((24, 32), 128, np.uint8)
    _, u, _ = split(picture, (16, 32))
    u[:, 8:] = 168
    colour = Colour(Colorspace.ITU601, is_full=True)
    both = torch.from_numpy(np.stack([picture, picture])[:, None])
    smooth, hard = rgb_of_planes(
        both,
        [PlaneColour(colour=colour, is_scaled=is_scaled) for is_scaled in (True, False)],
    )
    blue = 128 + 1.772 * 40
    assert hard[0, 2, 5, 13:19].tolist() == [128] * 3 + [round(blue)] * 3
    steps = [128 + share * (blue - 128) for share in (0, 0, 0.25, 0.75, 1, 1)]
    assert smooth[0, 2, 5, 13:19].tolist() == [round(step) for step in steps]


def test_each_clip_has_its_own_matrix_and_a_masked_one_is_black():
    picture = torch.from_numpy(planes(1))[None, None].repeat(3, 1, 1, 1)
    hows = [
        PlaneColour(colour=Colour(matrix, is_full=False), is_scaled=False)
        for matrix in (Colorspace.ITU601, Colorspace.BT2020)
    ]
    first, second, masked = rgb_of_planes(picture, [*hows, None])
    assert not torch.equal(first, second)
    assert not masked.any()


@pytest.mark.parametrize("workers", [0, 1])
def test_clips_of_their_own_size_are_those_of_rgb_transport_mirrored_or_not(catalog, workers):
    keys = {"height": 64, "width": 96}
    rgb = batches(catalog, 4, **keys)
    yuv = batches(catalog, 4, workers, transport="yuv420p", **keys)
    for one, other in zip(rgb, yuv, strict=True):
        difference = one.frames_BTCHW.int() - other.frames_BTCHW.int()
        assert int(difference.abs().max()) <= 2
        assert torch.equal(one.frame_indices_BT, other.frame_indices_BT)
        assert one.samples_digest == other.samples_digest
        assert one.colours is None
        assert {how.is_scaled for how in other.colours} == {False}


def test_scaled_and_cut_clips_are_those_of_rgb_transport_up_to_a_pixel(catalog):
    """Windows begin on even columns, so the picture may lie one pixel to the left."""
    rgb = batches(catalog, 4, height=32, width=40)
    yuv = batches(catalog, 4, transport="yuv420p", height=32, width=40)
    for one, other in zip(rgb, yuv, strict=True):
        assert {how.is_scaled for how in other.colours} == {True}
        for want, got in zip(one.frames_BTCHW.float(), other.frames_BTCHW.float(), strict=True):
            shifted = [(want - got.roll(shift, -1)).abs().mean() for shift in (-1, 0, 1)]
            assert float(min(shifted)) < 12


def test_batches_in_planes_are_the_same_with_workers_and_looking_ahead(catalog):
    plain = batches(catalog, 6, transport="yuv420p")
    assert all_same(plain, batches(catalog, 6, 2, transport="yuv420p"))
    keys = {"transport": "yuv420p", "lookahead": 3, "cache": "1MB"}
    assert all_same(plain, batches(catalog, 6, 1, **keys))


def test_masked_clips_in_planes_are_black(catalog):
    job = job_of(batch_size=5, transport="yuv420p")
    with open_feed(job, catalog, split="holdout") as feed:
        last = list(feed)[-1]
    assert last.valid_B.tolist() == [True, True, False, False, False]
    assert not last.frames_BTCHW[2:].any()
    assert last.colours[2:] == [None] * 3


def test_slots_of_planes_take_half_of_the_memory(catalog):
    with open_feed(job_of(0, transport="yuv420p"), catalog) as feed:
        next(feed)
        assert feed._source.clip_shape == (4, 72, 64)


def test_odd_sizes_and_kept_frames_are_refused(catalog):
    with pytest.raises(UserError, match="47 x 64 have no yuv420p"):
        open_feed(job_of(transport="yuv420p", height=47), catalog)
    with pytest.raises(UserError, match="cache keeps decoded frames as RGB"):
        open_feed(job_of(transport="yuv420p", cache="1GB"), catalog)


@pytest.mark.gpu
def test_planes_become_the_same_rgb_on_a_gpu(catalog):
    whole = batches(catalog, 4, transport="yuv420p")
    with open_feed(job_of(1, transport="yuv420p"), catalog, device="cuda") as feed:
        for expected in whole:
            difference = next(feed).frames_BTCHW.cpu().int() - expected.frames_BTCHW.int()
            assert int(difference.abs().max()) <= 1
