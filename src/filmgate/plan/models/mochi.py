"""Mochi 1. Source: diffusers 0.42.1, models/transformers/transformer_mochi.py."""

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
    gated_feed_forward,
    rotated_halves,
    two_linear,
)


@dataclass(frozen=True, kw_only=True)
class Mochi:
    """Configuration of the checkpoint."""

    hidden: int = 3072
    text_hidden: int = 1536
    layers: int = 48
    heads: int = 24
    channels: int = 12
    text_width: int = 4096


def program(config: Mochi) -> Program:
    """The forward pass."""
    return partial(_forward, config=config)


def _forward(t: Tape, size: Size, *, config: Mochi) -> Tensor:
    width = config.hidden
    video = t.linear(t.source(size.rows, 4 * config.channels), width)
    temb = two_linear(t, t.source(size.clips, 256), width)
    prompt = t.source(size.text_rows, config.text_width)
    temb = t.add(temb, _pooled_text(t, prompt, size, config))
    text = t.linear(prompt, config.text_hidden)
    t.weight(3 * config.heads * 64)  # the frequencies of the rotary embedding are learned
    for layer in range(config.layers):
        block = partial(_block, config=config, size=size, last=layer == config.layers - 1)
        video, text = t.block(f"block{layer}", block, video, text, temb)
    scale, shift = chunks(t, t.linear(t.activation(temb), 2 * width), 2)
    video = t.add(t.multiply(t.norm(video, affine=False), scale), shift)
    return t.linear(video, 4 * config.channels)


def _pooled_text(t: Tape, prompt: Tensor, size: Size, config: Mochi) -> Tensor:
    """Attention pooling over the prompt. Source: MochiAttentionPool, models/embeddings.py."""
    both = t.linear(prompt, 2 * config.text_width)
    query = t.linear(t.reduce(prompt, size.clips), config.text_width)
    k, v = chunks(t, both, 2)
    out = t.attention(query, k, v, heads=8, clips=size.clips)
    return t.linear(out, config.hidden)


def _block(
    t: Tape, video: Tensor, text: Tensor, temb: Tensor, *, config: Mochi, size: Size, last: bool
) -> tuple[Tensor, ...]:
    width, text_width = config.hidden, config.text_hidden
    scale, gate, scale_mlp, gate_mlp = chunks(t, t.linear(t.activation(temb), 4 * width), 4)
    normed = _modulated(t, video, scale)
    if last:
        text_gates = [t.linear(t.activation(temb), text_width)]
    else:
        text_gates = chunks(t, t.linear(t.activation(temb), 4 * text_width), 4)
    text_normed = _modulated(t, text, text_gates[0])
    attended, text_attended = _attention(t, normed, text_normed, config, size, last=last)
    del normed, text_normed
    inner, text_inner = 4 * width * 2 // 3, 4 * text_width * 2 // 3
    video = _fed(t, video, attended, [gate, scale_mlp, gate_mlp], inner)
    if text_attended is not None:
        text = _fed(t, text, text_attended, text_gates[1:], text_inner)
    return video, text


def _fed(t: Tape, x: Tensor, attended: Tensor, gates: list[Tensor], inner: int) -> Tensor:
    x = t.add(x, _modulated(t, attended, gates[0]))
    normed = _modulated(t, x, gates[1])
    fed = gated_feed_forward(t, normed, inner, bias=False)
    return t.add(x, _modulated(t, fed, gates[2]))


def _modulated(t: Tape, x: Tensor, scale: Tensor) -> Tensor:
    """RMS norm and scale in float32, back in the precision of x."""
    y = t.root_norm(t.cast(x, FLOAT32), affine=False)
    return t.cast(t.multiply(y, scale), x.item)


def _attention(
    t: Tape, video: Tensor, text: Tensor, config: Mochi, size: Size, *, last: bool
) -> tuple[Tensor, Tensor | None]:
    width, heads = config.hidden, config.heads
    q, k, v = (t.linear(video, width, bias=False, attention=True) for _ in range(3))
    q, k = t.root_norm(q, heads=heads), t.root_norm(k, heads=heads)
    text_q, text_k, text_v = (t.linear(text, width, bias=False) for _ in range(3))
    text_q, text_k = t.root_norm(text_q, heads=heads), t.root_norm(text_k, heads=heads)
    q, k = rotated_halves(t, q), rotated_halves(t, k)
    joined = [t.join([q, text_q]), t.join([k, text_k]), t.join([v, text_v])]
    del q, k, v, text_q, text_k, text_v
    out = t.attention(*joined, heads=heads, clips=size.clips)
    del joined
    out = t.copy(t.copy(out))  # padded to the longest prompt, then put together again
    video_out = t.linear(t.part(out, rows=size.rows), width, attention=True)
    if last:
        return video_out, None
    return video_out, t.linear(t.part(out, rows=size.text_rows), config.text_hidden)
