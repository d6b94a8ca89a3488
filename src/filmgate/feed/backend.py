"""Who decodes, and why: NVDEC or the CPU, by what the machine has and by what a trial measured."""

from __future__ import annotations

from typing import Literal

from filmgate.records import Record
from filmgate.units import counted

DecoderName = Literal["nvdec", "cpu"]


class Trial(Record, frozen=True, kw_only=True):
    """The same clips made with NVDEC and with the CPU decoder, on one thread, in turns."""

    num_clips: int
    """Clips of each decoder, after one that was not counted."""
    frames_per_clip: int
    """Frames of each clip."""
    nvdec_seconds_per_clip: float
    """Wall seconds with NVDEC, until the clip lies in GPU memory."""
    nvdec_cpu_seconds_per_clip: float
    """CPU seconds of the thread that drove NVDEC."""
    cpu_seconds_per_clip: float
    """CPU seconds of the thread that decoded, copied and drove the GPU."""
    are_equal: bool
    """Whether every sample of every frame was the same."""


class Backend(Record, frozen=True, kw_only=True):
    """What a reader decodes with."""

    decoder: DecoderName
    """``nvdec``: every video that NVDEC decodes exactly; ``cpu``: none."""
    device: str
    """Where the frames are: ``cpu``, ``cuda:0``, ..."""
    device_name: str | None
    """As the driver calls the GPU; None without one."""
    reason: str
    """Why this decoder, in one clause."""
    trial: Trial | None = None
    """What was measured; None where nothing had to be."""


class VideoDecoder(Record, frozen=True, kw_only=True):
    """What one video is decoded with."""

    video: int
    """Row of the catalog."""
    decoder: DecoderName
    """``nvdec`` or ``cpu``."""
    reason: str | None
    """Why the CPU; None where NVDEC decodes."""


class DeviceReaderStats(Record, frozen=True, kw_only=True):
    """What a reader did since it was opened."""

    backend: Backend
    """What the reader decodes with."""
    frames_from_nvdec: int
    """Frames that came out of NVDEC, wanted or on the way."""
    frames_from_cpu: int
    """Frames that came out of CPU decoders, wanted or on the way."""
    videos_on_cpu: list[VideoDecoder]
    """Videos among those read that NVDEC did not decode although it was chosen, each with the
    reason; the first 1000."""
    num_videos_on_cpu: int
    """How many there are."""


def faster(trial: Trial, num_cores: int) -> tuple[DecoderName, str]:
    """The decoder that gives more clips a second, and why.

    ``num_cores`` cores could decode instead of NVDEC; NVDEC is fed by one thread.
    """
    if not trial.are_equal:
        return "cpu", "NVDEC gave other samples than the CPU decoder in the trial"
    nvdec = 1 / trial.nvdec_seconds_per_clip
    cpu = num_cores / trial.cpu_seconds_per_clip
    decoder: DecoderName = "nvdec" if nvdec > cpu else "cpu"
    cores = counted(num_cores, "core")
    return decoder, f"trial: {nvdec:.1f} clips/s by NVDEC, {cpu:.1f} by {cores}"
