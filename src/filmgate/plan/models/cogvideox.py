"""CogVideoX. Source: diffusers 0.42.1, models/transformers/cogvideox_transformer_3d.py."""

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
class CogVideoX:
    """Configuration of a checkpoint."""

    hidden: int
    layers: int
    heads: int
    rope: bool
    patch_t: int | None = None
    time_width: int = 512
    text_width: int = 4096
    channels: int = 16


def program(config: CogVideoX) -> Program:
    """The forward pass."""
    return partial(_forward, config=config)


def _forward(t: Tape, size: Size, *, config: CogVideoX) -> Tensor:
    per_token = config.channels * 4 * (config.patch_t or 1)
    video = t.linear(t.source(size.rows, per_token), config.hidden)
    text = t.linear(t.source(size.text_rows, config.text_width), config.hidden)
    joined = t.join([text, video])
    video, text = t.part(joined, rows=size.rows), t.part(joined, rows=size.text_rows)
    del joined
    temb = two_linear(t, t.source(size.clips, config.hidden), config.time_width)
    block = partial(_block, config=config, size=size)
    for layer in range(config.layers):
        video, text = t.block(f"block{layer}", block, video, text, temb)
    joined = t.norm(t.join([text, video]))
    scale, shift = chunks(t, t.linear(t.activation(temb), 2 * config.hidden), 2)
    video = modulated(t, t.norm(t.part(joined, rows=size.rows)), scale, shift)
    return t.linear(video, per_token)


def _block(
    t: Tape, video: Tensor, text: Tensor, temb: Tensor, *, config: CogVideoX, size: Size
) -> tuple[Tensor, ...]:
    normed, gate, text_gate = _norm_zero(t, video, text, temb)
    attended = _attention(t, normed, config=config, size=size)
    del normed
    video = gated(t, video, t.part(attended, rows=size.rows), gate)
    text = gated(t, text, t.part(attended, rows=size.text_rows), text_gate)
    # attended stays to the end, as a local variable of the published code does
    normed, gate, text_gate = _norm_zero(t, video, text, temb)
    fed = feed_forward(t, normed, 4 * config.hidden)
    return (
        gated(t, video, t.part(fed, rows=size.rows), gate),
        gated(t, text, t.part(fed, rows=size.text_rows), text_gate),
    )


def _norm_zero(t: Tape, video: Tensor, text: Tensor, temb: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Normed and modulated text and video in one, and the gates of both."""
    parts = chunks(t, t.linear(t.activation(temb), 6 * video.width), 6)
    norm_video = modulated(t, t.norm(video), parts[0], parts[1])
    norm_text = modulated(t, t.norm(text), parts[3], parts[4])
    return t.join([norm_text, norm_video]), parts[2], parts[5]


def _attention(t: Tape, x: Tensor, *, config: CogVideoX, size: Size) -> Tensor:
    q, k, v = (t.linear(x, x.width, attention=True) for _ in range(3))
    q, k = t.norm(q, heads=config.heads), t.norm(k, heads=config.heads)
    if config.rope:
        q = t.overwrite(q, rotated(t, t.part(q, rows=size.rows)))
        k = t.overwrite(k, rotated(t, t.part(k, rows=size.rows)))
    out = t.attention(q, k, v, heads=config.heads, clips=size.clips)
    del q, k, v
    # The norms of q and k lay heads before tokens, and so does the result: putting it back copies.
    return t.linear(t.copy(out), out.width, attention=True)
