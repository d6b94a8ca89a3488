from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filmgate.errors import UserError
from filmgate.machine import Needs, audit_machine
from filmgate.machine.checklist import CHECKS
from filmgate.plan.demand import Footage, copy_seconds, demand_of, storage_for
from filmgate.plan.hardware import rank_cards, tier_of, unused_share
from filmgate.plan.hardware_plan import HardwarePlan, plan_hardware
from filmgate.plan.interval import Interval, exactly
from filmgate.plan.server import Server
from tests.machine.made import MadeMachine
from tests.plan.jobs import FOOTAGE, card, estimate, question, request, work


def plan(**said: object) -> HardwarePlan:
    return plan_hardware(question(**said))


def server(**said: object) -> Server:
    found = plan(**said).server
    assert found is not None
    return found


def test_capacity_comes_first_and_then_bandwidth_for_the_price() -> None:
    ranked = plan(high_gib=20.0).cards
    verdicts = [one.verdict for one in ranked]
    assert verdicts == sorted(verdicts, key=["fits", "cannot say", "does not fit"].index)
    priced = [one.bandwidth_per_usd for one in ranked if one.verdict == "fits"]
    known = [one.middle for one in priced if one is not None]
    assert known == sorted(known, reverse=True)
    assert None not in priced[: len(known)]


@given(high=st.floats(1, 400), more=st.floats(0, 400))
def test_a_larger_job_never_fits_more_cards(high: float, more: float) -> None:
    def fitting(gib: float) -> set[str]:
        from_rank = rank_cards([card("L4"), card("L40S"), card("H200 SXM")], estimate(gib),
                               work(), request())  # fmt: skip
        return {one.card for one in from_rank if one.verdict == "fits"}

    assert fitting(high + more) <= fitting(high)


def test_capacity_that_the_job_cannot_use_is_a_warning() -> None:
    by_name = {one.card: one for one in plan(high_gib=10.0).cards}
    assert any("cannot use" in note for note in by_name["H200 SXM"].notes)
    assert not any("cannot use" in note for note in by_name["RTX 3090"].notes)
    assert unused_share(10, 7) == 0


def test_a_card_that_does_not_compute_in_the_precision_comes_last_of_those_that_fit() -> None:
    old = card("A40")
    figures = {name: getattr(old, name) for name in old.__struct_fields__}
    turing = type(old)(**{**figures, "name": "T", "compute_capability": "7.5"})
    ranked = rank_cards([turing, card("L40S")], estimate(), work(), request())
    assert [one.card for one in ranked] == ["L40S", "T"]
    assert ranked[1].precision_supported is False


def test_tiers_are_those_of_the_field() -> None:
    assert [tier_of(gib * 2**30)[0] for gib in (8, 12, 16, 24, 32, 48, 80, 141)] == [
        "8-12 GB", "8-12 GB", "16-24 GB", "16-24 GB", "32-48 GB", "32-48 GB",
        "80 GB and more", "80 GB and more",
    ]  # fmt: skip


def test_a_job_that_no_card_holds_is_said() -> None:
    assert any("no card of the table" in one for one in plan(high_gib=2000.0).warnings)


def test_a_card_that_there_is_not_is_an_error() -> None:
    with pytest.raises(UserError, match="no card 'H300'"):
        plan(card="H300")


def test_storage_is_the_slowest_class_that_holds_the_read() -> None:
    assert storage_for(0.05e9).name == "NAS over 1 GbE"
    assert storage_for(2e9).name == "one NVMe drive"
    assert storage_for(6e9).name == "4 NVMe drives in RAID 0"
    assert storage_for(1e12).name == "8 NVMe drives in RAID 0"


def test_measured_clips_stand_above_what_is_assumed_of_decoding() -> None:
    asked = request(latents_precomputed=False, frames=16, height=224, width=224)
    one = work(latents_precomputed=False, frames=16, height=224, width=224)
    measured = Footage(clips_per_core_second=exactly(10.0), clips_from="feed bench")
    told = demand_of(one, asked, exactly(0.1), measured)
    assert told.cores_basis == "measured"
    assert told.cores == exactly(10.0 / 10.0 + 2)
    assumed = demand_of(one, asked, exactly(0.1), Footage())
    assert assumed.cores_basis == "assumed"
    assert {note.name for note in assumed.assumed} >= {
        "decoding on a core",
        "bit rate of the videos",
    }


