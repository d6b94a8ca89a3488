from __future__ import annotations

import pytest

from filmgate.errors import UserError
from filmgate.plan.model import tokens
from filmgate.plan.models import find_model, model_names
from filmgate.plan.models.table import find_program

# Counted from the published checkpoints' own code on a device without memory (diffusers 0.42.1,
# transformers 5.24.0), 2026-11-30.
COUNTED = {
    "svd": 1_524_623_082, "videomae-base": 86_534_800, "timesformer-base": 121_566_352,
    "vivit-base": 88_954_000, "r2plus1d-18": 31_505_325,
}  # fmt: skip


@pytest.mark.parametrize("name", model_names())
def test_weights_added_up_block_by_block_are_the_published_number_within_1_percent(
    name: str,
) -> None:
    facts = find_model(name)
    assert facts.parameters_published is not None
    assert facts.parameters == pytest.approx(facts.parameters_published, rel=0.01)


@pytest.mark.parametrize("name", COUNTED)
def test_weights_are_those_that_the_published_code_has(name: str) -> None:
    assert find_model(name).parameters == COUNTED[name]


@pytest.mark.parametrize("name", model_names())
def test_a_model_takes_the_shape_that_it_was_made_for(name: str) -> None:
    facts = find_model(name)
    assert tokens(facts, *facts.native_shape) > 0
    assert facts.native_forward_flops is not None
    assert facts.native_forward_flops > 0
    assert sum(group.count * group.parameters for group in facts.blocks) <= facts.parameters


def test_a_name_is_found_whatever_its_case_and_dashes() -> None:
    assert find_model("CogVideoX-2B").name == find_model("cogvideox 2b").name == "cogvideox-2b"
    assert find_program("Wan2.1-14B") is find_program("wan2.1-14b")


def test_an_unknown_name_gives_all_names() -> None:
    with pytest.raises(UserError, match="slowfast-r50") as raised:
        find_model("sora")
    assert "factory" in raised.value.hint
