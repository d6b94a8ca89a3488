"""What every program of a known model is given, and pieces that several share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from filmgate.plan.memory.graph import Tensor
from filmgate.plan.memory.recorder import FLOAT32
from filmgate.plan.memory.tape import Tape


@dataclass(frozen=True, kw_only=True)
class Size:
    """Size of one forward pass."""

    clips: int
    """Clips in the batch."""
    latent: tuple[int, int, int]
    """Latent (or pixel) frames, rows, columns."""
    tokens: int
    """Video tokens of one clip."""
    text_tokens: int
    """Text tokens of one clip."""

    @property
    def rows(self) -> int:
        """Video tokens of the batch."""
        return self.clips * self.tokens

    @property
    def text_rows(self) -> int:
        """Text tokens of the batch."""
        return self.clips * self.text_tokens


Program = Callable[[Tape, Size], Tensor]
"""Runs a model's forward pass on a tape and returns its prediction."""


def modulated(t: Tape, x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    """``x * (1 + scale) + shift`` with one row of scale and shift a clip."""
    return t.add(t.multiply(x, scale), shift)


def gated(t: Tape, residual: Tensor, x: Tensor, gate: Tensor) -> Tensor:
    """``residual + gate * x``."""
    return t.add(residual, t.multiply(x, gate))


def feed_forward(t: Tape, x: Tensor, inner: int) -> Tensor:
    """Two linear layers around a GELU."""
    return t.linear(t.activation(t.linear(x, inner)), x.width)


def fast_gelu(t: Tape, x: Tensor) -> Tensor:
    """``0.5 x (1 + tanh(0.798 x (1 + 0.0447 x x)))`` operation by operation.

    Source: transformers 5.24, activations.py, FastGELUActivation.
    """
    inner = t.copy(t.multiply(t.copy(x), x))
    inner = t.tanh(t.multiply(t.copy(x), inner))
    return t.multiply(t.copy(x), t.copy(inner))


def gated_feed_forward(t: Tape, x: Tensor, inner: int, *, bias: bool = True) -> Tensor:
    """SwiGLU or GEGLU: one half of the inner width gates the other."""
    both = t.linear(x, 2 * inner, bias=bias)
    value, gate = chunks(t, both, 2)
    del both
    return t.linear(t.multiply(value, t.activation(gate)), x.width, bias=bias)


def chunks(t: Tape, x: Tensor, count: int) -> list[Tensor]:
    """Equal parts of the channels, as views."""
    return [t.part(x, width=x.width // count) for _ in range(count)]


def rotated(t: Tape, x: Tensor) -> Tensor:
    """Rotary embedding in float32: x and its rotation widened, two products, their sum.

    The tables want no gradient, so nothing of it is kept. Source: diffusers 0.42.1,
    models/embeddings.py, apply_rotary_emb.
    """
    turned = t.copy(x)
    first = t.copy(t.cast(x, FLOAT32))
    second = t.copy(t.cast(turned, FLOAT32))
    return t.cast(t.add(first, second), x.item)


def rotated_halves(t: Tape, x: Tensor) -> Tensor:
    """Rotary embedding of even and odd channels by themselves, written into a new tensor.

    Source: diffusers 0.42.1, transformer_wan.py, apply_rotary_emb.
    """
    even, odd = chunks(t, x, 2)
    out = t.blank(x)
    for _ in range(2):
        total = t.add(t.cast(even, FLOAT32), t.cast(odd, FLOAT32))
        out = t.overwrite(out, t.cast(total, x.item))
        del total
    return out


def two_linear(t: Tape, x: Tensor, width: int) -> Tensor:
    """Two linear layers to the same width around a SiLU: an embedding of time or text."""
    return t.linear(t.activation(t.linear(x, width)), width)
