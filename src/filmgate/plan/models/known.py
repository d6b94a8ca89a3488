"""The configurations of the known models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from filmgate.plan.model import Component, FramesRule
from filmgate.plan.models import cogvideox, hunyuan, ltx, mochi, svd, vision, wan
from filmgate.plan.models.program import Program

_READ = "read 2026-11-30"
_DIFFUSERS = f"diffusers 0.42.1 and the checkpoint's config.json, {_READ}"

_T5 = Component(name="T5-xxl encoder", parameters=4_762_310_656)
_UMT5 = Component(name="umT5-xxl encoder", parameters=5_680_910_336)
_LLAMA = Component(name="Llama-3 8B", parameters=7_505_186_816)
_CLIP = Component(name="CLIP-L text encoder", parameters=123_060_480)
_CLIP_IMAGE = Component(name="CLIP-H image encoder", parameters=632_076_800)


def _vae(parameters: int, width: int, frames: int | None) -> Component:
    return Component(name="VAE", parameters=parameters, width=width, frames_at_once=frames)


@dataclass(frozen=True, kw_only=True)
class Known:
    """One model: its program and what no program tells."""

    title: str
    program: Program
    facts: dict[str, Any]
    """Fields of ModelFacts."""


_LATENT_4_8 = {"vae_stride": (4, 8, 8), "latent_channels": 16, "size_multiple": 16}
_FOUR_K_PLUS_1 = FramesRule(multiple=4, remainder=1)


def _wan(title: str, published: int, config: wan.Wan, **facts: Any) -> Known:
    shared = _LATENT_4_8 | {
        "kind": "diffusion-transformer", "parameters_published": published,
        "hidden": config.hidden, "layers": config.layers, "heads": config.heads,
        "ffn": config.ffn, "patch": (1, 2, 2), "text_tokens": 512, "text_width": 4096,
        "text_encoders": (_UMT5,), "vae": _vae(126_892_531, 96, 4),
        "frames_rule": _FOUR_K_PLUS_1, "native_shape": (81, 480, 832), "native_fps": 16.0,
        "source": _DIFFUSERS,
    }  # fmt: skip
    return Known(title=title, program=wan.program(config), facts=shared | facts)


def _cogvideox(title: str, published: int, config: cogvideox.CogVideoX, **facts: Any) -> Known:
    shared = _LATENT_4_8 | {
        "kind": "diffusion-transformer", "parameters_published": published,
        "hidden": config.hidden, "layers": config.layers, "heads": config.heads,
        "ffn": 4 * config.hidden, "patch": (config.patch_t or 1, 2, 2), "text_tokens": 226,
        "text_width": 4096, "text_encoders": (_T5,), "vae": _vae(215_583_907, 128, 8),
        "frames_rule": _FOUR_K_PLUS_1, "native_shape": (49, 480, 720), "native_fps": 8.0,
        "source": _DIFFUSERS,
    }  # fmt: skip
    return Known(title=title, program=cogvideox.program(config), facts=shared | facts)


def _ltx(title: str, published: int, config: ltx.Ltx) -> Known:
    facts = {
        "kind": "diffusion-transformer", "parameters_published": published,
        "hidden": config.hidden, "layers": config.layers, "heads": config.heads,
        "ffn": 4 * config.hidden, "patch": (1, 1, 1), "vae_stride": (8, 32, 32),
        "latent_channels": 128, "text_tokens": 128, "text_width": 4096,
        "text_encoders": (_T5,), "vae": _vae(419_193_649, 128, None), "size_multiple": 32,
        "frames_rule": FramesRule(multiple=8, remainder=1), "native_shape": (121, 512, 704),
        "native_fps": 24.0, "source": _DIFFUSERS,
    }  # fmt: skip
    return Known(title=title, program=ltx.program(config), facts=facts)


def _classifier(
    title: str, published: int, program: Program, shape: tuple[int, int, int], **facts: Any
) -> Known:
    shared = {
        "kind": "classifier", "parameters_published": published, "native_shape": shape,
        "patch": (1, 1, 1), "heads": 0, "ffn": 0, "source": f"{vision.SOURCE}, {_READ}",
    }  # fmt: skip
    return Known(title=title, program=program, facts=shared | facts)


def _vision(
    title: str, published: int, config: vision.Transformer, shape: tuple[int, int, int]
) -> Known:
    return _classifier(
        title, published, vision.transformer(config), shape, hidden=config.hidden,
        layers=config.layers, heads=config.heads, ffn=4 * config.hidden, patch=config.patch,
        frames_rule=FramesRule(multiple=config.patch[0], least=config.patch[0]),
        size_multiple=config.patch[1],
    )  # fmt: skip


_HUNYUAN = hunyuan.Hunyuan()
_MOCHI = mochi.Mochi()
_SVD = svd.Svd()
_WAN_14B = wan.Wan(hidden=5120, layers=40, heads=40, ffn=13824)

KNOWN: dict[str, Known] = {
    "wan2.1-1.3b": _wan(
        "Wan 2.1 1.3B", 1_419_000_000, wan.Wan(hidden=1536, layers=30, heads=12, ffn=8960)
    ),
    "wan2.1-14b": _wan("Wan 2.1 14B", 14_288_000_000, _WAN_14B),
    "wan2.2-ti2v-5b": _wan(
        "Wan 2.2 TI2V 5B", 5_000_000_000,
        wan.Wan(hidden=3072, layers=30, heads=24, ffn=14336, channels=48),
        vae_stride=(4, 16, 16), latent_channels=48, size_multiple=32,
        vae=_vae(704_688_668, 256, 4), native_shape=(121, 704, 1280), native_fps=24.0,
    ),
    "wan2.2-a14b": _wan("Wan 2.2 A14B", 14_288_000_000, _WAN_14B, backbones=2),
    "hunyuanvideo": Known(
        title="HunyuanVideo",
        program=hunyuan.program(_HUNYUAN),
        facts=_LATENT_4_8 | {
            "kind": "diffusion-transformer", "parameters_published": 12_820_000_000,
            "hidden": 3072, "layers": 60, "heads": 24, "ffn": 12288, "patch": (1, 2, 2),
            "text_tokens": 256, "text_width": 4096, "text_encoders": (_LLAMA, _CLIP),
            "vae": _vae(246_478_803, 128, 16), "frames_rule": _FOUR_K_PLUS_1,
            "native_shape": (129, 720, 1280), "native_fps": 24.0, "source": _DIFFUSERS,
        },
    ),
    "cogvideox-2b": _cogvideox(
        "CogVideoX 2B", 1_694_000_000,
        cogvideox.CogVideoX(hidden=1920, layers=30, heads=30, rope=False),
    ),
    "cogvideox-5b": _cogvideox(
        "CogVideoX 5B", 5_570_000_000,
        cogvideox.CogVideoX(hidden=3072, layers=42, heads=48, rope=True),
    ),
    "cogvideox1.5-5b": _cogvideox(
        "CogVideoX 1.5 5B", 5_570_000_000,
        cogvideox.CogVideoX(hidden=3072, layers=42, heads=48, rope=True, patch_t=2),
        native_shape=(81, 768, 1360), native_fps=16.0,
    ),
    "ltx-video-2b": _ltx("LTX-Video 2B", 1_923_000_000, ltx.Ltx(hidden=2048, layers=28)),
    "ltx-video-13b": _ltx("LTX-Video 13B", 13_040_000_000, ltx.Ltx(hidden=4096, layers=48)),
    "mochi-1": Known(
        title="Mochi 1",
        program=mochi.program(_MOCHI),
        facts={
            "kind": "diffusion-transformer", "parameters_published": 10_030_000_000,
            "hidden": 3072, "layers": 48, "heads": 24, "ffn": 8192, "patch": (1, 2, 2),
            "vae_stride": (6, 8, 8), "latent_channels": 12, "text_tokens": 256,
            "text_width": 4096, "text_encoders": (_T5,), "vae": _vae(459_748_611, 128, 12),
            "frames_rule": FramesRule(multiple=6, remainder=1), "size_multiple": 16,
            "native_shape": (163, 480, 848), "native_fps": 30.0, "source": _DIFFUSERS,
        },
    ),
    "svd": Known(
        title="Stable Video Diffusion",
        program=svd.program(_SVD),
        facts={
            "kind": "unet", "parameters_published": 1_525_000_000, "hidden": 1280, "layers": 22,
            "heads": 20, "ffn": 5120, "patch": (1, 1, 1), "vae_stride": (1, 8, 8),
            "latent_channels": 4, "text_tokens": 1, "text_width": 1024,
            "text_encoders": (_CLIP_IMAGE,), "vae": _vae(97_742_847, 128, 14),
            "frames_rule": FramesRule(most=25), "size_multiple": 64,
            "native_shape": (25, 576, 1024), "native_fps": 7.0, "source": _DIFFUSERS,
        },
    ),
    "videomae-base": _vision(
        "VideoMAE base", 86_534_800,
        vision.Transformer(hidden=768, layers=12, heads=12, patch=(2, 16, 16),
                           query_bias_only=True), (16, 224, 224),
    ),
    "videomae-large": _vision(
        "VideoMAE large", 304_000_000,
        vision.Transformer(hidden=1024, layers=24, heads=16, patch=(2, 16, 16),
                           query_bias_only=True), (16, 224, 224),
    ),
    "timesformer-base": _vision(
        "TimeSformer base", 121_566_352,
        vision.Transformer(hidden=768, layers=12, heads=12, patch=(1, 16, 16), head_norm=False,
                           attention="divided", class_token=True, learned_positions=205),
        (8, 224, 224),
    ),
    "vivit-base": _vision(
        "ViViT base", 88_954_000,
        vision.Transformer(hidden=768, layers=12, heads=12, patch=(2, 16, 16), class_token=True,
                           learned_positions=3137, head_norm=False, fast_gelu=True), (32, 224, 224),
    ),
    "r2plus1d-18": _classifier(
        "R(2+1)D 18", 31_505_325, vision.r2plus1d_18(), (16, 112, 112), hidden=512, layers=8,
    ),
    "slowfast-r50": _classifier(
        "SlowFast 8x8 R50", 34_570_000, vision.slowfast_r50(), (32, 224, 224), hidden=2048,
        layers=32, frames_rule=FramesRule(multiple=4, least=4),
    ),
}  # fmt: skip
"""Name -> model."""
