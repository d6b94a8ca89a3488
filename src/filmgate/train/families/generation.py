"""Generators of video: the transformers of Wan, LTX-Video, CogVideoX and HunyuanVideo.

B clips, T frames, C channels, H, W of the latents; N levels of noise.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional

from filmgate.catalog import Catalog
from filmgate.errors import UserError
from filmgate.feed import Batch
from filmgate.feed.targets import choose_targets
from filmgate.spec import Job
from filmgate.train.families.adapter import add_lora, save_lora
from filmgate.train.families.backbones import (
    COGVIDEOX,
    HUNYUAN,
    LTX,
    WAN,
    Backbone,
    Text,
    scratch_channels,
)
from filmgate.train.families.diffusion import draw_levels, draw_noise, objective_named
from filmgate.train.families.latents import AutoencoderCodec, Codec, LatentStore, PixelCodec
from filmgate.train.families.library import configured, library, local_folder
from filmgate.train.families.prompts import (
    ENCODED_TOKENS,
    DrawnText,
    FolderText,
    Prompter,
    TextEncoder,
    prompt_of,
    read_prompts,
)
from filmgate.train.families.samples import Samples, sample_latents, write_samples
from filmgate.train.models import blames
from filmgate.train.task import Meter, Score, Task, generators

LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Shares of noise at which a generator is judged."""


def wan(job: Job, num_classes: int) -> Task:
    """Wan, https://github.com/Wan-Video/Wan2.1"""
    return GenerationTask(job, WAN)


def ltx_video(job: Job, num_classes: int) -> Task:
    """LTX-Video, https://github.com/Lightricks/LTX-Video"""
    return GenerationTask(job, LTX)


def cogvideox(job: Job, num_classes: int) -> Task:
    """CogVideoX, https://github.com/zai-org/CogVideo"""
    return GenerationTask(job, COGVIDEOX)


def hunyuan_video(job: Job, num_classes: int) -> Task:
    """HunyuanVideo, https://github.com/Tencent-Hunyuan/HunyuanVideo"""
    return GenerationTask(job, HUNYUAN)


class Inputs(NamedTuple):
    """What the loss of a generator takes."""

    latents_BTCHW: torch.Tensor
    noise_BTCHW: torch.Tensor
    levels_B: torch.Tensor
    text: Text


