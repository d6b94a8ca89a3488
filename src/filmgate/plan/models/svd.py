"""Stable Video Diffusion's UNet.

Source: diffusers 0.42.1, models/unets/unet_spatio_temporal_condition.py and what it is made of.

Rows are clips x frames x places of the feature map.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from filmgate.plan.memory.graph import Tensor
from filmgate.plan.memory.tape import Tape
from filmgate.plan.models.program import Program, Size, gated_feed_forward, two_linear


@dataclass(frozen=True, kw_only=True)
class Svd:
    """Configuration of the checkpoint."""

    widths: tuple[int, ...] = (320, 640, 1280, 1280)
    heads: tuple[int, ...] = (5, 10, 20, 20)
    layers: int = 2
    channels_in: int = 8
    channels_out: int = 4
    image_width: int = 1024
    time_width: int = 1280


@dataclass(frozen=True, kw_only=True)
class _Level:
    """Where in the UNet a block stands."""

    width: int
    heads: int
    clips: int
    frames: int
    places: int
    image_width: int

    @property
    def rows(self) -> int:
        """Places of all feature maps."""
        return self.clips * self.frames * self.places


def program(config: Svd) -> Program:
    """The forward pass."""
    return partial(_forward, config=config)


def _forward(t: Tape, size: Size, *, config: Svd) -> Tensor:
    frames, height, width = size.latent
    levels = [
        _Level(
            width=config.widths[i], heads=config.heads[i], clips=size.clips, frames=frames,
            places=-(-height // 2**i) * -(-width // 2**i), image_width=config.image_width,
        )
        for i in range(len(config.widths))
    ]  # fmt: skip
    images = size.clips * frames
    temb = two_linear(t, t.source(images, config.widths[0]), config.time_width)
    temb = t.add(temb, two_linear(t, t.source(images, 3 * 256), config.time_width))
    image = t.source(images, config.image_width)
    x = t.convolve(t.source(levels[0].rows, config.channels_in), config.widths[0], 9)
    skips = [x]
    for i, level in enumerate(levels):
        x = _down(t, x, temb, image, skips, level, config, index=i)
    x = _mid(t, x, temb, image, levels[-1])
    for i, level in enumerate(reversed(levels)):
        x = _up(t, x, temb, image, skips, level, config, index=i)
    x = t.activation(t.norm(x))
    return t.convolve(x, config.channels_out, 9)


def _down(
    t: Tape, x: Tensor, temb: Tensor, image: Tensor, skips: list[Tensor], level: _Level,
    config: Svd, *, index: int,
) -> Tensor:  # fmt: skip
    last = index == len(config.widths) - 1
    for layer in range(config.layers):
        (x,) = t.block(f"down{index}.{layer}", partial(_resnet, level=level), x, temb)
        if not last:
            x = _transformer(t, x, image, f"down{index}.{layer}t", level)
        skips.append(x)
    if not last:
        below = level.clips * level.frames * -(-level.places // 4)
        x = t.convolve(x, level.width, 9, rows=below)
        skips.append(x)
    return x


def _mid(t: Tape, x: Tensor, temb: Tensor, image: Tensor, level: _Level) -> Tensor:
    (x,) = t.block("mid0", partial(_resnet, level=level), x, temb)
    x = _transformer(t, x, image, "mid0t", level)
    (x,) = t.block("mid1", partial(_resnet, level=level), x, temb)
    return x


def _up(
    t: Tape, x: Tensor, temb: Tensor, image: Tensor, skips: list[Tensor], level: _Level,
    config: Svd, *, index: int,
) -> Tensor:  # fmt: skip
    for layer in range(config.layers + 1):
        joined = t.join([x, skips.pop()], channels=True)
        (x,) = t.block(f"up{index}.{layer}", partial(_resnet, level=level), joined, temb)
        del joined
        if index > 0:
            x = _transformer(t, x, image, f"up{index}.{layer}t", level)
    if index < len(config.widths) - 1:
        rows = skips[-1].rows
        x = t.convolve(t.reduce(x, rows), level.width, 9)
    return x


def _resnet(t: Tape, x: Tensor, temb: Tensor, *, level: _Level) -> tuple[Tensor, ...]:
    """A spatial and a temporal residual block, blended by one learned number."""
    spatial = _residual(t, x, temb, level.width, kernel=9)
    temporal = _residual(t, spatial, temb, level.width, kernel=3)
    return (_blend(t, spatial, temporal),)


def _residual(t: Tape, x: Tensor, temb: Tensor, width: int, *, kernel: int) -> Tensor:
    y = t.convolve(t.activation(t.norm(x)), width, kernel)
    y = t.add(y, t.linear(t.activation(temb), width))
    y = t.convolve(t.activation(t.norm(y)), width, kernel)
    if x.width != width:
        x = t.convolve(x, width, 1)
    return t.add(x, y)


def _blend(t: Tape, spatial: Tensor, temporal: Tensor) -> Tensor:
    mix = t.parameter(1)
    return t.add(t.multiply(spatial, mix), t.multiply(temporal, mix))


def _transformer(t: Tape, x: Tensor, image: Tensor, scope: str, level: _Level) -> Tensor:
    """Attention in space, which checkpointing computes again, and in time, which it keeps."""
    (x,) = t.unit(scope, partial(_both_transformers, scope=scope, level=level), x, image)
    return x


def _both_transformers(
    t: Tape, x: Tensor, image: Tensor, *, scope: str, level: _Level
) -> tuple[Tensor, ...]:
    residual, width = x, level.width
    x = t.linear(t.norm(x), width)
    position = t.linear(t.activation(t.linear(t.source(level.frames, width), 4 * width)), width)
    (spatial,) = t.block(f"{scope}s", partial(_spatial, level=level), x, image)
    images, places = level.clips * level.frames, level.clips * level.places
    mixed = t.add(spatial, position)
    mixed = t.add(mixed, gated_feed_forward(t, t.norm(mixed), 4 * width))
    mixed = _attended(t, mixed, None, level, groups=places)
    mixed = _attended(t, mixed, image, level, groups=images)
    mixed = t.add(mixed, gated_feed_forward(t, t.norm(mixed), 4 * width))
    return (t.add(t.linear(_blend(t, spatial, mixed), width), residual),)


def _spatial(t: Tape, x: Tensor, image: Tensor, *, level: _Level) -> tuple[Tensor, ...]:
    images = level.clips * level.frames
    x = _attended(t, x, None, level, groups=images)
    x = _attended(t, x, image, level, groups=images)
    return (t.add(x, gated_feed_forward(t, t.norm(x), 4 * level.width)),)


def _attended(t: Tape, x: Tensor, source: Tensor | None, level: _Level, *, groups: int) -> Tensor:
    normed = t.norm(x)
    source = normed if source is None else source
    q = t.linear(normed, level.width, bias=False, attention=True)
    k, v = (t.linear(source, level.width, bias=False, attention=True) for _ in range(2))
    out = t.attention(q, k, v, heads=level.heads, clips=groups)
    del q, k, v
    return t.add(x, t.linear(out, level.width, attention=True))
