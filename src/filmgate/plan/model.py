"""What a video model is made of, and the arithmetic that follows: tokens and FLOPs.

Letters: s video tokens, t text tokens, d hidden width, L blocks.
"""

from __future__ import annotations

from typing import Literal

from filmgate.errors import UserError
from filmgate.plan.request import PlanRequest
from filmgate.records import Record


class Component(Record, frozen=True):
    """A model of the pipeline beside the backbone: a text encoder, a VAE."""

    name: str
    """What it is, for example ``T5-xxl encoder``."""
    parameters: int
    """Weights."""
    width: int | None = None
    """Of a VAE: channels of its feature maps at full resolution; None where not a VAE."""
    frames_at_once: int | None = None
    """Of a VAE: pixel frames that it works on together; None where it takes the whole clip."""


class BlockGroup(Record, frozen=True):
    """Blocks of one kind that follow each other."""

    kind: str
    """Name of the block's program in ``filmgate.plan.models``."""
    count: int
    """How many."""
    parameters: int
    """Weights of one."""


class FramesRule(Record, frozen=True):
    """Frame counts that the model takes: ``multiple * k + remainder``, from least to most."""

    multiple: int = 1
    """Step from one allowed count to the next."""
    remainder: int = 0
    """Frames beside the multiples: 1 where a VAE takes the first frame by itself."""
    least: int = 1
    """Lowest count."""
    most: int | None = None
    """Highest count; None where nothing in the model ends it."""


class ModelFacts(Record, frozen=True, kw_only=True):
    """One model, as its published configuration describes it."""

    name: str
    """What ``[plan] model`` says."""
    title: str
    """As its makers write it."""
    kind: Literal["diffusion-transformer", "unet", "classifier"]
    """Which of the known kinds it is."""
    parameters: int
    """Weights of the backbone that is trained, derived block by block."""
    parameters_published: int | None
    """Weights by the published checkpoint or paper; None where nobody says."""
    hidden: int
    """Width of a token (d); for a convolutional network the widest stage."""
    layers: int
    """Blocks (L)."""
    heads: int
    """Attention heads; 0 without attention."""
    ffn: int
    """Inner width of the feed-forward layers."""
    patch: tuple[int, int, int]
    """Latent (or pixel) frames, rows, columns of one token."""
    vae_stride: tuple[int, int, int] | None = None
    """Pixels per latent in time, height, width; None for models that take pixels."""
    latent_channels: int | None = None
    """Channels of the latent; None for models that take pixels."""
    text_tokens: int = 0
    """Text tokens that go with each clip; 0 without text."""
    text_width: int = 0
    """Width of a text embedding."""
    text_encoders: tuple[Component, ...] = ()
    """Text (or image) encoders of the pipeline."""
    vae: Component | None = None
    """Encoder and decoder between pixels and latents."""
    backbones: int = 1
    """Models of this size of which one works at a time: 2 for a pair of experts."""
    blocks: tuple[BlockGroup, ...]
    """What the backbone is a stack of."""
    native_forward_flops: float | None = None
    """Floating-point operations of one forward pass of one clip in ``native_shape``; None where
    the model was not run through."""
    frames_rule: FramesRule = FramesRule()
    """Frame counts it takes."""
    size_multiple: int = 1
    """Height and width have to be multiples of it."""
    native_shape: tuple[int, int, int]
    """Frames, height and width that it was made for."""
    native_fps: float | None = None
    """Frames per second that it was made for; None where it does not matter."""
    source: str
    """Where the configuration comes from, and when it was read."""


def check_shape(facts: ModelFacts, frames: int, height: int, width: int) -> None:
    """Raise UserError where the model cannot take this shape; names the nearest allowed."""
    rule = facts.frames_rule
    fits = (frames - rule.remainder) % rule.multiple == 0
    if not fits or frames < rule.least or (rule.most is not None and frames > rule.most):
        raise UserError(
            f"{facts.title} cannot take {frames} frames; allowed: {_allowed_frames(rule)}",
            hint=f"take {_nearest_frames(rule, frames)} frames",
        )
    for name, pixels in (("height", height), ("width", width)):
        if pixels < facts.size_multiple or pixels % facts.size_multiple:
            nearest = max(1, round(pixels / facts.size_multiple)) * facts.size_multiple
            raise UserError(
                f"{facts.title} cannot take a {name} of {pixels}; allowed: multiples of "
                f"{facts.size_multiple}",
                hint=f"take {nearest}",
            )


def latent_shape(facts: ModelFacts, frames: int, height: int, width: int) -> tuple[int, int, int]:
    """Latent frames, rows, columns; the pixels themselves for a model without a VAE."""
    if facts.vae_stride is None:
        return frames, height, width
    t, h, w = facts.vae_stride
    return (frames - 1) // t + 1, height // h, width // w


def tokens(facts: ModelFacts, frames: int, height: int, width: int) -> int:
    """Video tokens (s) of one clip; text tokens are not in it.

    Source: ``T = (F-1)//ct + 1; s = ceil(T/pt) * (H//(cs*p)) * (W//(cs*p))`` of each model's code.
    """
    latent = latent_shape(facts, frames, height, width)
    count = 1
    for size, patch in zip(latent, facts.patch, strict=True):
        count *= -(-size // patch)
    return count


def flops_per_step(facts: ModelFacts, request: PlanRequest) -> float:
    """Floating-point operations of one optimizer step on one GPU, all accumulated passes.

    Source: forward ``2 P s + 4 L s^2 d`` a clip, or for a model that is no transformer over all
    tokens its layers added up; backward twice the linear part (once for frozen weights) and 2.5
    times the attention; block checkpointing one forward more. Known error: norms, activations and
    embeddings are left out, under 2 % from d = 1000 on.
    """
    s = tokens(facts, request.frames, request.height, request.width)
    if facts.kind == "diffusion-transformer" or facts.native_forward_flops is None:
        s += facts.text_tokens
        linear = 2.0 * facts.parameters * s
        attention = 4.0 * facts.layers * s * s * facts.hidden
    else:
        linear = facts.native_forward_flops * s / tokens(facts, *facts.native_shape)
        attention = 0.0
    forward = linear + attention
    clips = request.batch * request.accumulation
    if request.mode == "generate":
        return clips * forward
    backward = (1.0 if request.mode == "lora" else 2.0) * linear + 2.5 * attention
    again = forward if request.checkpointing == "block" else 0.0
    return clips * (forward + backward + again)


def _allowed_frames(rule: FramesRule) -> str:
    if rule.most == rule.least:
        return str(rule.least)
    upper = "" if rule.most is None else f" to {rule.most}"
    if rule.multiple == 1:
        return f"{rule.least}{upper or ' and more'}"
    rest = f" + {rule.remainder}" if rule.remainder else ""
    first = [str(rule.least + rule.multiple * step) for step in range(3)]
    return f"{rule.multiple} k{rest}: {', '.join(first)}, ...{upper}"


def _nearest_frames(rule: FramesRule, frames: int) -> int:
    step = max(0, round((frames - rule.remainder) / rule.multiple))
    nearest = max(rule.least, step * rule.multiple + rule.remainder)
    return nearest if rule.most is None else min(nearest, rule.most)
