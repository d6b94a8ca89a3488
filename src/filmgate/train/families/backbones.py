"""The video transformers of diffusers behind one call.

B clips, T frames, C channels, H, W of the latents, P tokens of the text, D their width.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch
from torch import nn

from filmgate.train.families.library import library

LTX_FRAMES_PER_SECOND = 25
LTX_RATIOS = (8, 32, 32)
"""Frames and pixels to one latent; source: LTX-Video's autoencoder in diffusers."""
HUNYUAN_GUIDANCE = 1000.0
"""A guidance of 1, as the guidance embedding counts it."""


class Text(NamedTuple):
    """What a generator is told of a clip."""

    tokens_BPD: torch.Tensor
    is_token_BP: torch.Tensor
    """bool; False where a shorter text is filled up."""
    pooled_BD: torch.Tensor | None = None
    """One vector for all of it, where the family wants one."""


@dataclass(frozen=True, kw_only=True)
class Backbone:
    """One family of diffusers."""

    kind: str
    """Name of the transformer there."""
    objective: Literal["flow-matching", "v-prediction"]
    """What its published weights predict."""
    text_width: str
    """Key of its configuration that is D."""
    pooled_width: str | None = None
    """Key that is the width of the pooled text."""
    frame_rule: int | None = None
    """The autoencoder takes 1 more than a multiple of so many frames."""
    predict: Callable[[nn.Module, torch.Tensor, torch.Tensor, Text], torch.Tensor]
    """What the module says of noisy latents (B, T, C, H, W) at times (B,) with a text."""


def _wan(
    module: nn.Module, noisy_BTCHW: torch.Tensor, times_B: torch.Tensor, text: Text
) -> torch.Tensor:
    out_BCTHW: torch.Tensor = module(
        hidden_states=noisy_BTCHW.transpose(1, 2),
        timestep=times_B,
        encoder_hidden_states=text.tokens_BPD,
        return_dict=False,
    )[0]
    return out_BCTHW.transpose(1, 2)


def _ltx(
    module: nn.Module, noisy_BTCHW: torch.Tensor, times_B: torch.Tensor, text: Text
) -> torch.Tensor:
    frames, _, height, width = noisy_BTCHW.shape[1:]
    tokens_BNC = noisy_BTCHW.permute(0, 1, 3, 4, 2).flatten(1, 3)
    scale = (LTX_RATIOS[0] / LTX_FRAMES_PER_SECOND, *LTX_RATIOS[1:])
    out_BNC: torch.Tensor = module(
        hidden_states=tokens_BNC,
        encoder_hidden_states=text.tokens_BPD,
        timestep=times_B,
        encoder_attention_mask=text.is_token_BP,
        num_frames=frames,
        height=height,
        width=width,
        rope_interpolation_scale=scale,
        return_dict=False,
    )[0]
    out_BTHWC = out_BNC.reshape(len(out_BNC), frames, height, width, -1)
    return out_BTHWC.permute(0, 1, 4, 2, 3)


def _cogvideox(
    module: nn.Module, noisy_BTCHW: torch.Tensor, times_B: torch.Tensor, text: Text
) -> torch.Tensor:
    out_BTCHW: torch.Tensor = module(
        hidden_states=noisy_BTCHW,
        encoder_hidden_states=text.tokens_BPD,
        timestep=times_B,
        image_rotary_emb=_cogvideox_places(module, noisy_BTCHW),
        return_dict=False,
    )[0]
    return out_BTCHW


def _cogvideox_places(module: nn.Module, noisy_BTCHW: torch.Tensor) -> Any:
    """Rotary embeddings, as ``CogVideoXPipeline`` of diffusers makes them; None where the model
    adds its places by itself."""
    config: Any = module.config
    if not config.use_rotary_positional_embeddings:
        return None
    frames, _, height, width = noisy_BTCHW.shape[1:]
    patch, embeddings = config.patch_size, library("diffusers.models.embeddings")
    grid = (height // patch, width // patch)
    base = (config.sample_height // patch, config.sample_width // patch)
    regions = library("diffusers.pipelines.cogvideo.pipeline_cogvideox")
    where: dict[str, Any] = {"grid_type": "slice", "max_size": base}
    crops, time = (None, (frames + (config.patch_size_t or 1) - 1) // (config.patch_size_t or 1))
    if config.patch_size_t is None:
        crops = regions.get_resize_crop_region_for_grid(grid, base[1], base[0])
        where = {}
    return embeddings.get_3d_rotary_pos_embed(
        embed_dim=config.attention_head_dim, crops_coords=crops, grid_size=grid,
        temporal_size=time, device=noisy_BTCHW.device, **where,
    )  # fmt: skip


def _hunyuan(
    module: nn.Module, noisy_BTCHW: torch.Tensor, times_B: torch.Tensor, text: Text
) -> torch.Tensor:
    assert text.pooled_BD is not None
    config: Any = module.config
    guidance_B = torch.full_like(times_B, HUNYUAN_GUIDANCE) if config.guidance_embeds else None
    out_BCTHW: torch.Tensor = module(
        hidden_states=noisy_BTCHW.transpose(1, 2),
        timestep=times_B,
        encoder_hidden_states=text.tokens_BPD,
        encoder_attention_mask=text.is_token_BP,
        pooled_projections=text.pooled_BD,
        guidance=guidance_B,
        return_dict=False,
    )[0]
    return out_BCTHW.transpose(1, 2)


WAN = Backbone(
    kind="WanTransformer3DModel", objective="flow-matching", text_width="text_dim", predict=_wan,
    frame_rule=4,
)  # fmt: skip
LTX = Backbone(
    kind="LTXVideoTransformer3DModel", objective="flow-matching", text_width="caption_channels",
    predict=_ltx, frame_rule=8,
)  # fmt: skip
COGVIDEOX = Backbone(
    kind="CogVideoXTransformer3DModel", objective="v-prediction", text_width="text_embed_dim",
    predict=_cogvideox, frame_rule=4,
)  # fmt: skip
HUNYUAN = Backbone(
    kind="HunyuanVideoTransformer3DModel", objective="flow-matching", text_width="text_embed_dim",
    pooled_width="pooled_projection_dim", predict=_hunyuan, frame_rule=4,
)  # fmt: skip


def scratch_channels(config: Mapping[str, Any], pixels_per_latent: int) -> dict[str, Any]:
    """Channels of latents made of squares of RGB pixels, where the configuration names none."""
    channels = 3 * pixels_per_latent**2
    return {"in_channels": channels, "out_channels": channels} | dict(config)
