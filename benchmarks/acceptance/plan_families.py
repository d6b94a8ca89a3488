"""Formulas of the known models against their published code, which is traced at the same size.

A few layers of the published width each; diffusers and transformers are needed. Compared is what
stands above the weights, in float32 for training and bfloat16 for generating, since autocast on
the CPU casts other operations than on a GPU.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from filmgate.plan.memory.ledger import Kind
from filmgate.plan.memory.setup import Setup, setup_of
from filmgate.plan.memory.simulate import simulate
from filmgate.plan.models import cogvideox, hunyuan, ltx, mochi, svd, vision, wan
from filmgate.plan.models.program import Program, Size
from filmgate.plan.request import PlanRequest
from filmgate.train.one_kernel import one_kernel
from filmgate.train.trace import LiveStorages, add_adapters

USES = (
    ("full", "fp32", "none"), ("full", "fp32", "block"), ("lora", "fp32", "none"),
    ("lora", "fp32", "block"), ("generate", "bf16", "none"),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Family:
    """One model's code and its formulas at one size."""

    module: str
    """Where the code is, below the package; and the class."""
    config: dict[str, Any]
    inputs: dict[str, tuple[int, ...] | Any]
    """Shapes of tensors; what is no tuple is handed on as it is."""
    program: Program
    size: Size
    fake: bool = True
    """False where shapes depend on values: the step is then computed, in a small model."""
    config_class: str = ""


