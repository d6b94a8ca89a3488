"""The samples of a decoded frame as tensors, on the GPU where NVDEC left them or on the CPU.

H W of a plane. A frame in GPU memory and one in main memory go through the same code (DLPack), so
what holds for one on a laptop holds for the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import av
import torch
from torch.utils.dlpack import from_dlpack

from filmgate.feed.colour import Colour, colour_of

SEMI_PLANAR = {"nv12": 8, "p010le": 10, "p012le": 12, "p016le": 16}
"""Luma plane, then Cb and Cr in turns; deep samples lie in the upper bits of 16."""
PLANAR = ("yuv420p", "yuvj420p", "yuv422p", "yuvj422p", "yuv444p", "yuvj444p")
"""Three planes, deep samples in the lower bits of 16, little endian."""

CHROMA_LEFT = ("h264", "hevc", "mpeg2video", "mpeg4")
"""Codecs whose chroma lies left unless a file says otherwise, as FFmpeg's decoders have it. Source:
ITU-T H.264 and H.265 E.2.1, H.262 6.1.1.8."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Samples:
    """One frame's Y'CbCr, as stored; the tensors are views of the frame's own memory."""

    planes: tuple[torch.Tensor, torch.Tensor, torch.Tensor]
    """Y, Cb and Cr, each (H, W) of uint8 or uint16; chroma planes may be smaller."""
    bits: int
    """Bits that count in a sample."""
    units_per_level: int
    """What one level is worth: 1, or more where samples lie in the upper bits."""
    colour: Colour
    """How they are to be understood."""
    is_chroma_left: bool
    """Whether chroma lies at the left one of the two columns it stands for, not between them."""

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of the frame."""
        height, width = self.planes[0].shape
        return height, width


def can_be_samples(frame: av.VideoFrame) -> bool:
    """Whether the frame's layout is one of those taken here."""
    name = _layout(frame).name
    deep = name.removesuffix("le").rstrip("0123456789")
    return name in SEMI_PLANAR or name in PLANAR or (name.endswith("le") and deep in PLANAR)


def samples_of(frame: av.VideoFrame, codec: str | None = None) -> Samples:
    """The frame's planes; ``can_be_samples`` says beforehand whether it has them.

    PyAV does not tell where chroma lies, so it is where the ``codec`` has it by default. Raises
    UnsupportedColour.
    """
    assert can_be_samples(frame)
    layout = _layout(frame)
    planes = [_tensor(plane) for plane in frame.planes]
    if layout.name in SEMI_PLANAR:
        luma, chroma = planes
        bits = SEMI_PLANAR[layout.name]
        units = 1 if bits == 8 else 2 ** (16 - bits)
        planes = [luma, chroma[..., 0], chroma[..., 1]]
    else:
        bits, units = layout.components[0].bits, 1
    return Samples(
        planes=(planes[0], planes[1], planes[2]),
        bits=bits,
        units_per_level=units,
        colour=colour_of(frame),
        is_chroma_left=codec in CHROMA_LEFT,
    )


def luma_levels(samples: Samples) -> torch.Tensor:
    """(H, W) int32: the luma that the decoder computed, comparable between all layouts."""
    return samples.planes[0].to(torch.int32) // samples.units_per_level


def chroma_levels(samples: Samples) -> torch.Tensor:
    """(2, H, W) int32: Cb and Cr that the decoder computed, at their own size."""
    levels = [plane.to(torch.int32) for plane in samples.planes[1:]]
    return torch.stack(levels) // samples.units_per_level


def _layout(frame: av.VideoFrame) -> av.VideoFormat:
    return frame.sw_format or frame.format


def _tensor(plane: av.video.plane.VideoPlane) -> torch.Tensor:
    # The capsule is asked for here, because torch would ask for it with a stream, which PyAV does
    # not take: who calls waits for FFmpeg's stream, the default one.
    return from_dlpack(plane.__dlpack__())
