"""From samples to an RGB window by torch, on the device where the samples are.

The same picture as ``filmgate.feed.picture`` paints with libswscale, by the same rules: upright,
pixels made square, scaled to cover the window, cut; colours by matrix and range. Scaling is a
triangle filter, wider than the step when it makes smaller, as libswscale's bilinear one is: each
plane is multiplied by a matrix from the left and one from the right. What differs is rounding, by
at most one level, and where chroma lies in the files whose tags say that it lies elsewhere than
their codec has it.

C = 3 as R G B, H W of the window.
"""

from __future__ import annotations

from functools import lru_cache

import torch

from filmgate.feed.device_samples import Samples
from filmgate.feed.geometry import Orientation, Size, cover, crop_offset
from filmgate.feed.picture import Window

MAX_FILTERS = 64
"""Filters kept, each a matrix of target x source samples on a device."""


def paint_samples(
    samples: Samples, orientation: Orientation, window: Window, device: torch.device
) -> torch.Tensor:
    """uint8 (3, H, W) on the device: the window of one frame."""
    upright = orientation.upright(samples.size)
    scaled = cover(upright, window.size)
    stored = orientation.turned_back(scaled)
    planes = [_scaled(samples, number, stored, device) for number in range(3)]
    yuv_CHW = _turn(torch.stack(planes), orientation)
    top = crop_offset(scaled[0] - window.size[0], window.top_share)
    left = crop_offset(scaled[1] - window.size[1], window.left_share)
    cut_CHW = yuv_CHW[:, top : top + window.size[0], left : left + window.size[1]]
    rgb_CHW = _rgb(cut_CHW, samples)
    return rgb_CHW.flip(2) if window.flip else rgb_CHW


def _scaled(samples: Samples, number: int, target: Size, device: torch.device) -> torch.Tensor:
    """float32 (H, W): one plane at ``target``; chroma is repeated where libswscale repeats it."""
    frame, plane = samples.size, samples.planes[number]
    levels = plane.to(device).to(torch.float32)
    if target == frame == plane.shape:
        return levels
    if target == frame and _is_repeated(samples):
        return levels.repeat_interleave(2, 0).repeat_interleave(2, 1)[:, : frame[1]]
    down = scaling_filter(plane.shape[0], target[0], device)
    is_left = samples.is_chroma_left and plane.shape[1] < frame[1]
    along = scaling_filter(plane.shape[1], target[1], device, 0.25 if is_left else 0.0)
    return down @ levels @ along.T


def _is_repeated(samples: Samples) -> bool:
    """8-bit 4:2:0 of an even height, as ``filmgate.feed.rgb`` has its quick way for."""
    height, width = samples.size
    is_quarter = samples.planes[1].shape == (height // 2, -(-width // 2))
    return samples.bits == 8 and height % 2 == 0 and is_quarter


@lru_cache(maxsize=MAX_FILTERS)
def scaling_filter(
    source: int, target: int, device: torch.device, shift: float = 0.0
) -> torch.Tensor:
    """float32 (target, source): what each sample of a plane adds to each one of the result.

    Both cover the same stretch, the samples in the middle of their parts, or ``shift`` samples
    before it. Beyond the edge the last sample goes on.
    """
    step = source / target
    centres = (torch.arange(target, dtype=torch.float64) + 0.5) * step - 0.5 + shift
    reach = max(1.0, step)
    first = torch.floor(centres - reach).to(torch.int64)
    taps = first[:, None] + torch.arange(int(2 * reach) + 3)
    weights = (1 - (taps - centres[:, None]).abs() / reach).clamp(min=0)
    weights /= weights.sum(1, keepdim=True)
    matrix = torch.zeros(target, source, dtype=torch.float64)
    matrix.scatter_add_(1, taps.clamp(0, source - 1), weights)
    return matrix.to(device, torch.float32)


def _turn(picture_CHW: torch.Tensor, orientation: Orientation) -> torch.Tensor:
    if orientation.mirrored:
        picture_CHW = picture_CHW.flip(2)
    return torch.rot90(picture_CHW, k=-orientation.rotation_degrees // 90, dims=(1, 2))


def _rgb(yuv_CHW: torch.Tensor, samples: Samples) -> torch.Tensor:
    """uint8 (3, H, W): the nearest levels by the formula of ``filmgate.feed.rgb``."""
    black, luma_per_level, chroma_per_level = _quantisation(samples)
    middle = 128 * 2 ** (samples.bits - 8) * samples.units_per_level
    kr, kb = samples.colour.weights
    y = (yuv_CHW[0] - black) * luma_per_level
    red = y + (yuv_CHW[2] - middle) * (2 * (1 - kr) * chroma_per_level)
    blue = y + (yuv_CHW[1] - middle) * (2 * (1 - kb) * chroma_per_level)
    green = (y - kr * red - kb * blue) / (1 - kr - kb)
    rgb = torch.stack([red, green, blue])
    return rgb.round_().clamp_(0, 255).to(torch.uint8)


def _quantisation(samples: Samples) -> tuple[float, float, float]:
    """(black, what a unit of luma is in levels of 255, what a unit of chroma is).

    Source: ITU-R BT.709-6 and BT.2020-2, and their full-range counterparts in H.273.
    """
    units = samples.units_per_level
    if samples.colour.is_full:
        level = 255 / ((2**samples.bits - 1) * units)
        return 0.0, level, level
    per_8_bit = 2 ** (samples.bits - 8) * units
    return 16.0 * per_8_bit, 255 / (219 * per_8_bit), 255 / (224 * per_8_bit)
