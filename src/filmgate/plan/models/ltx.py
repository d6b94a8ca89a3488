"""LTX-Video. Source: diffusers 0.42.1, models/transformers/transformer_ltx.py."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from filmgate.plan.memory.graph import Tensor
from filmgate.plan.memory.tape import Tape
from filmgate.plan.models.program import (
    Program,
    Size,
    chunks,
    feed_forward,
    gated,
    modulated,
    rotated,
    two_linear,
)


@dataclass(frozen=True, kw_only=True)
class Ltx:
    """Configuration of a checkpoint."""

    hidden: int
    layers: int
    heads: int = 32
    channels: int = 128
    text_width: int = 4096


def program(config: Ltx) -> Program:
    """The forward pass."""
    return partial(_forward, config=config)


def _forward(t: Tape, size: Size, *, config: Ltx) -> Tensor:
    width = config.hidden
    video = t.linear(t.source(size.rows, config.channels), width)
    embedded = two_linear(t, t.source(size.clips, 256), width)
    modulation = t.linear(t.activation(embedded), 6 * width)
    text = two_linear(t, t.source(size.text_rows, config.text_width), width)
    block = partial(_block, config=config, size=size)
    for layer in range(config.layers):
        (video,) = t.block(f"block{layer}", block, video, text, modulation)
    both = t.add(t.join([embedded, embedded], channels=True), t.parameter(2 * width))
    shift, scale = chunks(t, both, 2)
    video = t.norm(video, affine=False)
    return t.linear(modulated(t, video, scale, shift), config.channels)


def _block(
    t: Tape, video: Tensor, text: Tensor, modulation: Tensor, *, config: Ltx, size: Size
) -> tuple[Tensor, ...]:
    parts = chunks(t, t.add(modulation, t.parameter(6 * config.hidden)), 6)
    normed = modulated(t, t.root_norm(video, affine=False), parts[0], parts[1])
    attended = _attention(t, normed, normed, config=config, size=size, rope=True)
    del normed
    video = gated(t, video, attended, parts[2])
    attended = _attention(t, video, text, config=config, size=size, rope=False)
    video = t.add(video, attended)  # attended stays to the end, as in the published code
    normed = modulated(t, t.root_norm(video, affine=False), parts[3], parts[4])
    fed = feed_forward(t, normed, 4 * config.hidden)
    del normed
    return (gated(t, video, fed, parts[5]),)


def _attention(
    t: Tape, x: Tensor, source: Tensor, *, config: Ltx, size: Size, rope: bool
) -> Tensor:
    width = config.hidden
    q = t.linear(x, width, attention=True)
    k, v = (t.linear(source, width, attention=True) for _ in range(2))
    q, k = t.norm(q, bias=False), t.norm(k, bias=False)
    if rope:
        q, k = rotated(t, q), rotated(t, k)
    out = t.attention(q, k, v, heads=config.heads, clips=size.clips)
    del q, k, v
    return t.linear(out, width, attention=True)
