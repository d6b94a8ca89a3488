from __future__ import annotations

import pytest

from filmgate.errors import UserError
from filmgate.machine import Machine
from filmgate.plan.cards import read_cards
from filmgate.plan.demand import demand_of
from filmgate.plan.interval import exactly
from filmgate.plan.upgrade import Upgrade, parse_part, present_card, upgrade_of
from tests.machine.made import MadeMachine
from tests.plan.jobs import FOOTAGE, request, work

CARDS = read_cards()


def made(*gpus: tuple[int, int], name: str = "NVIDIA A100-SXM4-80GB") -> Machine:
    machine = MadeMachine()
    for link in gpus:
        machine.gpu(link=link, slot=link, name=name)
    return machine.machine()


def upgraded(words: str, machine: Machine | None = None) -> Upgrade:
    asked = request(latents_precomputed=False, frames=16, height=224, width=224)
    one = work(latents_precomputed=False, frames=16, height=224, width=224)
    demand = demand_of(one, asked, exactly(0.5), FOOTAGE)
    there = machine or made((5, 16))
    return upgrade_of(there, parse_part(words, CARDS), CARDS, one, demand, precision="bf16")


def by_aspect(upgrade: Upgrade) -> dict[str, str]:
    return {fit.aspect: fit.status for fit in upgrade.fits}


def test_what_no_file_tells_is_asked() -> None:
    found = by_aspect(upgraded("RTX PRO 6000 Blackwell"))
    assert found["clearance"] == found["cooling"] == found["power"] == "ask"
    assert upgraded("RTX PRO 6000 Blackwell").compatible is None


def test_a_card_that_needs_a_board_of_its_own_fails() -> None:
    found = upgraded("H200 SXM")
    assert by_aspect(found)["slot"] == "fail"
    assert found.compatible is False
    assert found.fits[0].status == "fail"


def test_a_slot_with_fewer_lanes_is_asked_about() -> None:
    found = by_aspect(upgraded("RTX 5090", made((4, 8))))
    assert found["lanes"] == "ask"
    assert by_aspect(upgraded("RTX 5090"))["lanes"] == "ok"


def test_a_new_card_wants_a_new_driver() -> None:
    found = next(fit for fit in upgraded("RTX 5090").fits if fit.aspect == "driver")
    assert found.status == "ok"
    assert "570" in found.says


def test_a_faster_card_gains_and_the_next_limit_is_named() -> None:
    found = upgraded("H100 PCIe")
    assert found.gain is not None
    assert found.gain.high > 1
    assert found.next_limit


def test_a_feed_that_cannot_keep_up_is_the_next_limit() -> None:
    machine = MadeMachine(affinity=list(range(3)))
    machine.gpu(name="NVIDIA A100-SXM4-80GB")
    assert upgraded("H100 PCIe", machine.machine()).next_limit.startswith("the feed")


def test_memory_and_drives_are_parts_too() -> None:
    assert by_aspect(upgraded("ram=256GB")) == {"RAM": "ask"}
    assert by_aspect(upgraded("nvme=4"))["slot"] == "ask"


@pytest.mark.parametrize("words", ["RTX 9999", "ram=lots", "ram=0GB", "nvme=-1", "nvme=two"])
def test_a_part_that_there_is_not_is_an_error(words: str) -> None:
    with pytest.raises(UserError):
        parse_part(words, CARDS)


def test_the_card_of_a_machine_is_found_by_the_drivers_name() -> None:
    for told, name in (
        ("NVIDIA H100 NVL", "H100 NVL"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("NVIDIA L40S", "L40S"),
        ("NVIDIA GeForce RTX 4070 Ti SUPER", "RTX 4070 Ti SUPER"),
    ):
        found = present_card(told, CARDS)
        assert found is not None
        assert found.name == name
    assert present_card("Tesla K80", CARDS) is None


def test_a_machine_without_a_gpu_has_no_step_before() -> None:
    found = upgraded("L40S", made())
    assert found.step_before is None
    assert found.gain is None
    assert by_aspect(found)["lanes"] == "unknown"
