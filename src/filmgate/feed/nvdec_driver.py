"""Asks the NVIDIA driver what a GPU decodes: the one place that calls its library, libnvcuvid.

Layout and numbers are those of ``CUVIDDECODECAPS``, ``cudaVideoCodec`` and
``cudaVideoChromaFormat`` in cuviddec.h of NVIDIA's Video Codec SDK 13.0; the structure has grown
only into its reserved bytes since version 8.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch

from filmgate.errors import UserError
from filmgate.feed.nvdec import EXACT_BITS, NvdecCapabilities, NvdecLimits

LIBRARY = "libnvcuvid.so.1"
CODEC_NUMBERS = {"h264": 4, "hevc": 8, "vp8": 9, "vp9": 10}
CHROMA_420 = 1


class DecodeCaps(ctypes.Structure):
    """CUVIDDECODECAPS."""

    _fields_ = (
        ("codec", ctypes.c_int),
        ("chroma", ctypes.c_int),
        ("bits_minus_8", ctypes.c_uint),
        ("reserved_1", ctypes.c_uint * 3),
        ("is_supported", ctypes.c_ubyte),
        ("num_engines", ctypes.c_ubyte),
        ("output_formats", ctypes.c_ushort),
        ("max_width", ctypes.c_uint),
        ("max_height", ctypes.c_uint),
        ("max_macroblocks", ctypes.c_uint),
        ("min_width", ctypes.c_ushort),
        ("min_height", ctypes.c_ushort),
        ("reserved_3", ctypes.c_uint * 11),
    )


@cache
def nvdec_capabilities(device_index: int) -> NvdecCapabilities:
    """What the GPU decodes of the codecs that filmgate decodes there.

    Raises UserError where there is no GPU, or no driver library for it.
    """
    check_gpu(device_index)
    library = _load()
    with cuda_context(device_index):
        limits = [
            found
            for codec, depths in EXACT_BITS.items()
            for bits in depths
            if (found := _ask(library, codec, bits)) is not None
        ]
    name = torch.cuda.get_device_name(device_index)
    return NvdecCapabilities(device_name=name, limits=limits)


def check_gpu(device_index: int) -> None:
    """Raise UserError where torch does not see this GPU."""
    if torch.version.cuda is None:
        raise UserError(
            f"torch {torch.__version__} is built without CUDA",
            hint='pip install "filmgate[nvdec]" with a CUDA build of torch, or device="cpu"',
        )
    if not torch.cuda.is_available():
        raise UserError("torch sees no NVIDIA GPU", hint='look at nvidia-smi, or take device="cpu"')
    if not 0 <= device_index < torch.cuda.device_count():
        raise UserError(
            f"there is no GPU {device_index}",
            hint=f"torch counts {torch.cuda.device_count()}, from 0",
        )


@contextmanager
def cuda_context(device_index: int) -> Iterator[None]:
    """The calling thread has torch's CUDA context, in which NVDEC is to put its frames.

    ``torch.empty`` may do without it; a kernel cannot.
    """
    with torch.cuda.device(device_index):
        torch.zeros(1, device=torch.device("cuda", device_index))
        yield


def _load() -> ctypes.CDLL:
    try:
        return ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise UserError(
            f"NVIDIA's decoder library does not load: {error}",
            hint="in a container set NVIDIA_DRIVER_CAPABILITIES=compute,utility,video, "
            'or take device="cpu"',
        ) from None


def _ask(library: ctypes.CDLL, codec: str, bits: int) -> NvdecLimits | None:
    caps = DecodeCaps(codec=CODEC_NUMBERS[codec], chroma=CHROMA_420, bits_minus_8=bits - 8)
    code = library.cuvidGetDecoderCaps(ctypes.byref(caps))
    if code != 0:
        raise UserError(
            f"the driver does not tell what NVDEC decodes: cuvidGetDecoderCaps gave {code}",
            hint='a driver from 378.13 on does, see nvidia-smi; or take device="cpu"',
        )
    return limits_of(caps, codec, bits)


def limits_of(caps: DecodeCaps, codec: str, bits: int) -> NvdecLimits | None:
    """The driver's answer as a record; None for what the GPU does not decode."""
    if not caps.is_supported:
        return None
    return NvdecLimits(
        codec=codec,
        bits_per_sample=bits,
        min_width=caps.min_width,
        min_height=caps.min_height,
        max_width=caps.max_width,
        max_height=caps.max_height,
        max_macroblocks=caps.max_macroblocks,
        num_engines=caps.num_engines or None,
    )
