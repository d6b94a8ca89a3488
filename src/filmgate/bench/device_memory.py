"""Copies on a GPU, to it and from it, timed by events of its own stream.

As nvbandwidth does (https://github.com/NVIDIA/nvbandwidth): copy engines, CUDA events, at least
three repetitions of which the median counts. The host is one process on whatever node it runs on.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from filmgate.bench.ask import Tell
from filmgate.bench.rounds import Figure, measure_in_turns
from filmgate.errors import UserError
from filmgate.machine.measured import Measure
from filmgate.units import format_bytes

COPY_BYTES = 1 << 30
"""Of a buffer; less where a quarter of the free GPU memory is less."""
COPIES = 4
"""Of each value, one after another."""
WARM_UP_COPIES = 2


def measure_devices(
    wanted: str | None, rounds: int, tell: Tell
) -> tuple[list[Measure], dict[str, str]]:
    """Figures of every GPU, or of the wanted one; or why there are none.

    Raises UserError where ``cuda`` was asked for and is not there.
    """
    if not torch.cuda.is_available():
        why = "sees no GPU" if torch.version.cuda else "is built without CUDA"
        if wanted is not None:
            raise UserError(
                f"--device {wanted}, but this torch {torch.__version__} {why}",
                hint="leave --device out, or install a CUDA build of torch",
            )
        return [], {"gpu-copy": f"not present: torch {torch.__version__} {why}"}
    measures = []
    for device in _devices(wanted):
        measures += measure_in_turns(_figures(device), max(3, rounds), tell)
        torch.cuda.empty_cache()
    return measures, {}


def _devices(wanted: str | None) -> list[torch.device]:
    count = torch.cuda.device_count()
    if wanted is None:
        return [torch.device("cuda", index) for index in range(count)]
    try:
        device = torch.device(wanted)
    except RuntimeError:
        raise UserError(f"--device {wanted} is no device", hint="for example cuda:0") from None
    index = device.index or 0
    if device.type != "cuda" or index >= count:
        raise UserError(f"there is no {wanted}", hint=f"cuda:0 to cuda:{count - 1} are there")
    return [torch.device("cuda", index)]


def _figures(device: torch.device) -> list[Figure]:
    free, _ = torch.cuda.mem_get_info(device)
    size = min(COPY_BYTES, free // 4)
    on_device, other = (torch.empty(size, dtype=torch.uint8, device=device) for _ in range(2))
    # Written once, so that no page of it is the kernel's one page of zeros.
    pageable = torch.empty(size, dtype=torch.uint8).fill_(1)
    pinned = torch.empty(size, dtype=torch.uint8, pin_memory=True).fill_(1)
    name = f"gpu{device.index}"
    copies: list[tuple[str, torch.Tensor, torch.Tensor, int, str]] = [
        ("copy", other, on_device, 2, "read and written on the GPU"),
        ("from-host-pinned", on_device, pinned, 1, "copied from pinned memory"),
        ("from-host-pageable", on_device, pageable, 1, "copied from pageable memory"),
        ("to-host-pinned", pinned, on_device, 1, "copied to pinned memory"),
    ]
    return [
        Figure(
            name=f"{name}-{what}", unit="bytes/s", run=_rate_of(to, source, times, device),
            definition=f"bytes {said}, over the time between two CUDA events around {COPIES} "
            "copies",
            anchor="BabelStream copy" if what == "copy" else "nvbandwidth",
            warm_up=f"{WARM_UP_COPIES} copies before each repetition",
            conditions={"buffer": format_bytes(size)},
        )
        for what, to, source, times, said in copies
    ]  # fmt: skip


def _rate_of(
    to: torch.Tensor, source: torch.Tensor, times: int, device: torch.device
) -> Callable[[int], float]:
    def run(number: int) -> float:
        """Bytes a second of one repetition."""
        with torch.cuda.device(device):
            for _ in range(WARM_UP_COPIES):
                to.copy_(source, non_blocking=True)
            start = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
            end = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
            start.record()
            for _ in range(COPIES):
                to.copy_(source, non_blocking=True)
            end.record()
            end.synchronize()
        seconds: float = start.elapsed_time(end) / 1000
        return times * COPIES * source.numel() / seconds

    return run
