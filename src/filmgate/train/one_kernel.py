"""Operations that a GPU runs as one kernel where the CPU runs several, for a trace on CPU tensors.

What a trace keeps and takes is then what the GPU's kernel keeps and takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.nn import functional


@contextmanager
def one_kernel() -> Iterator[None]:
    """Root-mean-square norms as ``_fused_rms_norm``: they keep their input and a row of scales.

    The functions themselves are replaced for the while: a mode would not reach what checkpoints
    compute again. Source: derivatives.yaml of PyTorch 2.13, _fused_rms_norm, which CUDA takes.
    """
    places: list[Any] = [torch, functional]
    before = [place.rms_norm for place in places]
    for place in places:
        place.rms_norm = _rms_norm
    try:
        yield
    finally:
        for place, function in zip(places, before, strict=True):
            place.rms_norm = function


def _rms_norm(
    x: torch.Tensor,
    normalized_shape: Sequence[int],
    weight: torch.Tensor | None = None,
    eps: float | None = None,
) -> torch.Tensor:
    result: torch.Tensor = _RmsNorm.apply(x, len(normalized_shape), weight)  # type: ignore[no-untyped-call]
    return result


class _RmsNorm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: torch.Tensor, num_dims: int, weight: torch.Tensor | None
    ) -> torch.Tensor:
        """Memory alone; nothing is computed."""
        rows = x.shape[: x.dim() - num_dims]
        ctx.save_for_backward(x, x.new_empty(rows, dtype=torch.float32), weight)
        return torch.empty_like(x)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """Gradients of the input and the weight."""
        x, _, weight = ctx.saved_tensors
        wants_x, _, wants_weight = ctx.needs_input_grad
        return (
            torch.empty_like(x) if wants_x else None,
            None,
            torch.empty_like(weight) if wants_weight and weight is not None else None,
        )
