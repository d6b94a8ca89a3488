"""HunyuanVideo. Source: diffusers 0.42.1, transformers/transformer_hunyuan_video.py."""

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
class Hunyuan:
    """Configuration of a checkpoint."""

    hidden: int = 3072
    double_blocks: int = 20
    single_blocks: int = 40
    refiner_blocks: int = 2
    heads: int = 24
    channels: int = 16
    text_width: int = 4096
    pooled_width: int = 768


def program(config: Hunyuan) -> Program:
    """The forward pass."""
    return partial(_forward, config=config)


def _forward(t: Tape, size: Size, *, config: Hunyuan) -> Tensor:
    width = config.hidden
    video = t.linear(t.source(size.rows, 4 * config.channels), width)
    text = _refined_text(t, size, config)
    temb = _conditioning(t, size, config, guidance=True, pooled=config.pooled_width)
    double = partial(_double, config=config, size=size)
    for layer in range(config.double_blocks):
        video, text = t.block(f"double{layer}", double, video, text, temb)
    single = partial(_single, config=config, size=size)
    for layer in range(config.single_blocks):
        video, text = t.block(f"single{layer}", single, video, text, temb)
    scale, shift = chunks(t, t.linear(t.activation(temb), 2 * width), 2)
    video = modulated(t, t.norm(video, affine=False), scale, shift)
    return t.linear(video, 4 * config.channels)


def _conditioning(t: Tape, size: Size, config: Hunyuan, *, guidance: bool, pooled: int) -> Tensor:
    temb = two_linear(t, t.source(size.clips, 256), config.hidden)
    temb = t.add(temb, two_linear(t, t.source(size.clips, pooled), config.hidden))
    if guidance:
        temb = t.add(temb, two_linear(t, t.source(size.clips, 256), config.hidden))
    return temb


def _refined_text(t: Tape, size: Size, config: Hunyuan) -> Tensor:
    temb = _conditioning(t, size, config, guidance=False, pooled=config.text_width)
    text = t.linear(t.source(size.text_rows, config.text_width), config.hidden)
    for _ in range(config.refiner_blocks):
        normed = t.norm(text)
        q, k, v = (t.linear(normed, config.hidden, attention=True) for _ in range(3))
        out = t.attention(q, k, v, heads=config.heads, clips=size.clips)
        out = t.linear(out, config.hidden, attention=True)
        gates = chunks(t, t.linear(t.activation(temb), 2 * config.hidden), 2)
        text = gated(t, text, out, gates[0])
        text = gated(t, text, feed_forward(t, t.norm(text), 4 * config.hidden), gates[1])
    return text


def _double(
    t: Tape, video: Tensor, text: Tensor, temb: Tensor, *, config: Hunyuan, size: Size
) -> tuple[Tensor, ...]:
    width = config.hidden
    parts = chunks(t, t.linear(t.activation(temb), 6 * width), 6)
    text_parts = chunks(t, t.linear(t.activation(temb), 6 * width), 6)
    attended, text_attended = _joint_attention(
        t,
        modulated(t, t.norm(video, affine=False), parts[0], parts[1]),
        modulated(t, t.norm(text, affine=False), text_parts[0], text_parts[1]),
        config=config,
        size=size,
    )
    video = gated(t, video, attended, parts[2])
    text = gated(t, text, text_attended, text_parts[2])
    del attended, text_attended
    normed = modulated(t, t.norm(video, affine=False), parts[3], parts[4])
    text_normed = modulated(t, t.norm(text, affine=False), text_parts[3], text_parts[4])
    fed, text_fed = (
        feed_forward(t, normed, 4 * width), feed_forward(t, text_normed, 4 * width)
    )  # fmt: skip
    del normed, text_normed
    return gated(t, video, fed, parts[5]), gated(t, text, text_fed, text_parts[5])


def _joint_attention(
    t: Tape, video: Tensor, text: Tensor, *, config: Hunyuan, size: Size
) -> tuple[Tensor, Tensor]:
    width, heads = config.hidden, config.heads
    q, k, v = (t.linear(video, width, attention=True) for _ in range(3))
    q, k = t.root_norm(q, heads=heads), t.root_norm(k, heads=heads)
    q, k = rotated(t, q), rotated(t, k)
    text_q, text_k, text_v = (t.linear(text, width) for _ in range(3))
    text_q, text_k = t.root_norm(text_q, heads=heads), t.root_norm(text_k, heads=heads)
    del video, text
    q, k, v = t.join([q, text_q]), t.join([k, text_k]), t.join([v, text_v])
    del text_q, text_k, text_v
    out = t.attention(q, k, v, heads=heads, clips=size.clips)
    del q, k, v
    return (
        t.linear(t.part(out, rows=size.rows), width, attention=True),
        t.linear(t.part(out, rows=size.text_rows), width),
    )


def _single(
    t: Tape, video: Tensor, text: Tensor, temb: Tensor, *, config: Hunyuan, size: Size
) -> tuple[Tensor, ...]:
    width, heads = config.hidden, config.heads
    both = t.join([video, text])
    del video, text
    shift, scale, gate = chunks(t, t.linear(t.activation(temb), 3 * width), 3)
    normed = modulated(t, t.norm(both, affine=False), scale, shift)
    inner = t.activation(t.linear(normed, 4 * width))
    joined = t.join([t.part(normed, rows=size.rows), t.part(normed, rows=size.text_rows)])
    del normed
    q, k, v = (t.linear(joined, width, attention=True) for _ in range(3))
    del joined
    q, k = t.root_norm(q, heads=heads), t.root_norm(k, heads=heads)
    q, k = _video_rotated(t, q, size), _video_rotated(t, k, size)
    out = t.attention(q, k, v, heads=heads, clips=size.clips)
    del q, k, v
    out = t.join([t.part(out, rows=size.rows), t.part(out, rows=size.text_rows)])
    inner = t.join([out, inner], channels=True)
    del out
    result = t.add(t.multiply(t.linear(inner, width), gate), both)
    return t.part(result, rows=size.rows), t.part(result, rows=size.text_rows)


def _video_rotated(t: Tape, x: Tensor, size: Size) -> Tensor:
    turned = rotated(t, t.part(x, rows=size.rows))
    return t.join([turned, t.part(x, rows=size.text_rows)])
