"""Takes batches from host memory to a GPU while the batch before is being used.

Clips are put together in staging buffers of pinned memory and copied on a stream of their own; the
consumer's stream waits for the copy on the device, the host waits for nothing but a staging buffer
that is still being read. B clips, T frames, C channels, H, W.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace

import torch

from filmgate.feed.batch import Batch

NUM_STAGING = 2
"""One buffer is filled while the copy out of the other may still run."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Parcel:
    """A batch on its way to the device."""

    batch: Batch
    """Its frames and labels are on the device once ``arrived`` has happened."""
    arrived: torch.cuda.Event


class Courier:
    """Copies to one CUDA device; made for a feed by ``open_feed(..., device=...)``."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._staging: deque[tuple[torch.Tensor, torch.cuda.Event]] = deque()

    def staging(self, shape: tuple[int, ...]) -> torch.Tensor:
        """A pinned uint8 buffer to put the next batch's frames into, free to be written to.

        ``send`` has to be called with a batch in it before the next one is asked for.
        """
        if len(self._staging) < NUM_STAGING or self._staging[0][0].shape != shape:
            frames = torch.empty(shape, dtype=torch.uint8, pin_memory=True)
            self._staging.append((frames, _event()))
        else:
            self._staging.rotate(-1)
            self._staging[-1][1].synchronize()  # the copy that still reads it, two batches ago
        if len(self._staging) > NUM_STAGING:
            self._staging.popleft()[1].synchronize()
        return self._staging[-1][0]

    def send(self, batch: Batch) -> Parcel:
        """Start the copy of a batch whose frames lie in the staging buffer given out last."""
        frames, is_read = self._staging[-1]
        assert batch.frames_BTCHW.data_ptr() == frames.data_ptr()
        with torch.cuda.stream(self._stream):
            sent = replace(
                batch,
                frames_BTCHW=frames.to(self.device, non_blocking=True),
                labels_B=batch.labels_B.pin_memory().to(self.device, non_blocking=True),
            )
            is_read.record(self._stream)
            arrived = _event()
            arrived.record(self._stream)
        return Parcel(batch=sent, arrived=arrived)

    def receive(self, parcel: Parcel) -> Batch:
        """The batch, for the consumer's current stream: what is queued there waits for the copy."""
        consumer = torch.cuda.current_stream(self.device)
        consumer.wait_event(parcel.arrived)
        # Made on the copy stream: without this its memory could be given out again while kernels
        # of the consumer still read it.
        for tensor in (parcel.batch.frames_BTCHW, parcel.batch.labels_B):
            tensor.record_stream(consumer)
        return parcel.batch


def _event() -> torch.cuda.Event:
    return torch.cuda.Event()  # type: ignore[no-untyped-call]
