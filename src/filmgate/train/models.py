"""The default model, and how a user's own model is found by name.

Shapes: B clips, T frames, C channels, H height, W width, K classes.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import pkgutil
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import torch
from torch import nn
from torch.nn import functional

import filmgate
from filmgate.errors import FilmgateError, UserError
from filmgate.spec import Job
from filmgate.train.task import Task

Factory = Callable[[Job, int], nn.Module | Task]

WIDTHS = (24, 48, 96, 128, 160)
"""Channels after the stem and after each block."""
TEMPORAL_STRIDES = (1, 2, 2, 1)
"""How much each block shortens time."""
GROUPS = 8
"""Channel groups of a normalisation. Groups, not batch statistics: a batch may be small, and a
masked clip must not touch the others."""
_NOT_THE_USERS = tuple(
    Path(file).parent for file in (filmgate.__file__, torch.__file__, importlib.__file__)
)
"""Folders of code that a user does not mend."""


class FactorisedBlock(nn.Module):
    """A (2+1)D block: a spatial convolution that halves H and W, then one over time.

    Source: Tran et al., "A Closer Look at Spatiotemporal Convolutions for Action Recognition",
    CVPR 2018, https://arxiv.org/abs/1711.11248
    """

    def __init__(self, channels_in: int, channels_out: int, temporal_stride: int) -> None:
        super().__init__()
        self.spatial = nn.Conv3d(
            channels_in, channels_out, (1, 3, 3), stride=(1, 2, 2), padding=(0, 1, 1), bias=False
        )
        self.spatial_norm = nn.GroupNorm(GROUPS, channels_out)
        self.temporal = nn.Conv3d(
            channels_out,
            channels_out,
            (3, 1, 1),
            stride=(temporal_stride, 1, 1),
            padding=(1, 0, 0),
            bias=False,
        )
        self.temporal_norm = nn.GroupNorm(GROUPS, channels_out)

    def forward(self, x_BCTHW: torch.Tensor) -> torch.Tensor:
        """Features of half the height and width."""
        x_BCTHW = functional.relu(self.spatial_norm(self.spatial(x_BCTHW)))
        return functional.relu(self.temporal_norm(self.temporal(x_BCTHW)))


class SmallVideoClassifier(nn.Module):
    """Logits (B, K) of normalised float clips (B, T, 3, H, W), any T, H and W from 1 on."""

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.stem = nn.Conv3d(
            3, WIDTHS[0], (1, 5, 5), stride=(1, 2, 2), padding=(0, 2, 2), bias=False
        )
        self.stem_norm = nn.GroupNorm(GROUPS, WIDTHS[0])
        self.blocks = nn.Sequential(
            *[
                FactorisedBlock(channels_in, channels_out, temporal_stride)
                for channels_in, channels_out, temporal_stride in zip(
                    WIDTHS, WIDTHS[1:], TEMPORAL_STRIDES, strict=False
                )
            ]
        )
        self.head = nn.Linear(WIDTHS[-1], num_classes)

    def forward(self, frames_BTCHW: torch.Tensor) -> torch.Tensor:
        """Logits (B, K)."""
        # Channels last: 20 % faster on CPU than the plain layout.
        x_BCTHW = frames_BTCHW.transpose(1, 2).contiguous(memory_format=torch.channels_last_3d)
        x_BCTHW = functional.relu(self.stem_norm(self.stem(x_BCTHW)))
        features_BC = self.blocks(x_BCTHW).mean(dim=(2, 3, 4))
        logits_BK: torch.Tensor = self.head(features_BC)
        return logits_BK


def small_video_classifier(job: Job, num_classes: int) -> nn.Module:
    """The default model: 0.5 million parameters in five factorised stages."""
    return SmallVideoClassifier(num_classes)


def load_factory(name: str) -> Factory:
    """The function that ``module:function`` names; the current directory is importable.

    Raises UserError when there is no such module or function, or it cannot be called with
    (job, num_classes), and as ``blames`` for what the module raises on import.
    """
    module_name, _, function_name = name.partition(":")
    with blames(name, f"importing {module_name}"):
        module = _import(module_name, name)
    if not hasattr(module, function_name):
        functions = [key for key, value in vars(module).items() if callable(value)]
        raise UserError(
            f"model factory {name}: {module_name} ({_place(module)}) has no {function_name}",
            hint=_nearest(function_name, functions),
        )
    factory: Factory = getattr(module, function_name)
    _check_signature(name, factory)
    return factory


def build_model(name: str, job: Job, num_classes: int) -> nn.Module | Task:
    """What the factory ``name`` makes: a module that gives logits, or a task.

    Raises UserError as ``load_factory``, or when it is neither.
    """
    factory = load_factory(name)
    with blames(name, "making the model"):
        model = factory(job, num_classes)
    if not isinstance(model, nn.Module | Task):
        raise UserError(
            f"model factory {name} returned {type(model).__name__}, expected torch.nn.Module",
            hint="return the module itself, on the CPU and in training mode, or a"
            " filmgate.train.task.Task",
        )
    return model


@contextmanager
def blames(name: str, doing: str) -> Iterator[None]:
    """Raises UserError, with the lines that led there, for whatever the user's code raises inside.

    Leaving the program counts too: a model does not end a run as if it were done.
    """
    try:
        yield
    except FilmgateError:
        raise
    except (Exception, SystemExit) as error:
        raise UserError(
            f"model factory {name}: {doing} raised {type(error).__name__}: {error}"
            f" ({'; '.join(_user_lines(error))})",
            hint="mend the model there; when memory ran out, lower batch_size in [train] or the"
            " size of [clip]",
        ) from error


def _user_lines(error: BaseException) -> list[str]:
    """The last lines of the user's own code, the deepest last, as ``file:line in function``."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [
        frame
        for frame in frames
        if not any(Path(frame.filename).is_relative_to(folder) for folder in _NOT_THE_USERS)
        and not frame.filename.startswith("<frozen")
    ]
    return [f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in own or frames][-3:]


