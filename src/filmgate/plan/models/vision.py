"""Classifiers of video: vision transformers and three-dimensional convolutions.

Sources: transformers 5.24, models videomae, timesformer and vivit; torchvision 0.28,
models/video/resnet.py (R(2+1)D); "SlowFast Networks for Video Recognition", arXiv 1812.03982,
table 1, and SlowFast's SLOWFAST_8x8_R50.yaml. With a head of 400 classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

from filmgate.plan.memory.graph import Tensor
from filmgate.plan.memory.tape import Tape
from filmgate.plan.models.program import Program, Size, fast_gelu

SOURCE = "transformers 5.24, torchvision 0.28, arXiv 1812.03982"
CLASSES = 400
"""Kinetics-400, what the published checkpoints were trained on."""


@dataclass(frozen=True, kw_only=True)
class Transformer:
    """Configuration of a checkpoint."""

    hidden: int
    layers: int
    heads: int
    patch: tuple[int, int, int]
    attention: Literal["joint", "divided"] = "joint"
    class_token: bool = False
    learned_positions: int = 0
    """Numbers of learned position embeddings; 0 for fixed ones."""
    head_norm: bool = True
    query_bias_only: bool = False
    """Keys have no bias, as in VideoMAE."""
    fast_gelu: bool = False
    """GELU is written out, as ``gelu_fast`` is."""


def transformer(config: Transformer) -> Program:
    """The forward pass."""
    return partial(_forward, config=config)


def _forward(t: Tape, size: Size, *, config: Transformer) -> Tensor:
    taps = 3 * config.patch[0] * config.patch[1] * config.patch[2]
    pixels = t.source(size.rows, taps)  # it stays, and so does what the first block is given
    x = t.linear(pixels, config.hidden)
    if config.class_token:
        t.weight(config.hidden)
        x = t.join([t.source(size.clips, config.hidden), x])
    if config.learned_positions:
        t.weight(config.learned_positions * config.hidden)
    embedded = x = t.copy(x)
    block = partial(_block, config=config, size=size)
    for layer in range(config.layers):
        (x,) = t.block(f"block{layer}", block, x)
    x = t.norm(t.reduce(x, size.clips)) if config.head_norm else t.reduce(t.norm(x), size.clips)
    del pixels, embedded
    return t.linear(x, CLASSES)


def _block(t: Tape, x: Tensor, *, config: Transformer, size: Size) -> tuple[Tensor, ...]:
    if config.attention == "divided":
        frames = size.latent[0] // config.patch[0]
        places = size.clips * size.tokens // frames // size.clips
        timed = _attention(t, t.norm(x), config, groups=size.clips * places)
        x = t.add(x, t.linear(timed, config.hidden))
        x = t.add(x, _attention(t, t.norm(x), config, groups=size.clips * frames))
    else:
        normed = t.norm(x)
        x = t.add(x, _attention(t, normed, config, groups=size.clips))
    inner = t.linear(t.norm(x), 4 * config.hidden)
    inner = fast_gelu(t, inner) if config.fast_gelu else t.activation(inner)
    return (t.add(x, t.linear(inner, config.hidden)),)


def _attention(t: Tape, x: Tensor, config: Transformer, *, groups: int) -> Tensor:
    width = config.hidden
    q = t.linear(x, width, attention=True)
    k = t.linear(x, width, bias=not config.query_bias_only, attention=True)
    v = t.linear(x, width, attention=True)
    attend = t.attention_by_products if config.attention == "divided" else t.attention
    out = attend(q, k, v, heads=config.heads, clips=groups)
    del q, k, v
    return t.linear(out, width, attention=True)


# -- convolutions


def r2plus1d_18() -> Program:
    """R(2+1)D with 18 layers."""
    return _r2plus1d


def _r2plus1d(t: Tape, size: Size) -> Tensor:
    frames, height, width = size.latent
    rows = size.clips * frames * -(-height // 2) * -(-width // 2)
    x = t.source(size.clips * frames * height * width, 3)
    x = t.relu(t.batch_norm(t.convolve(x, 45, 49, rows=rows, bias=False)))
    x = t.relu(t.batch_norm(t.convolve(x, 64, 3, bias=False)))
    for stage, channels in enumerate((64, 128, 256, 512)):
        for layer in range(2):
            shrink = 8 if stage and not layer else 1
            program = partial(_r2plus1d_block, channels=channels, shrink=shrink)
            (x,) = t.block(f"stage{stage}.{layer}", program, x)
    return t.linear(t.reduce(x, size.clips), CLASSES)


def _r2plus1d_block(t: Tape, x: Tensor, *, channels: int, shrink: int) -> tuple[Tensor, ...]:
    middle = x.width * channels * 27 // (x.width * 9 + 3 * channels)
    rows = -(-x.rows // shrink)
    y = t.relu(_split_convolution(t, x, channels, middle, rows, shrink))
    y = _split_convolution(t, y, channels, middle, rows, 1)
    if shrink > 1:
        x = t.batch_norm(t.convolve(x, channels, 1, rows=rows, bias=False))
    return (t.relu(t.add(x, y)),)


def _split_convolution(
    t: Tape, x: Tensor, channels: int, middle: int, rows: int, shrink: int
) -> Tensor:
    """In space (1 x 3 x 3), then in time (3 x 1 x 1), with a norm after each."""
    between = rows * 2 if shrink > 1 else rows
    y = t.relu(t.batch_norm(t.convolve(x, middle, 9, rows=between, bias=False)))
    return t.batch_norm(t.convolve(y, channels, 3, rows=rows, bias=False))


def slowfast_r50() -> Program:
    """SlowFast 8x8 with ResNet-50 paths: every fourth frame in the slow one, all in the fast."""
    return _slowfast


_ALPHA, _BETA, _FUSION_TAPS, _FUSION_RATIO = 4, 8, 7, 2
_DEPTHS = (3, 4, 6, 3)


def _slowfast(t: Tape, size: Size) -> Tensor:
    frames, height, width = size.latent
    places = -(-height // 2) * -(-width // 2)
    fast_frames, slow_frames = frames, max(1, frames // _ALPHA)
    slow = _stem(t, size.clips * slow_frames, height * width, places, 64, taps=49)
    fast = _stem(t, size.clips * fast_frames, height * width, places, 8, taps=5 * 49)
    slow = _fused(t, slow, fast)
    for stage, depth in enumerate(_DEPTHS):
        for layer in range(depth):
            out, shrink = 256 * 2**stage, 4 if stage and not layer else 1
            slow_taps = 3 if stage >= 2 else 1
            (slow,) = t.block(
                f"slow{stage}.{layer}",
                partial(_bottleneck, out=out, inner=out // 4, taps=slow_taps, shrink=shrink), slow,
            )  # fmt: skip
            (fast,) = t.block(
                f"fast{stage}.{layer}",
                partial(_bottleneck, out=out // _BETA, inner=out // 4 // _BETA, taps=3,
                        shrink=shrink), fast,
            )  # fmt: skip
        if stage < len(_DEPTHS) - 1:
            slow = _fused(t, slow, fast)
    joined = [t.reduce(slow, size.clips), t.reduce(fast, size.clips)]
    return t.linear(t.join(joined, channels=True), CLASSES)


def _stem(t: Tape, images: int, pixels: int, places: int, width: int, *, taps: int) -> Tensor:
    x = t.convolve(t.source(images * pixels, 3), width, taps, rows=images * places, bias=False)
    return t.reduce(t.relu(t.batch_norm(x)), images * -(-places // 4))


def _fused(t: Tape, slow: Tensor, fast: Tensor) -> Tensor:
    """The fast path's channels, strided in time, beside the slow path's."""
    lateral = t.convolve(fast, _FUSION_RATIO * fast.width, _FUSION_TAPS, rows=slow.rows, bias=False)
    return t.join([slow, t.relu(t.batch_norm(lateral))], channels=True)


def _bottleneck(
    t: Tape, x: Tensor, *, out: int, inner: int, taps: int, shrink: int
) -> tuple[Tensor, ...]:
    rows = -(-x.rows // shrink)
    y = t.relu(t.batch_norm(t.convolve(x, inner, taps, bias=False)))
    y = t.relu(t.batch_norm(t.convolve(y, inner, 9, rows=rows, bias=False)))
    y = t.batch_norm(t.convolve(y, out, 1, bias=False))
    if x.width != out or shrink > 1:
        x = t.batch_norm(t.convolve(x, out, 1, rows=rows, bias=False))
    return (t.relu(t.add(x, y)),)
