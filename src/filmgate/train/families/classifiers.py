"""Video classifiers of transformers: VideoMAE, TimeSformer, ViViT.

B clips, T frames, C = 3, H, W; K classes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from filmgate.errors import UserError
from filmgate.spec import Job
from filmgate.train.families.library import configured, library, local_folder
from filmgate.train.inputs import PIXEL_DEVIATION, PIXEL_MEAN


@dataclass(frozen=True, kw_only=True)
class Family:
    """The names of one kind of model in transformers."""

    config: str
    model: str
    head: tuple[str, ...]
    """Parts that weights of another task may lack: they are drawn anew."""


VIDEOMAE = Family(
    config="VideoMAEConfig",
    model="VideoMAEForVideoClassification",
    head=("classifier.", "fc_norm."),
)
TIMESFORMER = Family(
    config="TimesformerConfig",
    model="TimesformerForVideoClassification",
    head=("classifier.",),
)
VIVIT = Family(
    config="VivitConfig", model="VivitForVideoClassification", head=("classifier.", "vivit.pooler.")
)


def videomae(job: Job, num_classes: int) -> nn.Module:
    """VideoMAE, by Z. Tong et al., https://arxiv.org/abs/2203.12602"""
    return _classifier(VIDEOMAE, job, num_classes)


def timesformer(job: Job, num_classes: int) -> nn.Module:
    """TimeSformer, by G. Bertasius et al., https://arxiv.org/abs/2102.05095"""
    return _classifier(TIMESFORMER, job, num_classes)


def vivit(job: Job, num_classes: int) -> nn.Module:
    """ViViT, by A. Arnab et al., https://arxiv.org/abs/2103.15691"""
    return _classifier(VIVIT, job, num_classes)


class TransformersClassifier(nn.Module):
    """Logits (B, K) of clips that are normalised as filmgate does it, whatever its weights want."""

    def __init__(
        self, model: nn.Module, mean_C: list[float] | None, deviation_C: list[float] | None
    ) -> None:
        super().__init__()
        self.model = model
        self._shift_C11: torch.Tensor
        self._scale_C11: torch.Tensor
        mean, deviation = torch.tensor(mean_C or [0.0]), torch.tensor(deviation_C or [1.0])
        if mean_C is not None:
            mean, scale = (mean - PIXEL_MEAN) / PIXEL_DEVIATION, PIXEL_DEVIATION
            deviation = deviation / scale
        self.register_buffer("_shift_C11", mean[:, None, None], persistent=False)
        self.register_buffer("_scale_C11", 1 / deviation[:, None, None], persistent=False)

    def forward(self, frames_BTCHW: torch.Tensor) -> torch.Tensor:
        """Logits (B, K)."""
        frames_BTCHW = (frames_BTCHW - self._shift_C11) * self._scale_C11
        logits_BK: torch.Tensor = self.model(pixel_values=frames_BTCHW).logits
        return logits_BK


def _classifier(family: Family, job: Job, num_classes: int) -> nn.Module:
    if job.adapter.method != "none":
        raise UserError(
            f"{family.model} is not trained with an adapter here",
            hint='leave `method = "lora"` out of [adapter]; generators take it',
        )
    transformers = library("transformers")
    if job.model.weights is None:
        config = _config(getattr(transformers, family.config), job, num_classes)
        return TransformersClassifier(getattr(transformers, family.model)(config), None, None)
    folder = local_folder(job.model.weights, "config.json")
    model = from_folder(getattr(transformers, family.model), folder, family.head, num_classes)
    _check_clip(model.config, job)
    return TransformersClassifier(model, *_normalisation(folder))


def _config(make: Any, job: Job, num_classes: int) -> Any:
    """The family's own, for the clip's size and the number of classes."""
    clip = job.clip
    ours: dict[str, Any] = {"image_size": clip.height, "num_frames": clip.frames}
    config = configured(make, ours | job.model.config | {"num_labels": num_classes}, make.__name__)
    _check_clip(config, job)
    return config


def _check_clip(config: Any, job: Job) -> None:
    """Raise UserError unless the clip is what the model's positions were made for."""
    clip, size = job.clip, config.image_size
    height, width = (size, size) if isinstance(size, int) else size
    wanted, got = (config.num_frames, height, width), (clip.frames, clip.height, clip.width)
    if wanted != got:
        raise UserError(
            f"the model takes {wanted[0]} frames of {wanted[2]}x{wanted[1]}, [clip] gives "
            f"{got[0]} of {got[2]}x{got[1]}",
            hint=f"set frames = {wanted[0]}, height = {wanted[1]}, width = {wanted[2]} in [clip]",
        )


def from_folder(kind: Any, folder: Path, head: tuple[str, ...], num_classes: int) -> Any:
    """The model of a folder, its head drawn anew where it has other classes.

    Raises UserError where the folder lacks more than the head.
    """
    try:
        model, told = kind.from_pretrained(
            folder,
            local_files_only=True,
            num_labels=num_classes,
            ignore_mismatched_sizes=True,
            output_loading_info=True,
        )
    except OSError as error:
        raise UserError(
            f"weights {folder} cannot be read: {' '.join(str(error).split())}",
            hint="name a folder on this machine that save_pretrained wrote",
        ) from None
    other = [name for name, *_ in told["mismatched_keys"]]
    lost = sorted(name for name in [*told["missing_keys"], *other] if not name.startswith(head))
    if lost:
        raise UserError(
            f"{folder} does not hold a {kind.__name__}: {len(lost)} weights are missing or of "
            f"another shape, the first of them {lost[0]}",
            hint="name the folder of the model that [model] names, and leave `config` out",
        )
    return model


def _normalisation(folder: Path) -> tuple[list[float] | None, list[float] | None]:
    """Mean and deviation of each channel that the weights were trained with; None: as filmgate."""
    try:
        told = json.loads((folder / "preprocessor_config.json").read_text())
    except FileNotFoundError:
        return None, None
    return told.get("image_mean"), told.get("image_std")
