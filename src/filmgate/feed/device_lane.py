"""One way from videos to tensors: a decoder, and the device that the pictures are made on.

NVDEC and the CPU decoder give the same samples, and what turns samples into pictures on a device
does not know who decoded them. T frames, C = 3 as R G B, H, W.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext

import av
import numpy as np
import torch

from filmgate.catalog import Catalog
from filmgate.errors import UndecodableFrame
from filmgate.feed.colour import UnsupportedColour
from filmgate.feed.device_picture import paint_samples
from filmgate.feed.device_samples import can_be_samples, samples_of
from filmgate.feed.geometry import Size, asked_size
from filmgate.feed.nvdec_driver import cuda_context
from filmgate.feed.open_videos import OpenVideo, OpenVideos
from filmgate.feed.picture import Painter, Window

MAX_OPEN_ON_GPU = 8
"""NVDEC decoders kept open; each holds some 20 pictures of GPU memory."""


class DeviceLane:
    """Decodes with NVDEC on ``cuda_device``, or on the CPU; one thread, as its decoders.

    With ``uses_painter`` libswscale makes the pictures of CPU frames, on the CPU.
    """

    def __init__(
        self,
        catalog: Catalog,
        device: torch.device,
        *,
        cuda_device: int | None = None,
        uses_painter: bool = False,
    ) -> None:
        self.device = device
        self.uses_painter = uses_painter
        self.num_decoded = 0
        """Frames that came out of its decoders."""
        self._cuda_device = cuda_device
        max_open = None if cuda_device is None else MAX_OPEN_ON_GPU
        self._videos = OpenVideos(catalog, max_open, cuda_device=cuda_device)
        self._painter = Painter()

    def close(self) -> None:
        """Close the decoders; reading opens them again."""
        self._videos.close()

    def read(
        self,
        video: int,
        wanted: Sequence[Sequence[int]],
        size: Size | None = None,
        short_side: int | None = None,
    ) -> list[torch.Tensor]:
        """uint8 (T, 3, H, W) for each list of frame indices, on the device.

        Raises IndexError, UndecodableFrame or UnreadableVideo.
        """
        opened = self._videos.get(video)
        upright = opened.orientation.upright((opened.facts.height, opened.facts.width))
        window = Window(size=asked_size(upright, size, short_side))
        shape = (3, *window.size)
        clips = [
            torch.empty((len(indices), *shape), dtype=torch.uint8, device=self.device)
            for indices in wanted
        ]
        places: dict[int, list[torch.Tensor]] = {}
        for indices, clip in zip(wanted, clips, strict=True):
            for place, index in enumerate(indices):
                places.setdefault(int(index), []).append(clip[place])
        for index, frame in self.frames(video, list(places)):
            picture = self._paint(frame, opened, window)
            for out in places[index]:
                out.copy_(picture)
        return clips

    def frames(self, video: int, indices: Sequence[int]) -> Iterator[tuple[int, av.VideoFrame]]:
        """Each distinct frame once, ascending; one is to be used up before the next is asked for.

        Its samples may be read on the current stream. Raises what ``read`` raises.
        """
        opened = self._videos.get(video)
        self._videos.check(video)
        before, frames = opened.reader.num_decoded, opened.reader.frames(indices)
        try:
            while (found := self._next(frames)) is not None:
                self._check(found[1], opened)
                self._wait_for_ffmpeg()
                yield found
                self._make_ffmpeg_wait()
        finally:
            self._make_ffmpeg_wait()
            self.num_decoded += opened.reader.num_decoded - before

    def _next(
        self, frames: Iterator[tuple[int, av.VideoFrame]]
    ) -> tuple[int, av.VideoFrame] | None:
        """Decode on, with the GPU's context while that takes, and not longer."""
        is_on_gpu = self._cuda_device is not None and self.device.type == "cuda"
        with cuda_context(self.device.index) if is_on_gpu else nullcontext():
            return next(frames, None)

    def _check(self, frame: av.VideoFrame, opened: OpenVideo) -> None:
        """A frame of NVDEC has to be one, whole: a decoder cuts no left or upper edge off there."""
        if self._cuda_device is None:
            return
        if frame.format.name != "cuda":
            reason = f"NVDEC was asked, and a {frame.format.name} frame came"
            raise UndecodableFrame(opened.facts.path, reason)
        wanted, got = (opened.facts.width, opened.facts.height), (frame.width, frame.height)
        if got != wanted:
            reason = f"NVDEC gives {got[0]} x {got[1]} where the CPU gave {wanted[0]} x {wanted[1]}"
            raise UndecodableFrame(opened.facts.path, reason)

    def _paint(self, frame: av.VideoFrame, opened: OpenVideo, window: Window) -> torch.Tensor:
        try:
            if not self.uses_painter and can_be_samples(frame):
                samples = samples_of(frame, opened.facts.codec)
                return paint_samples(samples, opened.orientation, window, self.device)
            out_CHW = np.empty((3, *window.size), np.uint8)
            self._painter.paint(frame, opened.orientation, window, out_CHW)
        except UnsupportedColour as error:
            raise UndecodableFrame(opened.facts.path, str(error)) from None
        return torch.from_numpy(out_CHW).to(self.device)

    def _wait_for_ffmpeg(self) -> None:
        """FFmpeg copies a frame out of the decoder on the default stream."""
        if self.device.type == "cuda":
            default = torch.cuda.default_stream(self.device)
            torch.cuda.current_stream(self.device).wait_stream(default)

    def _make_ffmpeg_wait(self) -> None:
        """The memory of a frame is used again for a later one as soon as nobody holds it."""
        if self.device.type == "cuda":
            current = torch.cuda.current_stream(self.device)
            torch.cuda.default_stream(self.device).wait_stream(current)
