"""Steps of small models, traced and run: what the CPU allocator hands out is what is compared.

Not in the count: buffers that CPU kernels take inside one operation (unfolded pictures of some
convolutions, packed weights of products); two models that show it are listed beside the five.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

from filmgate.plan.memory.setup import Setup, setup_of
from filmgate.plan.request import PlanRequest
from filmgate.spec import Job
from filmgate.train.models import small_video_classifier
from filmgate.train.trace import add_adapters, checkpoint_blocks, run_step, trace_job


class Encoder(nn.Module):
    """A small vision transformer over tubes."""

    def __init__(self) -> None:
        super().__init__()
        self.tubes = nn.Linear(3 * 2 * 16 * 16, 192)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(192, 4, 768, 0.0, batch_first=True, norm_first=True)
            for _ in range(4)
        )
        self.head = nn.Linear(192, 10)

    def forward(self, clips_BTCHW: torch.Tensor) -> torch.Tensor:
        """Logits."""
        x_BND = self.tubes(clips_BTCHW.reshape(len(clips_BTCHW), -1, 3 * 2 * 16 * 16))
        for block in self.blocks:
            x_BND = block(x_BND)
        logits_BK: torch.Tensor = self.head(x_BND.mean(1))
        return logits_BK


class Mixer(nn.Module):
    """Linear layers over tubes and over channels in turns."""

    def __init__(self) -> None:
        super().__init__()
        self.tubes = nn.Linear(3 * 2 * 16 * 16, 256)
        self.norms = nn.ModuleList(nn.LayerNorm(256) for _ in range(4))
        self.along = nn.ModuleList(nn.Linear(144, 144) for _ in range(4))
        self.across = nn.ModuleList(
            nn.Sequential(nn.Linear(256, 1024), nn.SiLU(), nn.Linear(1024, 256)) for _ in range(4)
        )
        self.head = nn.Linear(256, 10)

    def forward(self, clips_BTCHW: torch.Tensor) -> torch.Tensor:
        """Logits."""
        x_BND = self.tubes(clips_BTCHW.reshape(len(clips_BTCHW), -1, 3 * 2 * 16 * 16))
        for norm, along, across in zip(self.norms, self.along, self.across, strict=True):
            x_BND = x_BND + along(norm(x_BND).transpose(1, 2)).transpose(1, 2)
            x_BND = x_BND + across(norm(x_BND))
        logits_BK: torch.Tensor = self.head(x_BND.mean(1))
        return logits_BK


class FrameNet(nn.Module):
    """Convolutions with batch norm on each frame, averaged over time."""

    def __init__(self) -> None:
        super().__init__()
        widths = (3, 32, 64, 128)
        self.layers = nn.Sequential(
            *(
                nn.Sequential(nn.Conv2d(low, high, 3, 2, 1), nn.BatchNorm2d(high), nn.ReLU())
                for low, high in pairwise(widths)
            )
        )
        self.head = nn.Linear(128, 10)

    def forward(self, clips_BTCHW: torch.Tensor) -> torch.Tensor:
        """Logits."""
        features = self.layers(clips_BTCHW.flatten(0, 1)).mean((2, 3))
        logits_BK: torch.Tensor = self.head(features.view(*clips_BTCHW.shape[:2], -1).mean(1))
        return logits_BK


@dataclass(frozen=True, kw_only=True)
class Case:
    """A model and how it is used."""

    build: Callable[[], nn.Module]
    shape: tuple[int, ...] = (2, 8, 3, 96, 96)
    mode: str = "full"
    checkpointing: str = "none"
    counts: bool = True
    """False for what is shown beside the five."""


CASES = {
    "factorised convolutions": Case(
        build=lambda: small_video_classifier(Job(), 10), shape=(4, 8, 3, 112, 112)
    ),
    "transformer": Case(build=Encoder),
    "transformer with adapters": Case(build=Encoder, mode="lora"),
    "transformer, generate": Case(build=Encoder, mode="generate"),
    "mixer of linear layers": Case(build=Mixer),
    "frame convolutions with batch norm": Case(
        build=FrameNet, shape=(4, 8, 3, 96, 96), counts=False
    ),
    "transformer with checkpoints": Case(build=Encoder, checkpointing="block", counts=False),
}


def traced_bytes(case: Case) -> int:
    """Peak of one forward and backward, traced."""
    return trace_job(case.build, case.shape, _setup(case), name="case").peak_bytes


def measured_bytes(case: Case) -> int:
    """Peak of the same by the profiler's record of every allocation and release."""
    setup = _setup(case)
    model = case.build()
    if setup.numerics.adapter_rank:
        add_adapters(model, setup.numerics.adapter_rank)
    if setup.numerics.checkpointing != "none":
        checkpoint_blocks(model, setup.numerics.checkpointing)
    held = sum(t.untyped_storage().nbytes() for t in [*model.parameters(), *model.buffers()])
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        run_step(model, case.shape, setup, None)
    record: Any = profiler.profiler
    events = [e for e in record.kineto_results.events() if e.name() == "[memory]"]
    live = peak = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        live += event.nbytes()
        peak = max(peak, live)
    return held + peak


def _setup(case: Case) -> Setup:
    request = PlanRequest(
        model="own:model", mode=case.mode, lora_rank=8, frames=case.shape[1],  # type: ignore[arg-type]
        height=case.shape[3], width=case.shape[4], batch=case.shape[0], precision="fp32",
        checkpointing=case.checkpointing,  # type: ignore[arg-type]
    )  # fmt: skip
    return replace(setup_of(request), state_bytes=0.0, step_bytes=0.0)