def check_logits(logits: object, name: str, shape_BK: tuple[int, int]) -> torch.Tensor:
    """The logits, once they are floats of shape (B, K). Raises UserError that names the factory."""
    if isinstance(logits, torch.Tensor) and logits.is_floating_point():
        if tuple(logits.shape) == shape_BK:
            return logits
        got = f"a tensor of shape {tuple(logits.shape)}"
    else:
        got = str(logits.dtype) if isinstance(logits, torch.Tensor) else type(logits).__name__
    raise UserError(
        f"the model of {name} gave {got}, expected float logits of shape"
        f" {shape_BK} = (clips, classes)",
        hint="its last layer wants `num_classes` outputs, averaged over time and space",
    )


def _import(module_name: str, name: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        # Last, so that a file here never hides an installed package from the rest of the program.
        sys.path.append(here)
    importlib.invalidate_caches()
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise UserError(
                f"model factory {name}: {module_name} cannot be imported: {error}",
                hint=f"install {error.name} into this environment",
            ) from error
        raise UserError(
            f"model factory {name}: there is no module {error.name}",
            hint=_nearest(module_name, _modules_beside(module_name)),
        ) from None
    except SyntaxError as error:
        raise UserError(
            f"model factory {name}: {module_name} is no valid Python: {error}",
            hint="mend the line named above",
        ) from error


def _modules_beside(module_name: str) -> list[str]:
    parent, _, _ = module_name.rpartition(".")
    if parent not in sys.modules:
        return [module.name for module in pkgutil.iter_modules()]
    folders = getattr(sys.modules[parent], "__path__", [])
    return [f"{parent}.{module.name}" for module in pkgutil.iter_modules(folders)]


def _check_signature(name: str, factory: Factory) -> None:
    if not callable(factory):
        raise UserError(
            f"model factory {name} is {type(factory).__name__}, expected a function",
            hint="name a function that takes (job, num_classes)",
        )
    try:
        inspect.signature(factory).bind(None, 2)
    except (TypeError, ValueError) as error:
        raise UserError(
            f"model factory {name} cannot be called with (job, num_classes): {error}",
            hint="define it as: def my_model(job, num_classes): ...",
        ) from None


def _nearest(word: str, allowed: list[str]) -> str:
    names = sorted(key for key in allowed if not key.startswith("_"))
    near = difflib.get_close_matches(word, names, n=3, cutoff=0.5)
    if near:
        return f"did you mean {' or '.join(near)}?"
    if 0 < len(names) <= 12:
        return f"it has: {', '.join(names)}"
    return f"modules are looked for among the installed packages and in {Path.cwd()}"


def _place(module: ModuleType) -> str:
    return getattr(module, "__file__", None) or "built in"