def test_latents_from_disk_take_no_decoding() -> None:
    found = plan(footage=FOOTAGE).demand
    assert found is not None
    assert found.decode_engines is None
    assert found.cache_bytes is None
    assert found.cores.high == 2


@given(size=st.floats(1, 1e15), bits=st.floats(1e8, 1e12))
def test_a_copy_takes_at_least_the_time_of_the_wire(size: float, bits: float) -> None:
    took = copy_seconds(size, bits)
    assert took.low >= size * 8 / bits
    assert took.low <= took.high


def test_every_line_of_the_server_is_one_of_the_checklist() -> None:
    names = {check.name for check in CHECKS}
    for gpus in (1, 8, 32):
        found = server(asked={"gpus": gpus}, footage=FOOTAGE)
        assert {line.check for line in found.lines} <= names


def test_more_cards_than_a_machine_takes_are_divided_over_machines() -> None:
    found = server(asked={"gpus": 20, "mode": "full", "sharding": "ddp"})
    assert (found.num_machines, found.gpus) == (3, 7)
    assert found.nic_bits_per_second >= 200e9
    assert any(line.check == "rdma" for line in found.lines)


def test_power_supplies_have_room_for_hours_and_for_milliseconds() -> None:
    found = server(asked={"gpus": 8}, card="RTX 5090")
    assert found.psu_watts >= found.load_watts / 0.8
    assert found.psu_watts >= found.load_watts + 0.5 * 8 * 575
    assert found.load_watts > 8 * 575
    assert found.heat_btu_per_hour == pytest.approx(3.412 * found.load_watts)
    assert any("NVLink" in one for one in found.warnings)


MACHINE = MadeMachine()
for _ in range(4):
    MACHINE.gpu()
MADE = MACHINE.machine()


def failed(needs: Needs) -> set[str]:
    names = {"gpu-memory", "cores-per-gpu", "main-memory", "read-rate"}
    items = audit_machine(MADE, needs, []).items
    return {item.name for item in items if item.name in names and item.status == "fail"}


NEEDS = st.tuples(
    st.integers(1, 200), st.integers(1, 2 * 10**12), st.integers(1, 10**12), st.floats(1, 1e11)
)


@given(needs=NEEDS, share=st.floats(0.01, 1.0))
def test_a_machine_that_passes_the_plans_checklist_passes_at_anything_smaller(
    needs: tuple[int, int, int, float], share: float
) -> None:
    cores, ram, vram, read = needs
    large = Needs(
        job="x", cores=cores, cores_from="plan", ram_bytes=ram, vram_bytes=vram,
        read_bytes_per_second=read, measured_read_bytes_per_second=6e9,
    )  # fmt: skip
    small = Needs(
        job="x", cores=max(1, int(cores * share)), cores_from="plan", ram_bytes=int(ram * share),
        vram_bytes=int(vram * share), read_bytes_per_second=read * share,
        measured_read_bytes_per_second=6e9,
    )  # fmt: skip
    assert failed(small) <= failed(large)


@given(high=st.floats(2, 300), share=st.floats(0.05, 1.0), gpus=st.integers(1, 24))
def test_a_smaller_job_asks_no_more_of_the_same_cards(high: float, share: float, gpus: int) -> None:
    asked = {"gpus": gpus}
    large = server(asked=asked, high_gib=high, card="H200 SXM")
    small = server(asked=asked, high_gib=high * share, card="H200 SXM")
    assert small.need_vram_bytes <= large.need_vram_bytes
    assert small.psu_watts <= large.psu_watts
    assert small.drives <= large.drives


def test_no_work_means_no_step_and_says_none() -> None:
    told = question()
    without = type(told)(**{**vars(told), "work": None})
    found = plan_hardware(without)
    assert found.server is None
    assert found.cost is None
    assert all(one.step is None for one in found.cards)
    assert isinstance(found.cards[0].bandwidth_per_usd, Interval)
