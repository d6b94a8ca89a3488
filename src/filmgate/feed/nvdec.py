"""Which videos NVDEC decodes as exactly as the CPU does, by what the driver says of the GPU.

Only codecs whose standard fixes every bit of a decoded picture are among them: with H.264, HEVC,
VP8 and VP9 two right decoders agree bit for bit, and with MPEG-1, MPEG-2 and MPEG-4 Part 2 they
need not, because their inverse transform may be rounded one way or another (ITU-T H.262 annex A).
"""

from __future__ import annotations

from filmgate.records import Record
from filmgate.video import VideoFacts

EXACT_BITS = {"h264": (8,), "hevc": (8, 10), "vp8": (8,), "vp9": (8,)}
"""Codec -> bits of a sample that the GPU tests compare with the CPU decoder, bit for bit."""
WHY_NOT_CODEC = {
    "av1": "AV1 is decoded by libdav1d, which does not use NVDEC",
    "mpeg1video": "the standard leaves its inverse transform to the decoder",
    "mpeg2video": "the standard leaves its inverse transform to the decoder",
    "mpeg4": "the standard leaves its inverse transform to the decoder",
}
MACROBLOCK_PIXELS = 256
CODED_SIZE_STEP = 64
"""Coded sides are multiples of at most this; the catalog knows the displayed size alone."""


class NvdecLimits(Record, frozen=True, kw_only=True):
    """What one GPU decodes of one codec at one depth, 4:2:0."""

    codec: str
    """FFmpeg's name."""
    bits_per_sample: int
    """8 or 10."""
    min_width: int
    """Pixels of the coded picture."""
    min_height: int
    """Pixels of the coded picture."""
    max_width: int
    """Pixels of the coded picture."""
    max_height: int
    """Pixels of the coded picture."""
    max_macroblocks: int
    """Coded width times coded height over 256."""
    num_engines: int | None
    """NVDEC engines of the GPU that take it; None where the driver does not tell."""


class NvdecCapabilities(Record, frozen=True, kw_only=True):
    """The answers of one GPU's driver; a codec and depth that is not listed is not decoded."""

    device_name: str
    """As the driver calls the GPU."""
    limits: list[NvdecLimits]
    """One for each codec and depth that it decodes."""


def why_not_nvdec(facts: VideoFacts, capabilities: NvdecCapabilities) -> str | None:
    """Why a video is decoded by the CPU, in one clause; None for one that NVDEC may decode."""
    reason = _why_not_exact(facts)
    if reason is not None:
        return reason
    limits = _limits_of(facts, capabilities)
    if limits is None:
        what = f"{facts.codec} of {facts.bits_per_sample} bit"
        return f"{capabilities.device_name} does not decode {what}"
    return _why_not_size(facts, limits)


def _limits_of(facts: VideoFacts, capabilities: NvdecCapabilities) -> NvdecLimits | None:
    wanted = (facts.codec, facts.bits_per_sample)
    return next((x for x in capabilities.limits if (x.codec, x.bits_per_sample) == wanted), None)


def _why_not_exact(facts: VideoFacts) -> str | None:
    if facts.codec not in EXACT_BITS:
        return WHY_NOT_CODEC.get(facts.codec, f"{facts.codec} is not compared with NVDEC by test")
    if facts.bits_per_sample not in EXACT_BITS[facts.codec]:
        return f"{facts.codec} of {facts.bits_per_sample} bit is not compared with NVDEC by test"
    if not facts.pixel_format.startswith(("yuv420p", "yuvj420p")):
        return f"frames come from NVDEC as 4:2:0 alone, not {facts.pixel_format}"
    if facts.height % 2 or facts.width % 2:
        return f"its size is odd: {facts.width} x {facts.height}"
    if facts.mixed_sizes:
        return "its frames change size on the way"
    if facts.damage:
        return "it is damaged, and NVDEC does not tell which frames are"
    if facts.access == "sequential":
        return f"it has to be decoded from its start: {facts.access_reason}"
    return None


def _why_not_size(facts: VideoFacts, limits: NvdecLimits) -> str | None:
    # A picture is at least as large coded as shown, and less than one step larger.
    width, height = (_coded_side(side) for side in (facts.width, facts.height))
    size = f"{facts.width} x {facts.height}"
    if facts.width < limits.min_width or facts.height < limits.min_height:
        return f"{size} is smaller than {limits.min_width} x {limits.min_height}"
    if width > limits.max_width or height > limits.max_height:
        return f"{size} is larger than {limits.max_width} x {limits.max_height}"
    if width * height // MACROBLOCK_PIXELS > limits.max_macroblocks:
        return f"{size} has more than {limits.max_macroblocks} macroblocks"
    return None


def _coded_side(side: int) -> int:
    return -(-side // CODED_SIZE_STEP) * CODED_SIZE_STEP
