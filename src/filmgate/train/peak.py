"""The most memory that this process has taken so far."""

from __future__ import annotations

import resource

import torch


def peak_bytes(device: torch.device) -> dict[str, int | None]:
    """Fields of a telemetry step: in RAM, and on the device where that is a GPU."""
    kibibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    is_cuda = device.type == "cuda"
    return {
        "peak_host_bytes": kibibytes * 1024,
        "peak_device_bytes": torch.cuda.max_memory_allocated(device) if is_cuda else None,
    }
