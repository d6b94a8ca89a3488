"""Reads frames of catalog videos as tensors on a device, decoded by NVDEC where that pays.

T frames, C = 3 as R G B, H, W.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import torch

from filmgate.catalog import Catalog
from filmgate.closing import Closing
from filmgate.errors import UserError, VideoError
from filmgate.feed.backend import (
    Backend,
    DecoderName,
    DeviceReaderStats,
    Trial,
    VideoDecoder,
    faster,
)
from filmgate.feed.device_lane import DeviceLane
from filmgate.feed.device_trial import hold_trial, trial_clips
from filmgate.feed.geometry import Size
from filmgate.feed.nvdec import NvdecCapabilities, why_not_nvdec
from filmgate.feed.nvdec_driver import nvdec_capabilities

DeviceName = Literal["auto", "cuda", "cpu"]
MAX_LISTED = 1000
"""Videos on the CPU that are listed one by one."""

_trials: dict[tuple[object, ...], Trial] = {}
"""Trials of this process, by catalog, GPU and size."""


class DeviceClipReader(Closing):
    """Exact frames of any video of a catalog, upright, at one size, on a device.

    Made by ``open_device_reader``. Sizes are those of ``ClipReader``, and so are the values where
    ``backend.device`` is ``cpu``. On a GPU all frames go through the same conversion there,
    whoever decoded them.
    """

    def __init__(
        self,
        catalog: Catalog,
        backend: Backend,
        *,
        nvdec: DeviceLane | None,
        cpu: DeviceLane,
        capabilities: NvdecCapabilities | None,
        size: Size | None = None,
        short_side: int | None = None,
    ) -> None:
        self.backend = backend
        """What decodes, and why."""
        self.size = size
        self.short_side = short_side
        self._catalog = catalog
        self._nvdec = nvdec
        self._cpu = cpu
        self._capabilities = capabilities
        self._decoders: dict[int, VideoDecoder] = {}

    def device(self) -> torch.device:
        """Where the frames are given."""
        return torch.device(self.backend.device)

    def close(self) -> None:
        """Close the decoders; reading opens them again."""
        self._cpu.close()
        if self._nvdec is not None:
            self._nvdec.close()

    def read(self, video: int, frame_indices: Sequence[int]) -> torch.Tensor:
        """A row's frames, uint8 (T, 3, H, W), in the order asked for, repeats allowed.

        On a GPU they are there as soon as the current stream gets to them. Raises IndexError for
        a row or a frame that is not there, UndecodableFrame or UnreadableVideo for what does not
        come out of the CPU's decoder either.
        """
        return self._read_clips(video, [frame_indices])[0]

    def read_many(self, requests: Sequence[tuple[int, Sequence[int]]]) -> list[torch.Tensor]:
        """What ``read`` gives for each (video, frame indices); shared frames are decoded once."""
        numbers_of: dict[int, list[int]] = {}
        for number, (video, _) in enumerate(requests):
            numbers_of.setdefault(video, []).append(number)
        clips: dict[int, torch.Tensor] = {}
        for video, numbers in numbers_of.items():
            read = self._read_clips(video, [requests[number][1] for number in numbers])
            clips.update(zip(numbers, read, strict=True))
        return [clips[number] for number in range(len(requests))]

    def decoder_of(self, video: int) -> VideoDecoder:
        """What decodes a row, and why it is not NVDEC."""
        if video not in self._decoders:
            self._decoders[video] = self._choose(video)
        return self._decoders[video]

    def stats(self) -> DeviceReaderStats:
        """The counters, and the videos that NVDEC was not used for."""
        is_nvdec = self.backend.decoder == "nvdec"
        on_cpu = [d for d in self._decoders.values() if is_nvdec and d.decoder == "cpu"]
        return DeviceReaderStats(
            backend=self.backend,
            frames_from_nvdec=self._nvdec.num_decoded if self._nvdec is not None else 0,
            frames_from_cpu=self._cpu.num_decoded,
            videos_on_cpu=on_cpu[:MAX_LISTED],
            num_videos_on_cpu=len(on_cpu),
        )

    def _choose(self, video: int) -> VideoDecoder:
        facts = self._catalog.video(video)
        if self._nvdec is None or self._capabilities is None:
            reason: str | None = self.backend.reason
        else:
            reason = why_not_nvdec(facts, self._capabilities)
        decoder: DecoderName = "cpu" if reason is not None else "nvdec"
        return VideoDecoder(video=video, decoder=decoder, reason=reason)

    def _read_clips(self, video: int, wanted: Sequence[Sequence[int]]) -> list[torch.Tensor]:
        if self.decoder_of(video).decoder == "nvdec":
            assert self._nvdec is not None
            try:
                return self._nvdec.read(video, wanted, self.size, self.short_side)
            except VideoError as error:
                # The CPU gives the same values, or says what is wrong with the file.
                reason = f"NVDEC failed: {error.reason}"
                self._decoders[video] = VideoDecoder(video=video, decoder="cpu", reason=reason)
        return self._cpu.read(video, wanted, self.size, self.short_side)


def open_device_reader(
    catalog: Catalog,
    *,
    device: DeviceName = "auto",
    device_index: int = 0,
    size: Size | None = None,
    short_side: int | None = None,
    num_cores: int = 1,
) -> DeviceClipReader:
    """A reader that gives tensors, and says in ``backend`` what decodes and why.

    ``cuda``: frames on the GPU, decoded by NVDEC wherever it is exact. ``cpu``: neither. ``auto``:
    ``cpu`` where there is no GPU or no NVDEC; otherwise frames are on the GPU, and a trial over a
    few clips decides whether NVDEC decodes them or the CPU, with ``num_cores`` cores that could
    decode instead. A trial is held once per process, catalog, GPU and size.

    Raises UserError for ``cuda`` where there is no GPU, or no decoder library of its driver.
    """
    if device not in get_args(DeviceName):
        raise UserError(f"no device {device!r}", hint=f"one of {', '.join(get_args(DeviceName))}")
    if device == "cpu":
        return _cpu_reader(catalog, 'device = "cpu" was asked for', size, short_side)
    try:
        capabilities = nvdec_capabilities(device_index)
    except UserError as error:
        if device == "cuda":
            raise
        return _cpu_reader(catalog, error.message, size, short_side)
    place = torch.device("cuda", device_index)
    nvdec, cpu = DeviceLane(catalog, place, cuda_device=device_index), DeviceLane(catalog, place)
    if device == "cuda":
        backend = _backend(capabilities, place, 'device = "cuda" was asked for', "nvdec", None)
    else:
        trial, why = _trial(catalog, capabilities, nvdec, cpu, size, short_side)
        decoder: DecoderName = "cpu"
        if trial is not None:
            decoder, why = faster(trial, num_cores)
        backend = _backend(capabilities, place, why, decoder, trial)
    return DeviceClipReader(
        catalog,
        backend,
        nvdec=nvdec if backend.decoder == "nvdec" else None,
        cpu=cpu,
        capabilities=capabilities,
        size=size,
        short_side=short_side,
    )


def _cpu_reader(
    catalog: Catalog, reason: str, size: Size | None, short_side: int | None
) -> DeviceClipReader:
    backend = Backend(decoder="cpu", device="cpu", device_name=None, reason=reason)
    return DeviceClipReader(
        catalog,
        backend,
        nvdec=None,
        cpu=DeviceLane(catalog, torch.device("cpu"), uses_painter=True),
        capabilities=None,
        size=size,
        short_side=short_side,
    )


def _backend(
    capabilities: NvdecCapabilities,
    place: torch.device,
    reason: str,
    decoder: DecoderName,
    trial: Trial | None,
) -> Backend:
    return Backend(
        decoder=decoder,
        device=str(place),
        device_name=capabilities.device_name,
        reason=reason,
        trial=trial,
    )


def _trial(
    catalog: Catalog,
    capabilities: NvdecCapabilities,
    nvdec: DeviceLane,
    cpu: DeviceLane,
    size: Size | None,
    short_side: int | None,
) -> tuple[Trial | None, str]:
    """The trial of this process; None, with the reason, where none can be held."""
    key = (catalog.digest, str(nvdec.device), size, short_side)
    if key in _trials:
        return _trials[key], ""
    clips = trial_clips(catalog, capabilities)
    if not clips:
        return None, "none of the videos looked at is one that NVDEC decodes exactly"
    try:
        _trials[key] = hold_trial(clips, nvdec, cpu, size, short_side)
    except VideoError as error:
        return None, f"the trial failed: {error}"
    return _trials[key], ""
