"""The libraries that bring the models, imported when they are first needed, and kept off the net."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from filmgate.errors import UserError

EXTRAS = {
    "diffusers": "video",
    "faster_coco_eval": "detect",
    "peft": "video",
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
    try:
        return make(**config)
    except (TypeError, ValueError, AttributeError, AssertionError) as error:
        raise UserError(
            f"config in [model] does not make a {what}: {error}",
            hint=f"its keys are those of {what} in the library; {_shown(config)} was given",
        ) from error


def _shown(config: Mapping[str, Any]) -> str:
    return json.dumps(dict(config), default=str)
