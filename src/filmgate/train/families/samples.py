"""Clips that a generator makes, written as videos and as one picture.

B clips, T frames, C channels, H, W.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import torch
from torch import nn

from filmgate.train.families.backbones import Backbone, Text
from filmgate.train.families.diffusion import Objective

GRID = "grid.png"


@dataclass(kw_only=True)
class Samples:
    """Which clips are to be made."""

    steps: int
    """Denoising steps."""
    texts: list[str] = field(default_factory=list)
    frames_per_second: list[float] = field(default_factory=list)
    shape_TCHW: tuple[int, ...] | None = None
    """Of the latents of one clip; None until one was seen."""

    def add(self, text: str, frames_per_second: float) -> None:
        """One more clip."""
        self.texts.append(text)
        self.frames_per_second.append(frames_per_second)


@torch.no_grad()
def sample_latents(
    module: nn.Module, backbone: Backbone, objective: Objective, text: Text, samples: Samples,
    seed: int,
) -> torch.Tensor:  # fmt: skip
    """Latents (B, T, C, H, W) from noise that is drawn from the seed."""
    assert samples.shape_TCHW is not None
    device = text.tokens_BPD.device
    drawn = torch.Generator().manual_seed(seed)
    shape = (len(samples.texts), *samples.shape_TCHW)
    latents_BTCHW = torch.randn(shape, generator=drawn).to(device)
    scheduler: Any = objective.scheduler()
    scheduler.set_timesteps(samples.steps, device=device)
    module.eval()
    for time in scheduler.timesteps:
        said_BTCHW = backbone.predict(module, latents_BTCHW, time.expand(shape[0]), text)
        latents_BTCHW = scheduler.step(said_BTCHW, time, latents_BTCHW, return_dict=False)[0]
    return latents_BTCHW


def write_samples(clips_BTCHW: torch.Tensor, samples: Samples, folder: Path) -> list[Path]:
    """Write each clip as MP4 and all of them, a row each, as one picture; the files' paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, clip_TCHW in enumerate(clips_BTCHW):
        path = folder / f"{number:02}.mp4"
        _write_video(clip_TCHW, samples.frames_per_second[number], path)
        paths.append(path)
    rows = torch.cat([torch.cat(list(clip), dim=-1) for clip in clips_BTCHW], dim=-2)
    picture = av.VideoFrame.from_ndarray(rows.permute(1, 2, 0).contiguous().numpy(), format="rgb24")
    picture.to_image().save(folder / GRID)  # type: ignore[no-untyped-call]
    (folder / "texts.txt").write_text("".join(f"{text}\n" for text in samples.texts))
    return [*paths, folder / GRID, folder / "texts.txt"]


def _write_video(clip_TCHW: torch.Tensor, frames_per_second: float, path: Path) -> None:
    """H.264; a last odd row or column, which it cannot hold, is doubled."""
    height, width = clip_TCHW.shape[-2:]
    clip_TCHW = torch.nn.functional.pad(
        clip_TCHW.float(), (0, width % 2, 0, height % 2), mode="replicate"
    ).to(torch.uint8)
    rate = Fraction(frames_per_second).limit_denominator(1001)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=rate, options={"crf": "10"})
        stream.width, stream.height, stream.pix_fmt = (
            width + width % 2,
            height + height % 2,
            "yuv420p",
        )
        for frame_CHW in clip_TCHW:
            pixels = frame_CHW.permute(1, 2, 0).contiguous().cpu().numpy()
            container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        container.mux(stream.encode())