class GenerationTask(Task):
    """Predicts, from a noisy clip and a text, the way back to the clip."""

    def __init__(self, job: Job, backbone: Backbone) -> None:
        module = _transformer(job, backbone)
        super().__init__(job.model.factory, module)
        self.job = job
        self.backbone = backbone
        self.objective = objective_named(
            job.generation.objective or backbone.objective, job.generation.shift
        )
        self.codec = _codec(job, backbone)
        self.store = LatentStore(Path(job.generation.latents)) if job.generation.latents else None
        self.prompter = Prompter(_encoder(job, backbone, module.config), self.store)
        self.samples = Samples(steps=job.generation.sample_steps)
        self._text_of = prompt_of(_prompts(job), self._class_name)
        self._class_names: list[str] = []
        self.keeps_frozen = job.model.weights is None
        if job.adapter.method == "lora":
            add_lora(module, job.adapter, self.blocks())

    def begin(self, catalog: Catalog) -> None:
        """Learn the names of the classes: they are the texts where there are no prompts."""
        self._class_names = choose_targets(self.job.data.target, catalog).class_names

    def inputs(self, batch: Batch) -> Inputs:
        """Latents, text, and noise that is the same for a sample wherever and whenever."""
        latents_BTCHW, text = self.encoded(batch)
        drawn = _usable(generators(batch, self.job.job.seed), batch)
        levels_B = draw_levels(drawn, self.job.generation.noise_levels).to(latents_BTCHW.device)
        return Inputs(latents_BTCHW, draw_noise(drawn, latents_BTCHW), levels_B, text)

    def loss(self, module: nn.Module, inputs: Inputs) -> torch.Tensor:
        """Mean squared error of what is predicted."""
        return self.errors(module, inputs).mean()

    def errors(self, module: nn.Module, inputs: Inputs) -> torch.Tensor:
        """(B,) mean squared error of each clip."""
        mixture = self.objective.mix(inputs.latents_BTCHW, inputs.noise_BTCHW, inputs.levels_B)
        with blames(self.name, "the model's forward"):
            said_BTCHW = self.backbone.predict(
                module, mixture.noisy_BTCHW, mixture.times_B, inputs.text
            )
        squares = functional.mse_loss(
            said_BTCHW.float(), mixture.wanted_BTCHW.float(), reduction="none"
        )
        return squares.flatten(1).mean(1)

    def meter(self) -> NoiseMeter:
        """Judges by level of noise."""
        return NoiseMeter(self)

    def encoded(self, batch: Batch) -> tuple[torch.Tensor, Text]:
        """Latents and text of the usable clips, from the store where it has them."""
        rows = batch.valid_B.nonzero()[:, 0].tolist()
        texts = [self._text_of(batch.video_ids[row], int(batch.labels_B[row])) for row in rows]
        latents = self._latents(batch, rows).to(batch.device)
        return latents, self.prompter.embed(texts, batch.device)

    def finish(self, folder: Path) -> list[Path]:
        """Write what was learnt as diffusers reads it, and clips that it generates."""
        module: Any = self.module
        if self.job.adapter.method == "lora":
            written = [save_lora(module, folder / "adapter")]
        else:
            module.save_pretrained(folder / "transformer")
            written = [folder / "transformer"]
        if self.job.generation.sample_clips and self.samples.texts:
            written += write_samples(self._generated(), self.samples, folder / "samples")
        return written

    def _generated(self) -> torch.Tensor:
        assert self.samples.shape_TCHW is not None
        device = next(self.module.parameters()).device
        latents_BTCHW = sample_latents(
            self.module, self.backbone, self.objective,
            self.prompter.embed(self.samples.texts, device), self.samples, self.job.job.seed,
        )  # fmt: skip
        return self.codec.decode(latents_BTCHW)

    def remember(self, latents_BTCHW: torch.Tensor, batch: Batch) -> None:
        """Keep the texts of the first held-out clips: samples are made for them."""
        self.samples.shape_TCHW = tuple(latents_BTCHW.shape[1:])
        for row in batch.valid_B.nonzero()[:, 0].tolist():
            text = self._text_of(batch.video_ids[row], int(batch.labels_B[row]))
            if len(self.samples.texts) < self.job.generation.sample_clips:
                self.samples.add(text, _frames_per_second(batch, row))

    def _latents(self, batch: Batch, rows: list[int]) -> torch.Tensor:
        if self.store is None:
            return self.codec.encode(batch.frames_BTCHW[rows])
        keys = [self._key(batch, row) for row in rows]
        found = [self.store.get(key) for key in keys]
        missing = [place for place, one in enumerate(found) if one is None]
        if missing:
            made = self.codec.encode(batch.frames_BTCHW[[rows[place] for place in missing]])
            for place, latents in zip(missing, made.cpu(), strict=True):
                found[place] = {"latents": latents}
                self.store.put(keys[place], {"latents": latents})
        return torch.stack([one["latents"] for one in found if one is not None])

    def _key(self, batch: Batch, row: int) -> str:
        """Stands for the clip's content, frames, window and size, and for the autoencoder."""
        change, shown = batch.digest_parts[row]
        size = tuple(batch.frames_BTCHW.shape[1:])
        return f"latents {self.codec.digest} {size} {change.hex()} {shown.hex()}"

    def _class_name(self, label: int) -> str:
        return self._class_names[label] if 0 <= label < len(self._class_names) else ""


