"""The libraries that bring the models, imported when first needed, and kept off the net."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from filmgate.errors import UserError

EXTRAS = {
    "diffusers": "video",
    "diffusers.loaders.lora_base": "video",
    "diffusers.models.embeddings": "video",
    "diffusers.pipelines.cogvideo.pipeline_cogvideox": "video",
    "faster_coco_eval": "detect",
    "huggingface_hub.errors": "video",
    "peft": "video",
    "safetensors": "video",
    "safetensors.torch": "video",
    "scipy": "detect",
    "transformers": "video",
}
"""Library -> the extra that installs it."""


def library(name: str) -> ModuleType:
    """The module. Raises UserError, naming the extra, where it is not installed."""
    # Read by huggingface_hub when it is loaded: without it a look for a newer file may go out.
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise UserError(
            f"this model needs {name}, and {error.name} is not installed",
            hint=f"pip install 'filmgate[{EXTRAS[name]}]'",
        ) from None


def local_folder(path: str, holds: str) -> Path:
    """The folder, once it is there and holds that file. Raises UserError."""
    folder = Path(path)
    if not (folder / holds).is_file():
        raise UserError(
            f"weights {path}: there is no {holds} in that folder",
            hint="name a folder on this machine that save_pretrained wrote; nothing is fetched from"
            " a hub",
        )
    return folder


def configured(make: Any, config: Mapping[str, Any], what: str) -> Any:
    """``make(**config)``. Raises UserError that names the keys which it does not take."""
    _refuse_unknown(make, config, what)
    strict = library("huggingface_hub.errors").StrictDataclassError
    try:
        return make(**config)
    except (TypeError, ValueError, AttributeError, AssertionError, strict) as error:
        raise UserError(
            f"config in [model] does not make a {what}: {' '.join(str(error).split())}",
            hint=f"its keys are those of {what} in the library",
        ) from error


def _refuse_unknown(make: Any, config: Mapping[str, Any], what: str) -> None:
    """The configurations of transformers keep any key, and do nothing with one they do not know."""
    if not is_dataclass(make):
        return
    names = {field.name for field in fields(make)} | {"num_labels"}
    for key in config.keys() - names:
        near = get_close_matches(key, names, n=1, cutoff=0.5)
        raise UserError(
            f"config in [model]: {what} has no key {key}",
            hint=f"did you mean {near[0]}?" if near else f"it has: {', '.join(sorted(names))}",
        )
