from __future__ import annotations

import pytest

from filmgate.errors import UserError
from filmgate.plan.model import check_shape, flops_per_step, tokens
from filmgate.plan.models import find_model
from filmgate.plan.request import PlanRequest


def test_tokens_of_a_480p_clip_are_those_of_the_published_formula() -> None:
    assert tokens(find_model("wan2.1-14b"), 81, 480, 832) == 32_760


def test_a_frame_count_that_the_vae_cannot_take_names_the_nearest() -> None:
    with pytest.raises(UserError, match="cannot take 80 frames; allowed: 4 k") as raised:
        check_shape(find_model("wan2.1-14b"), 80, 480, 832)
    assert "81" in raised.value.hint


def test_a_size_that_no_patch_divides_names_the_nearest() -> None:
    with pytest.raises(UserError, match="multiples of 16") as raised:
        check_shape(find_model("wan2.1-14b"), 81, 470, 832)
    assert "464" in raised.value.hint


def test_an_unknown_model_names_the_nearest_and_all() -> None:
    with pytest.raises(UserError, match=r"wan2\.1-14b"):
        find_model("wan-14b")


def test_frozen_weights_and_kept_activations_save_operations() -> None:
    facts = find_model("wan2.1-14b")

    def flops(**changes: object) -> float:
        shape = {"model": facts.name, "mode": "full", "frames": 81, "height": 480, "width": 832}
        return flops_per_step(facts, PlanRequest(**{**shape, **changes}))

    assert flops(mode="generate") < flops(mode="lora") < flops(mode="full")
    assert flops(checkpointing="none") < flops(checkpointing="block")
    assert flops(batch=2, accumulation=3) == pytest.approx(6 * flops())
