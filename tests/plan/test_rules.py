from __future__ import annotations

from filmgate.plan.hardware_plan import plan_hardware
from filmgate.plan.rules import RuleLine
from tests.plan.jobs import FOOTAGE, question


def rules(**said: object) -> dict[str, RuleLine]:
    return {one.name: one for one in plan_hardware(question(**said)).rules}


def test_every_rule_of_the_field_is_beside_what_it_comes_to() -> None:
    found = rules(footage=FOOTAGE)
    assert set(found) == {
        "margin", "fine-tuning-three-times", "clip-against-image", "tiers", "utilisation",
        "cores-per-gpu", "ram-per-vram", "frame-buffer", "image-sequences", "nvme-drives",
        "link-rates", "pcie-only", "nvlink-from-four", "network",
    }  # fmt: skip
    assert all(one.here and one.rule for one in found.values())


def test_pcie_alone_is_enough_for_adapters_and_not_for_every_rule() -> None:
    adapters = rules(asked={"gpus": 8, "sharding": "ddp"})["pcie-only"]
    assert adapters.holds is False
    assert "100 %" in adapters.here


def test_what_needs_a_catalog_says_so() -> None:
    found = rules(asked={"latents_precomputed": False})
    assert "--catalog" in found["frame-buffer"].here
    assert found["image-sequences"].holds is None


def test_generation_has_no_gradients() -> None:
    assert "no gradients" in rules(asked={"mode": "generate"})["pcie-only"].here
