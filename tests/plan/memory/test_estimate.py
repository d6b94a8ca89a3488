from __future__ import annotations

import pytest
from msgspec.structs import replace

from filmgate.plan.memory import MemoryEstimate, MemoryParts, estimate_memory, verdict
from filmgate.plan.request import PlanRequest

GIB = 2**30
PARTS = MemoryParts(
    weights=10 * GIB, gradients=0, optimizer=0, activations=5 * GIB, temporaries=0, communication=0
)
ESTIMATE = MemoryEstimate(
    allocated_bytes=15 * GIB,
    reserved_low_bytes=15 * GIB,
    reserved_high_bytes=18 * GIB,
    context_low_bytes=GIB // 2,
    context_high_bytes=GIB,
    parts=PARTS,
    phase="backward",
    method="formula",
)


def test_a_card_with_a_fifth_to_spare_fits() -> None:
    assert verdict(ESTIMATE, 24 * GIB) == "fits"


def test_a_card_smaller_than_the_least_does_not_fit() -> None:
    assert verdict(ESTIMATE, 15 * GIB) == "does not fit"


def test_between_them_nothing_can_be_said() -> None:
    assert verdict(ESTIMATE, 16 * GIB) == verdict(ESTIMATE, 23 * GIB) == "cannot say"


def test_a_card_without_memory_is_refused() -> None:
    with pytest.raises(ValueError, match="1 or more"):
        verdict(ESTIMATE, 0)


def test_parts_add_up_to_what_is_allocated() -> None:
    request = PlanRequest(model="cogvideox-2b", mode="full", frames=49, height=480, width=720)
    found = estimate_memory(request)
    parts = found.parts
    assert found.allocated_bytes == (
        parts.weights + parts.gradients + parts.optimizer + parts.activations
        + parts.temporaries + parts.communication
    )  # fmt: skip


def test_weights_gradients_and_states_of_full_fine_tuning_are_16_bytes_a_weight() -> None:
    request = PlanRequest(
        model="cogvideox-2b", mode="full", precision="bf16-mixed", frames=49, height=480, width=720
    )
    parts = estimate_memory(request).parts
    static = parts.weights + parts.gradients + parts.optimizer
    assert static == pytest.approx(16 * 1_694_014_272, rel=0.01)


def test_a_frozen_model_has_no_gradients_but_those_of_adapters() -> None:
    request = PlanRequest(
        model="wan2.1-14b", mode="lora", lora_rank=16, frames=81, height=480, width=832
    )
    parts = estimate_memory(request).parts
    assert parts.gradients + parts.optimizer < 0.02 * parts.weights
    assert parts.weights == pytest.approx(2 * 14_288_491_584, rel=0.01)


def test_generation_keeps_nothing_for_backward() -> None:
    request = PlanRequest(model="wan2.1-1.3b", mode="generate", frames=81, height=480, width=832)
    parts = estimate_memory(request).parts
    assert parts.gradients == parts.optimizer == 0
    assert parts.activations == 0


def test_stages_need_the_largest_and_all_at_once_their_sum() -> None:
    request = PlanRequest(model="cogvideox-2b", mode="generate", frames=49, height=480, width=720)
    alone = estimate_memory(request).allocated_bytes
    stages = estimate_memory(replace(request, resident="stages"))
    together = estimate_memory(replace(request, resident="all")).allocated_bytes
    assert alone <= stages.allocated_bytes < together
    assert stages.phase == "T5-xxl encoder"