def _size(latent: tuple[int, int, int], patch: int, text: int) -> Size:
    frames, height, width = latent
    tokens = frames * (height // patch) * (width // patch)
    return Size(clips=1, latent=latent, tokens=tokens, text_tokens=text)


_DIFFUSERS = "diffusers.models.transformers."
FAMILIES = {
    "Wan": Family(
        module=f"{_DIFFUSERS}transformer_wan:WanTransformer3DModel",
        config={"num_attention_heads": 12, "ffn_dim": 8960, "num_layers": 3},
        inputs={"hidden_states": (1, 16, 9, 60, 104), "timestep": (1,),
                "encoder_hidden_states": (1, 512, 4096)},
        program=wan.program(wan.Wan(hidden=1536, layers=3, heads=12, ffn=8960)),
        size=_size((9, 60, 104), 2, 512),
    ),
    "LTX-Video": Family(
        module=f"{_DIFFUSERS}transformer_ltx:LTXVideoTransformer3DModel",
        config={"num_layers": 3},
        inputs={"hidden_states": (1, 5632, 128), "encoder_hidden_states": (1, 128, 4096),
                "timestep": (1,), "encoder_attention_mask": (1, 128), "num_frames": 16,
                "height": 16, "width": 22, "rope_interpolation_scale": [1, 32, 32]},
        program=ltx.program(ltx.Ltx(hidden=2048, layers=3)), size=_size((16, 16, 22), 1, 128),
    ),
    "HunyuanVideo": Family(
        module=f"{_DIFFUSERS}transformer_hunyuan_video:HunyuanVideoTransformer3DModel",
        config={"num_layers": 4, "num_single_layers": 6},
        inputs={"hidden_states": (1, 16, 5, 60, 104), "timestep": (1,), "guidance": (1,),
                "encoder_hidden_states": (1, 256, 4096), "encoder_attention_mask": (1, 256),
                "pooled_projections": (1, 768)},
        program=hunyuan.program(hunyuan.Hunyuan(double_blocks=4, single_blocks=6)),
        size=_size((5, 60, 104), 2, 256),
    ),
    "CogVideoX": Family(
        module=f"{_DIFFUSERS}cogvideox_transformer_3d:CogVideoXTransformer3DModel",
        config={"num_layers": 3},
        inputs={"hidden_states": (1, 13, 16, 60, 90), "timestep": (1,),
                "encoder_hidden_states": (1, 226, 4096)},
        program=cogvideox.program(
            cogvideox.CogVideoX(hidden=1920, layers=3, heads=30, rope=False)
        ), size=_size((13, 60, 90), 2, 226),
    ),
    "Mochi": Family(
        module=f"{_DIFFUSERS}transformer_mochi:MochiTransformer3DModel",
        config={"num_layers": 3, "num_attention_heads": 4, "attention_head_dim": 64,
                "pooled_projection_dim": 128, "text_embed_dim": 512, "time_embed_dim": 64},
        inputs={"hidden_states": (1, 12, 6, 30, 52), "timestep": (1,),
                "encoder_hidden_states": (1, 256, 512), "encoder_attention_mask": (1, 256)},
        program=mochi.program(
            mochi.Mochi(hidden=256, text_hidden=128, layers=3, heads=4, text_width=512)
        ), size=_size((6, 30, 52), 2, 256), fake=False,
    ),
    "Stable Video Diffusion": Family(
        module="diffusers.models.unets.unet_spatio_temporal_condition:"
               "UNetSpatioTemporalConditionModel",
        config={"num_attention_heads": (5, 10, 20, 20)},
        inputs={"sample": (1, 14, 8, 72, 128), "timestep": (1,),
                "encoder_hidden_states": (1, 1, 1024), "added_time_ids": (1, 3)},
        program=svd.program(svd.Svd()), size=_size((14, 72, 128), 1, 1),
    ),
    "VideoMAE": Family(
        module="transformers:VideoMAEForVideoClassification", config_class="VideoMAEConfig",
        config={"num_labels": 400, "num_hidden_layers": 4},
        inputs={"pixel_values": (8, 16, 3, 224, 224)},
        program=vision.transformer(vision.Transformer(
            hidden=768, layers=4, heads=12, patch=(2, 16, 16), query_bias_only=True
        )), size=Size(clips=8, latent=(16, 224, 224), tokens=1568, text_tokens=0),
    ),
    "ViViT": Family(
        module="transformers:VivitForVideoClassification", config_class="VivitConfig",
        config={"num_labels": 400, "num_hidden_layers": 4},
        inputs={"pixel_values": (4, 32, 3, 224, 224)},
        program=vision.transformer(vision.Transformer(
            hidden=768, layers=4, heads=12, patch=(2, 16, 16), class_token=True,
            learned_positions=3137, head_norm=False, fast_gelu=True
        )), size=Size(clips=4, latent=(32, 224, 224), tokens=3136, text_tokens=0),
    ),
    "TimeSformer": Family(
        module="transformers:TimesformerForVideoClassification",
        config_class="TimesformerConfig",
        config={"num_labels": 400, "num_hidden_layers": 3, "image_size": 112,
                "hidden_size": 192, "intermediate_size": 768, "num_attention_heads": 3},
        inputs={"pixel_values": (4, 8, 3, 112, 112)},
        program=vision.transformer(vision.Transformer(
            hidden=192, layers=3, heads=3, patch=(1, 16, 16), attention="divided",
            class_token=True, head_norm=False, learned_positions=58
        )), size=Size(clips=4, latent=(8, 112, 112), tokens=392, text_tokens=0), fake=False,
    ),
}  # fmt: skip


def differences(family: Family) -> Iterator[tuple[str, float]]:
    """(use, formula over traced bytes above the weights, less 1)."""
    for mode, precision, checkpointing in USES:
        request = PlanRequest(
            model="own:model", mode=mode, lora_rank=16, lora_targets="all-linear",  # type: ignore[arg-type]
            frames=1, height=1, width=1, precision=precision, checkpointing=checkpointing,  # type: ignore[arg-type]
        )  # fmt: skip
        setup = replace(setup_of(request), state_bytes=0.0, step_bytes=0.0)
        found = simulate(family.program, family.size, setup, allocator=False)
        traced = above_weights(family, setup)
        yield f"{mode}, {checkpointing}", (found.peak_bytes - found.static_bytes) / traced - 1


def above_weights(family: Family, setup: Setup) -> int:
    """Peak of one step of the published code, without its weights and buffers."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32 if setup.trains else torch.bfloat16)
    try:
        with ExitStack() as stack:
            if family.fake:
                stack.enter_context(FakeTensorMode(allow_non_fake_inputs=True))
            model = _built(family, setup)
            live = LiveStorages()
            for tensor in [*model.parameters(), *model.buffers()]:
                live.count(tensor, Kind.WEIGHTS)
            static = sum(live.live)
            stack.enter_context(live)
            stack.enter_context(one_kernel())
            _step(model, family, setup)
            return live.peak - static
    finally:
        torch.set_default_dtype(before)


def _built(family: Family, setup: Setup) -> Any:
    place, _, name = family.module.partition(":")
    module = importlib.import_module(place)
    if family.config_class:
        config = getattr(module, family.config_class)(**family.config)
        model: nn.Module = getattr(module, name)(config)
    else:
        model = getattr(module, name)(**family.config)
    if setup.numerics.adapter_rank:
        add_adapters(model, setup.numerics.adapter_rank)
    if setup.numerics.checkpointing != "none":
        _checkpoint(model)
    return model.train(setup.trains)


def _checkpoint(model: Any) -> None:
    if hasattr(model, "enable_gradient_checkpointing"):
        model.enable_gradient_checkpointing()
    else:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})


def _step(model: Callable[..., Any], family: Family, setup: Setup) -> None:
    inputs = {
        name: torch.ones(given) if isinstance(given, tuple) else given
        for name, given in family.inputs.items()
    }
    with torch.set_grad_enabled(setup.trains):
        answer = model(**inputs)
        prediction = answer.logits if hasattr(answer, "logits") else answer[0]
        del answer, inputs
        if setup.trains:
            loss = prediction.float().pow(2).mean()
            del prediction
            loss.backward()
