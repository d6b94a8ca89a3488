"""Look-up of a known model."""

from __future__ import annotations

import difflib

from filmgate.errors import UserError
from filmgate.plan.model import BlockGroup, Component, FramesRule, ModelFacts

_WAN_14B = ModelFacts(
    name="wan2.1-14b",
    title="Wan 2.1 14B",
    kind="diffusion-transformer",
    parameters=14_288_491_584,
    parameters_published=14_288_491_584,
    hidden=5120,
    layers=40,
    heads=40,
    ffn=13824,
    patch=(1, 2, 2),
    vae_stride=(4, 8, 8),
    latent_channels=16,
    text_tokens=512,
    text_width=4096,
    text_encoders=(Component(name="umT5-xxl encoder", parameters=5_680_910_336),),
    vae=Component(name="Wan 2.1 VAE", parameters=126_892_531),
    blocks=(BlockGroup(kind="wan", count=40, parameters=351_000_000),),
    frames_rule=FramesRule(multiple=4, remainder=1),
    size_multiple=16,
    native_shape=(81, 480, 832),
    native_fps=16.0,
    source="Wan-AI/Wan2.1-T2V-14B-Diffusers config.json, 2026-11-30",
)
_MODELS = {_WAN_14B.name: _WAN_14B}


def model_names() -> tuple[str, ...]:
    """Names that ``[plan] model`` takes."""
    return tuple(_MODELS)


def find_model(name: str) -> ModelFacts:
    """The facts of a known model. Raises UserError with the nearest name and all names."""
    if name in _MODELS:
        return _MODELS[name]
    nearest = difflib.get_close_matches(name.lower(), _MODELS, n=1, cutoff=0.4)
    raise UserError(
        f"unknown model {name!r}; known: {', '.join(_MODELS)}",
        hint=f"did you mean {nearest[0]}?" if nearest else "or name your own by [model] factory",
    )
