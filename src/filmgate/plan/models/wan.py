"""Wan 2.1 and 2.2. Source: diffusers 0.42.1, models/transformers/transformer_wan.py."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from filmgate.plan.memory.graph import Tensor
from filmgate.plan.memory.recorder import FLOAT32
from filmgate.plan.memory.tape import Tape
from filmgate.plan.models.program import (
    Program,
    Size,
    chunks,
    feed_forward,
    gated,
    modulated,
    rotated_halves,
    two_linear,
)


@dataclass(frozen=True, kw_only=True)
class Wan:
    """Configuration of a checkpoint."""

    hidden: int
    layers: int
    heads: int
    ffn: int
    channels: int = 16
    text_width: int = 4096
    time_width: int = 256


def program(config: Wan) -> Program:
    """The forward pass."""
    return partial(_forward, config=config)


def _forward(t: Tape, size: Size, *, config: Wan) -> Tensor:
    width = config.hidden
    video = t.linear(t.source(size.rows, 4 * config.channels), width)
    temb = two_linear(t, t.source(size.clips, config.time_width), width)
    modulation = t.linear(t.activation(temb), 6 * width)
    text = two_linear(t, t.source(size.text_rows, config.text_width), width)
    block = partial(_block, config=config, size=size)
    for layer in range(config.layers):
        (video,) = t.block(f"block{layer}", block, video, text, modulation)
    scale, shift = chunks(t, t.add(t.join([temb, temb], channels=True), t.parameter(2 * width)), 2)
    normed = t.norm(t.cast(video, FLOAT32), affine=False)
    del video
    normed = t.cast(modulated(t, normed, scale, shift), t.numerics.compute_item)
    return t.linear(normed, 4 * config.channels)


def _block(
    t: Tape, video: Tensor, text: Tensor, modulation: Tensor, *, config: Wan, size: Size
) -> tuple[Tensor, ...]:
    item, width = video.item, config.hidden
    table = t.add(t.cast(modulation, FLOAT32), t.parameter(6 * width))
    parts = chunks(t, table, 6)
    normed = _modulated_norm(t, video, parts[0], parts[1])
    attended = _attention(t, normed, normed, config=config, size=size, rope=True)
    del normed
    video = t.cast(gated(t, t.cast(video, FLOAT32), attended, parts[2]), item)
    normed = t.cast(t.norm(t.cast(video, FLOAT32)), item)
    attended = _attention(t, normed, text, config=config, size=size, rope=False)
    video = t.add(video, attended)  # attended stays to the end, as in the published code
    normed = _modulated_norm(t, video, parts[3], parts[4])
    fed = t.cast(feed_forward(t, normed, config.ffn), FLOAT32)
    del normed
    return (t.cast(gated(t, t.cast(video, FLOAT32), fed, parts[5]), item),)


def _modulated_norm(t: Tape, x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    return t.cast(modulated(t, t.norm(t.cast(x, FLOAT32), affine=False), scale, shift), x.item)


def _attention(
    t: Tape, x: Tensor, source: Tensor, *, config: Wan, size: Size, rope: bool
) -> Tensor:
    width = config.hidden
    q = t.linear(x, width, attention=True)
    k, v = (t.linear(source, width, attention=True) for _ in range(2))
    q, k = t.norm(q, bias=False), t.norm(k, bias=False)
    if rope:
        q, k = rotated_halves(t, q), rotated_halves(t, k)
    out = t.attention(q, k, v, heads=config.heads, clips=size.clips)
    del q, k, v
    return t.linear(out, width, attention=True)
