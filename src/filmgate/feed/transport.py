"""Clips on their way as Y'CbCr 4:2:0, half the bytes of RGB, and made RGB where they are used.

A clip is uint8 (T, P, W): each frame the planes of ``filmgate.feed.yuv``, P = H * 3 / 2 rows of W.
B clips, T frames, C = 3 as R G B, H, W.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.nn import functional

from filmgate.feed.colour import Colour
from filmgate.feed.messages import PlaneColour


def rgb_of_planes(planes_BTPW: torch.Tensor, colours: Sequence[PlaneColour | None]) -> torch.Tensor:
    """uint8 (B, T, 3, H, W) on the same device; clips without a colour become black.

    By the matrix and the range of each clip, rounded to the nearest level. Chroma of a clip that
    kept its size is repeated, that of a scaled one interpolated, its samples lying in the middle of
    four pixels as libswscale has them.
    """
    num_clips, num_frames, num_rows, width = planes_BTPW.shape
    height = num_rows * 2 // 3
    out_BTCHW = planes_BTPW.new_zeros((num_clips, num_frames, 3, height, width))
    for planes_TPW, colour, out_TCHW in zip(planes_BTPW, colours, out_BTCHW, strict=True):
        if colour is not None:
            _write_rgb(planes_TPW, colour, out_TCHW)
    return out_BTCHW


def _write_rgb(planes_TPW: torch.Tensor, how: PlaneColour, out_TCHW: torch.Tensor) -> None:
    num_frames, _, height, width = out_TCHW.shape
    luma_span, chroma_span, black = (255, 255, 0) if how.colour.is_full else (219, 224, 16)
    luma_THW = planes_TPW[:, :height].float().sub_(black).mul_(255 / luma_span)
    chroma_T2hw = planes_TPW[:, height:].reshape(num_frames, 2, height // 2, width // 2)
    chroma_T2hw = chroma_T2hw.float().sub_(128).mul_(255 / chroma_span)
    chroma_T2HW = functional.interpolate(
        chroma_T2hw,
        scale_factor=2,
        mode="bilinear" if how.is_scaled else "nearest",
        align_corners=False if how.is_scaled else None,
    )
    for channel, (from_u, from_v) in enumerate(_weights(how.colour)):
        mixed_THW = luma_THW.clone()
        for place, weight in enumerate((from_u, from_v)):
            if weight:
                mixed_THW.add_(chroma_T2HW[:, place], alpha=weight)
        out_TCHW[:, channel] = mixed_THW.round_().clamp_(0, 255).to(torch.uint8)


def _weights(colour: Colour) -> tuple[tuple[float, float], ...]:
    """What Cb and Cr, in levels of full range, add to luma for R, G and B."""
    kr, kb = colour.weights
    blue, red = 2 * (1 - kb), 2 * (1 - kr)
    green = 1 - kr - kb
    return (0.0, red), (-kb * blue / green, -kr * red / green), (blue, 0.0)