class Found(NamedTuple):
    """What one rank's held-out clips came to."""

    error_sums_N: torch.Tensor
    """float64 at each level."""
    num_clips: int


class NoiseMeter(Meter):
    """The error at each level of noise; noise and level are fixed for a clip."""

    def __init__(self, task: GenerationTask) -> None:
        self._task = task
        self._sums_N = torch.zeros(len(LEVELS), dtype=torch.float64)
        self._num_clips = 0

    def add(self, module: nn.Module, batch: Batch) -> None:
        """Every clip at every level."""
        latents_BTCHW, text = self._task.encoded(batch)
        self._task.remember(latents_BTCHW, batch)
        drawn = _usable(generators(batch, self._task.job.job.seed), batch)
        noise_BTCHW = draw_noise(drawn, latents_BTCHW)
        for place, level in enumerate(LEVELS):
            levels_B = torch.full((len(latents_BTCHW),), level, device=latents_BTCHW.device)
            inputs = Inputs(latents_BTCHW, noise_BTCHW, levels_B, text)
            self._sums_N[place] += self._task.errors(module, inputs).double().sum().cpu()
        self._num_clips += len(latents_BTCHW)

    def found(self) -> Found:
        """The sums."""
        return Found(self._sums_N, self._num_clips)

    def score(self, found: list[Any]) -> Score | None:
        """Over all ranks."""
        num_clips = sum(one.num_clips for one in found)
        if not num_clips:
            return None
        means = (torch.stack([one.error_sums_N for one in found]).sum(0) / num_clips).tolist()
        return Score(
            loss=sum(means) / len(means),
            num_clips=num_clips,
            metrics={
                f"loss at noise {level:g}": mean for level, mean in zip(LEVELS, means, strict=True)
            },
        )


def _usable(drawn: list[torch.Generator], batch: Batch) -> list[torch.Generator]:
    return [one for one, is_valid in zip(drawn, batch.valid_B.tolist(), strict=True) if is_valid]


def _frames_per_second(batch: Batch, row: int) -> float:
    times_T = batch.times_BT[row]
    seconds = float(times_T[-1] - times_T[0])
    return (len(times_T) - 1) / seconds if seconds > 0 else 1.0


def _transformer(job: Job, backbone: Backbone) -> Any:
    """From the weights' folder, a whole pipeline or the transformer alone, or from the config."""
    kind = getattr(library("diffusers"), backbone.kind)
    if job.model.weights is None:
        config = scratch_channels(job.model.config, job.generation.pixels_per_latent)
        return configured(kind, config, backbone.kind)
    return kind.from_pretrained(_part(job, "transformer"), local_files_only=True)


def _part(job: Job, name: str) -> Path:
    folder = Path(str(job.model.weights))
    inside = folder / name
    return local_folder(str(inside if inside.is_dir() else folder), "config.json")


def _has(job: Job, name: str) -> bool:
    return job.model.weights is not None and (Path(job.model.weights) / name).is_dir()


def _codec(job: Job, backbone: Backbone) -> Codec:
    if _has(job, "vae"):
        return AutoencoderCodec(Path(str(job.model.weights)) / "vae", backbone.frame_rule)
    return PixelCodec(job.generation.pixels_per_latent)


def _encoder(job: Job, backbone: Backbone, config: Any) -> TextEncoder:
    if not _has(job, "text_encoder"):
        return DrawnText(config, backbone)
    if backbone.pooled_width is not None:
        raise UserError(
            f"the texts of {backbone.kind} come from two encoders and a template, which filmgate"
            " does not know yet",
            hint="name the folder of its transformer alone: texts are then drawn numbers",
        )
    tokens = getattr(config, "max_text_seq_length", None) or ENCODED_TOKENS
    return FolderText(Path(str(job.model.weights)), tokens)


def _prompts(job: Job) -> dict[str, str] | None:
    return read_prompts(Path(job.generation.prompts)) if job.generation.prompts else None
