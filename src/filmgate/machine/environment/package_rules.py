"""What a change of a Python package can do."""

from __future__ import annotations

import fnmatch

from filmgate.machine.environment.facts import Package
from filmgate.machine.environment.rules import Judgement

COMPUTES = (
    "accelerate", "av", "bitsandbytes", "decord*", "deepspeed", "diffusers", "filmgate",
    "flash-attn*", "imageio*", "jax*", "kornia*", "mkl*", "numba", "numpy", "nvidia-*",
    "onnxruntime*", "opencv-*", "peft", "pillow*", "pytorch-*", "safetensors", "scikit-image",
    "scikit-learn", "scipy", "spdl*", "sentencepiece", "tensorflow*", "timm", "tokenizers",
    "torch", "torch*", "transformers", "transformer-engine*", "triton*", "xformers",
)  # fmt: skip
"""Packages that make pixels, numbers or weights."""
CARRIES = (
    "blake3", "msgspec", "obstore", "psutil", "pyarrow", "ray", "fsspec", "zstandard", "uvloop",
)  # fmt: skip
"""Packages that move and store what others computed."""
TALKS = (
    "annotated-*", "certifi", "click", "colorama", "contourpy", "cycler", "fonttools", "jinja2",
    "kiwisolver", "markdown-it-py", "markupsafe", "matplotlib", "mdurl", "packaging", "pip",
    "pygments", "pyparsing", "python-dateutil", "rich", "setuptools", "shellingham", "six",
    "tomli-w", "tqdm", "typer", "typing-*", "tzdata", "wheel",
)  # fmt: skip
"""Packages that print, draw, install or describe types."""
ALTERED = "its files are not as they were installed"


def judge_package(here: Package | None, there: Package | None) -> Judgement | None:
    """What the difference can do; None where there is none."""
    if here is not None and there is not None:
        return _judge_both(here, there)
    known = here or there
    assert known is not None
    if here is None:
        return _judge_new(known)
    if known.is_needed:
        return "breaks", "filmgate, or a package that was named, needs it"
    grade, why = _effect(known)
    return grade, f"missing in the second; {why}"


def _judge_both(here: Package, there: Package) -> Judgement | None:
    if here.version != there.version:
        return _effect(there if there.is_needed else here)
    if here.altered != there.altered or here.num_altered != there.num_altered:
        grade, _ = _effect(here)
        return grade, ALTERED
    if here.digest is not None and there.digest is not None and here.digest != there.digest:
        grade, why = _effect(here)
        return grade, f"the same version in another build; {why}"
    return None


def _judge_new(package: Package) -> Judgement:
    if not package.is_needed:
        return "cosmetic", "nothing that was locked needs it"
    return _effect(package)


def _effect(package: Package) -> Judgement:
    if _is_one_of(package.name, COMPUTES):
        return "results", "it makes pixels, numbers or weights"
    if _is_one_of(package.name, TALKS):
        return "cosmetic", "it prints, draws, installs or describes types"
    if _is_one_of(package.name, CARRIES):
        return "performance", "it moves and stores what others compute"
    if package.is_needed:
        return "results", "it is needed, and nothing is known of it, so the worst is assumed"
    return "cosmetic", "nothing that was locked needs it"


def _is_one_of(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
