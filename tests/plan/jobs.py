"""A job to plan for: a transformer of 1.7 billion weights, and what it takes of memory."""

from __future__ import annotations

from datetime import date
from typing import Any

from msgspec.structs import replace

from filmgate.plan import MemoryEstimate, ModelFacts, PlanRequest
from filmgate.plan.cards import Card, find_card, read_cards
from filmgate.plan.demand import Footage
from filmgate.plan.hardware_plan import Question
from filmgate.plan.memory import MemoryParts
from filmgate.plan.model import BlockGroup, Component
from filmgate.plan.prices import read_prices
from filmgate.plan.step_work import StepWork, work_of

FACTS = ModelFacts(
    name="made-2b",
    title="Made 2B",
    kind="diffusion-transformer",
    parameters=1_700_000_000,
    parameters_published=None,
    hidden=1920,
    layers=30,
    heads=30,
    ffn=7680,
    patch=(1, 2, 2),
    vae_stride=(4, 8, 8),
    latent_channels=16,
    text_tokens=226,
    text_width=4096,
    vae=Component(name="VAE", parameters=200_000_000),
    blocks=(BlockGroup(kind="joint", count=30, parameters=56_000_000),),
    native_shape=(49, 480, 720),
    source="made up",
)


def request(**said: Any) -> PlanRequest:
    wanted = PlanRequest(model="made-2b", mode="lora", frames=49, height=480, width=720)
    return replace(wanted, **said)


def estimate(high_gib: float = 20.0, gradients: int = 60 * 10**6) -> MemoryEstimate:
    high = int(high_gib * 2**30)
    return MemoryEstimate(
        allocated_bytes=int(high * 0.75),
        reserved_low_bytes=int(high * 0.8),
        reserved_high_bytes=high,
        context_low_bytes=300 * 2**20,
        context_high_bytes=600 * 2**20,
        parts=MemoryParts(
            weights=3_400_000_000,
            gradients=gradients,
            optimizer=2 * gradients,
            activations=int(high * 0.75) - 3_400_000_000 - 3 * gradients,
            temporaries=0,
            communication=0,
        ),
        phase="backward",
        method="formula",
    )


def work(**said: Any) -> StepWork:
    return work_of(FACTS, request(**said), estimate())


def card(name: str) -> Card:
    return find_card(read_cards(), name)


def question(**said: Any) -> Question:
    wanted = request(**said.pop("asked", {}))
    high = said.pop("high_gib", 20.0)
    told = estimate(high)
    return Question(
        request=wanted,
        estimate=told,
        work=work_of(FACTS, wanted, told),
        facts=FACTS,
        estimate_of=lambda other: estimate(high * other.frames / 49),
        cards=said.pop("cards", None) or read_cards(),
        prices=said.pop("prices", None) or read_prices(),
        today=date(2026, 11, 30),
        **said,
    )


FOOTAGE = Footage(
    size_bytes=400 * 10**9, seconds=360_000.0, num_frames=10_800_000, source_pixels=1920 * 1080
)
