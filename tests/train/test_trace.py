from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from filmgate.errors import UserError
from filmgate.plan.memory.ledger import Kind
from filmgate.plan.memory.setup import Setup, setup_of
from filmgate.plan.request import PlanRequest
from filmgate.spec import Job
from filmgate.train.models import small_video_classifier
from filmgate.train.trace import trace_job

SHAPE = (2, 4, 3, 32, 32)


class Encoder(nn.Module):
    def __init__(self, layers: int = 4) -> None:
        super().__init__()
        self.patches = nn.Linear(3 * 32 * 32, 64)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(64), nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64))
            for _ in range(layers)
        )

    def forward(self, clips_BTCHW: torch.Tensor) -> torch.Tensor:
        x_BTD = self.patches(clips_BTCHW.flatten(2))
        for block in self.blocks:
            x_BTD = x_BTD + block(x_BTD)
        return x_BTD.mean(1)


class ByValue(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, clips_BTCHW: torch.Tensor) -> torch.Tensor:
        bright = clips_BTCHW[clips_BTCHW > 0.5]
        return self.linear(bright[:4])


def setup(**changes: object) -> Setup:
    said = {
        "model": "own:model", "mode": "full", "frames": 4, "height": 32, "width": 32,
        "precision": "fp32", "checkpointing": "none",
    }  # fmt: skip
    return setup_of(PlanRequest(**(said | changes)))


def traced(build: Callable[[], nn.Module], **changes: object) -> tuple[int, ...]:
    return trace_job(build, SHAPE, setup(**changes), name="own:model").peak_by_kind


def test_weights_and_two_moments_are_counted() -> None:
    numels = sum(p.numel() for p in Encoder().parameters())
    kinds = traced(Encoder)
    assert kinds[Kind.WEIGHTS] == pytest.approx(4 * numels, rel=0.01)
    assert kinds[Kind.OPTIMIZER] == pytest.approx(8 * numels, rel=0.001)


def test_no_memory_is_taken_for_a_model_of_a_hundred_gigabytes() -> None:
    def huge() -> nn.Module:
        return nn.Sequential(nn.Flatten(), nn.Linear(12288, 2_000_000, bias=False))

    kinds = traced(huge, mode="generate")
    assert kinds[Kind.WEIGHTS] == 4 * 12288 * 2_000_000


def test_more_clips_keep_more_and_generation_keeps_nothing() -> None:
    few = trace_job(Encoder, SHAPE, setup(), name="m")
    many = trace_job(Encoder, (64, *SHAPE[1:]), setup(), name="m")
    assert many.peak_bytes > few.peak_bytes
    assert traced(Encoder, mode="generate")[Kind.ACTIVATIONS] == 0


def test_checkpoints_keep_less_of_a_deep_model() -> None:
    shape = (64, *SHAPE[1:])

    def deep() -> nn.Module:
        return Encoder(layers=12)

    none, block = (
        trace_job(deep, shape, setup(checkpointing=kind, mode="full"), name="m").peak_bytes
        for kind in ("none", "block")
    )
    assert block < none


def test_adapters_leave_the_weights_without_gradients() -> None:
    found = trace_job(Encoder, SHAPE, setup(mode="lora", lora_rank=4), name="m")
    assert found.trained_parameters == 4 * (3 * 32 * 32 + 64 + 4 * (64 + 256) * 2)


def test_the_default_model_is_traced_in_16_bits() -> None:
    shape = (2, 8, 3, 64, 64)
    full, mixed = (
        trace_job(
            lambda: small_video_classifier(Job(), 10), shape, setup(precision=precision), name="m"
        ).peak_bytes
        for precision in ("fp32", "bf16-mixed")
    )
    assert mixed < full


def test_a_model_whose_shapes_depend_on_values_names_the_fallback() -> None:
    with pytest.raises(UserError, match="own:model cannot be traced") as raised:
        traced(ByValue)
    assert "[plan] model" in raised.value.hint


@pytest.mark.parametrize(
    ("changes", "named"),
    [({"checkpointing": "selective"}, "none, block"),
     ({"mode": "lora"}, "no linear layer"), ({"checkpointing": "block"}, "no list of blocks")],
)  # fmt: skip
def test_what_a_model_does_not_have_is_said(changes: dict[str, str], named: str) -> None:
    with pytest.raises(UserError, match=named):
        traced(lambda: nn.Conv3d(4, 4, 1), **changes)


class Normed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Linear(3 * 32 * 32, 4096)
        self.norm = nn.RMSNorm(4096)

    def forward(self, clips_BTCHW: torch.Tensor) -> torch.Tensor:
        return self.norm(self.patches(clips_BTCHW.flatten(2)))


def test_a_root_mean_square_norm_keeps_its_input_and_no_more() -> None:
    kinds = traced(Normed)
    one = 2 * 4 * 4096 * 4
    clips = 2 * 4 * 3 * 32 * 32 * 4
    # the clips, the norm's input, the loss' input
    assert kinds[Kind.ACTIVATIONS] <= clips + 2 * one + 4096


class Ways(nn.Module):
    def __init__(self, ways: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.empty(3 * 32 * 32))
        self.ways = nn.ModuleList(nn.Linear(3 * 32 * 32, 1) for _ in range(ways))

    def forward(self, clips_BTCHW: torch.Tensor) -> torch.Tensor:
        x_BTD = clips_BTCHW.flatten(2) * self.scale
        return torch.stack([way(x_BTD) for way in self.ways]).sum(0)


def test_gradients_of_several_ways_are_added_in_place() -> None:
    one, two, five = (sum(traced(lambda ways=ways: Ways(ways))[3:5]) for ways in (1, 2, 5))
    wide = 2 * 4 * 3 * 32 * 32 * 4
    # The second way has both gradients and x; added out of place there would be a third.
    assert two - one < 1.5 * wide
    assert five - two < wide / 2 + 3 * 4 * 3 * 32 * 32
