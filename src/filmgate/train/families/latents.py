"""From clips to the latents that a generator learns, and back; kept by content where asked.

B clips, T frames, C channels, H, W; t, c, h, w of the latents.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from filmgate.errors import UserError
from filmgate.records import digest_bytes, digest_file, write_file
from filmgate.train.families.library import library


class Codec(ABC):
    """Makes latents of clips, and clips of latents. ``digest`` stands for how."""

    digest: str

    @abstractmethod
    def encode(self, frames_BTCHW: torch.Tensor) -> torch.Tensor:
        """float (B, t, c, h, w) of uint8 RGB clips, about 1 in size."""

    @abstractmethod
    def decode(self, latents_BTCHW: torch.Tensor) -> torch.Tensor:
        """uint8 RGB clips of latents."""


class PixelCodec(Codec):
    """Squares of pixels become the channels of one latent: nothing is lost and nothing learnt.

    What scratch runs do without an autoencoder.
    """

    def __init__(self, side: int) -> None:
        self.side = side
        self.digest = digest_bytes(f"pixels {side}".encode())

    def encode(self, frames_BTCHW: torch.Tensor) -> torch.Tensor:
        """Raises UserError unless height and width are multiples of the side."""
        height, width = frames_BTCHW.shape[-2:]
        if height % self.side or width % self.side:
            raise UserError(
                f"clips of {width}x{height} do not divide into squares of {self.side} pixels",
                hint="change height and width in [clip], or pixels_per_latent in [generation]",
            )
        return functional.pixel_unshuffle(_signed(frames_BTCHW), self.side)

    def decode(self, latents_BTCHW: torch.Tensor) -> torch.Tensor:
        """Values outside the range are cut off, as every picture's are."""
        return _bytes(functional.pixel_shuffle(latents_BTCHW, self.side))


class AutoencoderCodec(Codec):
    """The autoencoder of a pipeline's folder; each clip becomes the mean of what it may be.

    Latents are shifted and scaled as the pipelines of diffusers do it: by mean and deviation of
    each channel where the autoencoder has them, otherwise by its scaling factor.
    """

    def __init__(self, folder: Path, frame_rule: int | None) -> None:
        self.model = _autoencoder(folder).eval().requires_grad_(False)
        self.digest = digest_bytes(_weights_digest(folder).encode())
        self._frame_rule = frame_rule

    @torch.no_grad()
    def encode(self, frames_BTCHW: torch.Tensor) -> torch.Tensor:
        """Raises UserError for a number of frames that the autoencoder does not take."""
        frames, rule = frames_BTCHW.shape[1], self._frame_rule
        if rule is not None and frames % rule != 1:
            raise UserError(
                f"clips have {frames} frames, the autoencoder takes 1 more than a multiple of"
                f" {rule}",
                hint=f"set frames = {frames // rule * rule + 1} in [clip]",
            )
        self.model.to(frames_BTCHW.device)
        clip_BCTHW = _signed(frames_BTCHW).transpose(1, 2)
        latents_BCTHW: torch.Tensor = self.model.encode(clip_BCTHW).latent_dist.mode()
        mean, scale = self._shift(latents_BCTHW)
        latents_BCTHW = (latents_BCTHW - mean) * scale
        return latents_BCTHW.transpose(1, 2)

    @torch.no_grad()
    def decode(self, latents_BTCHW: torch.Tensor) -> torch.Tensor:
        """Through the autoencoder's decoder."""
        latents_BCTHW = latents_BTCHW.transpose(1, 2)
        self.model.to(latents_BCTHW.device)
        mean, scale = self._shift(latents_BCTHW)
        timestep = (torch.zeros(len(latents_BCTHW), device=latents_BCTHW.device),)
        told = timestep if getattr(self.model.config, "timestep_conditioning", False) else ()
        clips_BCTHW = self.model.decode(latents_BCTHW / scale + mean, *told, return_dict=False)[0]
        return _bytes(clips_BCTHW.transpose(1, 2))

    def _shift(self, latents_BCTHW: torch.Tensor) -> tuple[Any, Any]:
        config = self.model.config
        factor = getattr(config, "scaling_factor", None) or 1.0
        means = getattr(config, "latents_mean", None)
        deviations = getattr(config, "latents_std", None)
        if means is None and isinstance(getattr(self.model, "latents_mean", None), torch.Tensor):
            means, deviations = self.model.latents_mean, self.model.latents_std
        if means is None:
            return getattr(config, "shift_factor", None) or 0.0, factor
        return _by_channel(means, latents_BCTHW), factor / _by_channel(deviations, latents_BCTHW)


class LatentStore:
    """Tensors in a folder, each in a file named by what it was made of; whole or not there.

    Killed while it is filled it goes on from what it holds: nothing in it is made again.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.num_found = self.num_made = 0

    def get(self, key: str) -> dict[str, torch.Tensor] | None:
        """What is kept under the key, None where nothing is. Raises UserError if it is damaged."""
        path = self._path(key)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        safetensors = library("safetensors.torch")
        try:
            tensors: dict[str, torch.Tensor] = safetensors.load(content)
        except library("safetensors").SafetensorError as error:
            raise UserError(
                f"{path} is damaged: {error}", hint="remove it; it is made anew"
            ) from None
        self.num_found += 1
        return tensors

    def put(self, key: str, tensors: dict[str, torch.Tensor]) -> None:
        """Keep them. Raises UserError when the folder cannot be written."""
        content = library("safetensors.torch").save(
            {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        )
        path = self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file(path, content)
        except OSError as error:
            raise UserError(
                f"{path} cannot be written: {error.strerror}",
                hint="latents in [generation] names a folder with room for them",
            ) from None
        self.num_made += 1

    def _path(self, key: str) -> Path:
        name = digest_bytes(key.encode()).removeprefix("blake3:")
        return self.folder / name[:2] / f"{name}.safetensors"


def _autoencoder(folder: Path) -> Any:
    kind = json.loads((folder / "config.json").read_text())["_class_name"]
    make: Any = getattr(library("diffusers"), kind)
    model: nn.Module = make.from_pretrained(folder, local_files_only=True)
    return model


def _weights_digest(folder: Path) -> str:
    """Over the files that decide what the autoencoder does."""
    files = sorted([folder / "config.json", *folder.glob("*.safetensors"), *folder.glob("*.bin")])
    return "\n".join(f"{file.name} {digest_file(file)}" for file in files)


def _signed(frames_BTCHW: torch.Tensor) -> torch.Tensor:
    """-1..1 of 0..255."""
    return frames_BTCHW.float().div_(127.5).sub_(1)


def _bytes(clips_BTCHW: torch.Tensor) -> torch.Tensor:
    return clips_BTCHW.float().add(1).mul(127.5).round().clamp(0, 255).to(torch.uint8)


def _by_channel(values: Any, latents_BCTHW: torch.Tensor) -> torch.Tensor:
    return torch.as_tensor(values).to(latents_BCTHW).reshape(1, -1, 1, 1, 1)
