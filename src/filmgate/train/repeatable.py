"""What makes a run repeatable on one machine: seeds, thread count, deterministic kernels."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from filmgate.errors import UserError


def choose_device(wanted: str) -> torch.device:
    """``auto`` is the GPU where there is one. Raises UserError when ``cuda`` is not there."""
    if wanted == "auto":
        wanted = "cuda" if torch.cuda.is_available() else "cpu"
    if wanted == "cuda" and not torch.cuda.is_available():
        why = "sees no GPU" if torch.version.cuda else "is built without CUDA"
        raise UserError(
            f"train.device is cuda, but this torch {torch.__version__} {why}",
            hint='set device = "auto" or "cpu" in [train], or install a CUDA build of torch',
        )
    return torch.device(wanted)


def device_name(device: torch.device) -> str:
    """``cpu``, or the name of the GPU."""
    return "cpu" if device.type == "cpu" else torch.cuda.get_device_name(device)


@contextmanager
def repeatable(seed: int, num_threads: int, device: torch.device) -> Iterator[None]:
    """Seed everything and fix the thread count; on CPU allow deterministic kernels only.

    Sums in another order round differently, so losses are bit-equal only for the same machine,
    software and thread count. On GPU no kernel is forbidden. All of it is put back at the end.
    """
    random_before = random_state()
    threads_before = torch.get_num_threads()
    strict_before = torch.are_deterministic_algorithms_enabled()
    try:
        torch.set_num_threads(num_threads)
        torch.use_deterministic_algorithms(strict_before or device.type == "cpu")
        random.seed(seed)
        np.random.seed(seed % 2**32)
        torch.manual_seed(seed)
        yield
    finally:
        torch.use_deterministic_algorithms(strict_before)
        torch.set_num_threads(threads_before)
        restore_random_state(random_before)


def random_state() -> dict[str, Any]:
    """The state of every global generator, as plain values and tensors."""
    name, keys, *rest = np.random.get_state(legacy=True)
    assert not isinstance(keys, str)
    return {
        "python": random.getstate(),
        "numpy": (name, keys.tolist(), *rest),
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }


def restore_random_state(state: dict[str, Any]) -> None:
    """Put back what ``random_state`` gave; GPU states only where there are as many GPUs."""
    name, keys, *rest = state["numpy"]
    random.setstate(state["python"])
    np.random.set_state((name, np.array(keys, np.uint32), *rest))
    torch.set_rng_state(state["torch"])
    if state["cuda"] and len(state["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(state["cuda"])
