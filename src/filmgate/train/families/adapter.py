"""LoRA through peft, in the form that diffusers reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from torch import nn

from filmgate.records import write_file
from filmgate.spec.job import Adapter
from filmgate.train.families.library import library

ATTENTION = ("to_q", "to_k", "to_v", "to_out.0")
"""Linear layers of the attention, as all video transformers of diffusers name them."""
FILE = "pytorch_lora_weights.safetensors"
"""Where the pipelines of diffusers look."""
PREFIX = "transformer."
"""The part of a pipeline that the adapter is for."""


def add_lora(module: Any, adapter: Adapter, blocks: list[nn.Module]) -> None:
    """Freeze the module, a transformer of diffusers, and give it an adapter that learns.

    It begins as nothing: one of its two matrices is zero.
    Source: E. Hu et al., https://arxiv.org/abs/2106.09685
    """
    peft = library("peft")
    module.requires_grad_(False)
    module.add_adapter(
        peft.LoraConfig(
            r=adapter.rank,
            lora_alpha=adapter.rank if adapter.alpha is None else adapter.alpha,
            target_modules=_targets(module, adapter, blocks),
        )
    )


def save_lora(module: Any, folder: Path) -> Path:
    """Write the adapter as ``WanPipeline.load_lora_weights`` of diffusers and its like, and
    ``transformer.load_lora_adapter``, read it; returns the file."""
    peft, safetensors = library("peft"), library("safetensors.torch")
    metadata = library("diffusers.loaders.lora_base")._pack_dict_with_prefix(
        module.peft_config["default"].to_dict(), PREFIX.removesuffix(".")
    )
    tensors = {
        PREFIX + name: tensor.detach().cpu().contiguous()
        for name, tensor in peft.get_peft_model_state_dict(module).items()
    }
    encoded = json.dumps(metadata, indent=2, sort_keys=True, default=list)
    folder.mkdir(parents=True, exist_ok=True)
    write_file(
        folder / FILE,
        safetensors.save(tensors, {"format": "pt", "lora_adapter_metadata": encoded}),
    )
    return folder / FILE


def _targets(module: nn.Module, adapter: Adapter, blocks: list[nn.Module]) -> list[str]:
    """Full names of the linear layers inside the blocks."""
    inside = {part for block in blocks for part in block.modules()}
    return [
        name
        for name, part in module.named_modules()
        if isinstance(part, nn.Linear)
        and part in inside
        and (adapter.targets == "all-linear" or name.endswith(ATTENTION))
    ]
