from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from filmgate.errors import UserError
from filmgate.machine.soak.result import Soak, summed_up
from filmgate.machine.soak.rows import Finding
from filmgate.machine.soak.windows import windows_of
from tests.machine.soak.made import TRAINING, made_lines, usual_gpu


def curve(soak: Soak, name: str) -> Any:
    return next(one for one in soak.curves if one.name == name)


def of_kind(soak: Soak, kind: str) -> Finding:
    return next(one for one in soak.findings if one.kind == kind)


def ramp(second: float, begin: float, end: float) -> float:
    """0 before ``begin``, 1 after ``end``."""
    return min(1.0, max(0.0, (second - begin) / (end - begin)))


def hot(second: float) -> dict[str, Any]:
    """A GPU that gets too hot after ten minutes and gives up a quarter of its clock."""
    heat = ramp(second, 300, 900)
    reasons = ["thermal, by software"] if second > 600 else []
    return {
        "temperature_degrees": 60 + 27 * heat, "clock_hertz": 1.98e9 * (1 - 0.25 * heat),
        "throttle_reasons": reasons, "fan_share": 0.6,
    }  # fmt: skip


def test_a_machine_that_holds_is_told_so_with_what_could_still_be_lost() -> None:
    soak = summed_up(*made_lines())
    assert soak.is_sustained is True
    assert soak.verdict.startswith("throughput held: 4")
    assert "no change larger than" in soak.verdict
    assert soak.findings == []
    assert soak.warnings == []
    assert soak.windows.says == "the first against the last five minutes"
    throughput = curve(soak, "throughput")
    assert throughput.low < 0 < throughput.high
    assert throughput.first == pytest.approx(480, rel=0.01)
    assert (throughput.unit, len(throughput.last_blocks)) == ("products/s", 10)
    assert curve(soak, "GPU energy").first == pytest.approx(640 / 480, rel=0.05)


def test_heat_that_slows_a_gpu_down_is_named_with_its_rows_and_with_advice() -> None:
    soak = summed_up(*made_lines(gpu=hot, step_rate=lambda s: 30 * (1 - 0.25 * ramp(s, 300, 900))))
    assert soak.is_sustained is False
    assert soak.verdict.startswith("throughput fell: ")
    assert "GPU 0 was slowed down by heat in 66 % of the time" in soak.verdict
    heat = of_kind(soak, "heat")
    assert heat.grade == "slows"
    assert "GPU 0: thermal, by software" in heat.because
    assert "GPU 0 temperature" in heat.because
    assert "raise the fan curve: the fan ran at 60 %" in heat.advice[0]
    assert any("power limit or undervolt" in one for one in heat.advice)
    throughput, warmth = curve(soak, "throughput"), curve(soak, "GPU 0 temperature")
    assert throughput.low <= -0.25 <= throughput.high
    assert warmth.change == pytest.approx(27)
    assert "27 C more" in warmth.says
    (event,) = soak.events
    assert event.first_seconds == 605


def test_a_power_cap_is_a_note_while_the_clock_holds_and_says_what_was_lowered() -> None:
    soak = summed_up(
        *made_lines(gpu=lambda s: {"throttle_reasons": ["power cap"], "power_limit_watts": 500.0})
    )
    cap = of_kind(soak, "power cap")
    assert (cap.grade, soak.is_sustained) == ("note", True)
    assert cap.says == "GPU 0 was at its power limit in 100 % of the time"
    assert "500 W of 700 W as sold" in cap.advice[0]
    assert "undervolt" in cap.advice[1]


def test_a_power_brake_points_at_the_supply() -> None:
    soak = summed_up(
        *made_lines(gpu=lambda s: {"throttle_reasons": ["power brake"] if s > 1000 else []})
    )
    assert "power supplies" in of_kind(soak, "power brake").advice[0]


def test_a_link_that_drops_is_a_fault_and_one_that_idles_is_not() -> None:
    dropped = summed_up(
        *made_lines(gpu=lambda s: {"pcie_width": 8 if s > 900 else 16, "pcie_replays": int(s)})
    )
    link = of_kind(dropped, "link")
    assert link.grade == "fault"
    assert "from 16 to 8 after 15 min" in link.says
    assert link.because == ["GPU 0: PCIe width dropped", "GPU 0 PCIe replays"]
    idle = summed_up(
        *made_lines(gpu=lambda s: {"pcie_generation": 1 if s % 100 == 0 else 5,
                                   "utilisation_share": 0.0 if s % 100 == 0 else 1.0})
    )  # fmt: skip
    assert idle.findings == []


def test_a_few_replays_are_a_note() -> None:
    soak = summed_up(*made_lines(gpu=lambda s: {"pcie_replays": 3 + (s > 1000)}))
    link = of_kind(soak, "link")
    assert (link.grade, link.says) == ("note", "GPU 0 sent 1 packets again over PCIe")


@pytest.mark.parametrize(
    ("lines", "grade", "words"),
    [
        ({"gpu": lambda s: {"uncorrected_errors": int(s > 900)}}, "fault",
         "GPU 0 ECC errors, not corrected: 1 more"),
        ({"gpu": lambda s: {"corrected_errors": int(s / 600)}}, "note",
         "GPU 0 ECC errors, corrected: 3 more"),
        ({"host": lambda s: {"uncorrected_errors": int(s > 900)}}, "fault",
         "host memory errors, not corrected: 1 more"),
        ({"host": lambda s: {"throttles": int(s / 10)}}, "slows",
         "host processor slow-downs by heat: 180 more"),
        ({"host": lambda s: {"pcie_errors": int(s > 900)}}, "note", "host PCIe errors, corrected"),
        ({"xids": lambda s: ["79 at 0000:65:00"] if s == 900 else []}, "fault",
         "Xid faults: 1: 79 at 0000:65:00"),
        ({"wrong": lambda s: int(s > 900)}, "fault", "cuda:0 wrong products: 1 more"),
    ],
)  # fmt: skip
def test_every_kind_of_error_is_counted_and_graded(
    lines: dict[str, Any], grade: str, words: str
) -> None:
    soak = summed_up(*made_lines(**lines))
    (found,) = [one for one in soak.findings if one.kind == "errors"]
    assert found.grade == grade
    assert words in found.says


def test_errors_from_before_the_soak_are_not_counted() -> None:
    soak = summed_up(*made_lines(gpu=lambda s: {"corrected_errors": 12, "uncorrected_errors": 2}))
    assert soak.findings == []
    assert {one.added for one in soak.counts} == {0}


def test_a_gpu_that_falls_off_the_bus_is_a_fault() -> None:
    def falls(second: float) -> dict[str, Any]:
        """Every value is gone."""
        if second < 1200:
            return {}
        fields = [
            name for name in usual_gpu().__struct_fields__ if name not in ("index", "unknown")
        ]
        gone: dict[str, Any] = dict.fromkeys(fields)
        return gone | {"unknown": {"temperature_degrees": "NVML: GPU is lost"}}

    soak = summed_up(*made_lines(gpu=falls))
    assert "answered no more, after 20 min 00 s: NVML: GPU is lost" in soak.findings[0].says


def test_a_machine_without_gpus_tells_stolen_time_quota_and_pressure() -> None:
    soak = summed_up(
        *made_lines(
            load=TRAINING, gpu=None, step_rate=lambda s: 5 * (1 - 0.2 * ramp(s, 800, 900)),
            wrong=lambda s: None, xids=lambda s: None,
            host=lambda s: {
                "stolen_seconds": 0.3 * max(0.0, s - 900), "limited_seconds": s * 0.1,
                "stalled_seconds": {"cpu": 0.0, "io": 0.3 * s, "memory": 0.0},
            },
        )
    )  # fmt: skip
    kinds = {one.kind: one for one in soak.findings}
    assert kinds["taken by the hypervisor"].says == (
        "the hypervisor gave 15 % of the processors' time to others"
    )
    assert "quota" in kinds["held back by the quota"].says
    assert "scratch drive" in kinds["waiting for io"].advice[0]
    assert curve(soak, "throughput").low <= -0.2 <= curve(soak, "throughput").high
    assert not [one for one in soak.counts if "Xid" in one.name]


def test_a_fall_that_other_programs_caused_names_them() -> None:
    start, samples, end = made_lines(
        load=TRAINING, gpu=None, step_rate=lambda s: 5 * (1 - 0.4 * ramp(s, 800, 900)),
        host=lambda s: {"busy_seconds": s + 0.8 * max(0.0, s - 850)},
    )  # fmt: skip
    own = [
        replace(one, load=[replace(one.load[0], cpu_seconds=one.load[0].steps / 5)])
        for one in samples
    ]
    soak = summed_up(start, own, end)
    (finding,) = soak.findings
    assert finding.kind == "used by other programs"
    assert curve(soak, "throughput per CPU second").first == pytest.approx(20)


def test_a_fall_that_nothing_explains_says_so() -> None:
    soak = summed_up(*made_lines(step_rate=lambda s: 30 * (1 - 0.1 * ramp(s, 500, 900))))
    (finding,) = soak.findings
    assert finding.kind == "unexplained"
    assert soak.verdict.startswith("throughput fell: ")


def test_too_wide_a_spread_is_no_verdict() -> None:
    soak = summed_up(*made_lines(seconds=60, interval=1, spread=0.6))
    assert soak.is_sustained is None
    assert soak.verdict.startswith("whether throughput held cannot be said: up to ")
    assert soak.windows.says == "the first against the last sixth (10 s each, because it is short)"
    assert any("is short" in one for one in soak.warnings)


def test_a_busy_machine_and_an_early_end_are_warned_of() -> None:
    start, samples, _ = made_lines(host=lambda s: {"busy_seconds": 2 * s})
    soak = summed_up(start, samples, None)
    assert soak.ended is None
    assert soak.warnings[0].startswith("it has not come to its end")
    assert "other programs used 50 % of the processors" in soak.warnings[1]


def test_a_stalled_load_shows_as_a_slow_stretch_not_as_a_gap() -> None:
    rate = made_lines(seconds=300, interval=1, spread=0.0, step_rate=lambda s: 30.0)
    start, samples, end = rate
    held = [replace(one, load=samples[100].load) for one in samples[101:160]]
    late = [
        replace(one, load=[replace(pulse, steps=pulse.steps - 59 * 30) for pulse in one.load])
        for one in samples[160:]
    ]
    throughput = curve(summed_up(start, [*samples[:101], *held, *late], end), "throughput")
    assert throughput.lowest == pytest.approx(480 / 60, rel=0.01)


def test_fewer_than_four_samples_are_refused() -> None:
    start, samples, _ = made_lines()
    with pytest.raises(UserError, match="3 samples, and 4 are the least"):
        summed_up(start, samples[:3], None)


def test_every_finding_stands_on_rows_that_are_there() -> None:
    for lines in (
        {"gpu": hot}, {"gpu": lambda s: {"throttle_reasons": ["power cap", "power brake"]}},
        {"gpu": lambda s: {"pcie_width": 8 if s > 900 else 16}},
        {"xids": lambda s: ["79 at 0000:65:00"]},
    ):  # fmt: skip
        soak = summed_up(*made_lines(**lines))  # type: ignore[arg-type]
        rows = {one.name for group in (soak.curves, soak.events, soak.counts) for one in group}
        assert soak.findings
        for finding in soak.findings:
            assert finding.because
            assert set(finding.because) <= rows
            assert finding.advice


def test_the_result_survives_json() -> None:
    soak = summed_up(*made_lines(gpu=hot))
    assert msgspec.json.decode(msgspec.json.encode(soak), type=Soak) == soak


@given(st.floats(min_value=1, max_value=1e6))
def test_windows_never_overlap_and_are_five_minutes_at_most(seconds: float) -> None:
    windows = windows_of(seconds)
    assert 0 < windows.seconds <= 300
    assert windows.last_begins_seconds >= windows.seconds
    assert windows.last_begins_seconds + windows.seconds == pytest.approx(seconds)


@given(loss=st.floats(min_value=0.05, max_value=0.6), spread=st.floats(min_value=0, max_value=0.03))
def test_a_real_fall_is_found_and_lies_in_its_interval(loss: float, spread: float) -> None:
    lines = made_lines(
        seconds=300, interval=1, spread=spread,
        step_rate=lambda s: 300 * (1 - loss * ramp(s, 100, 200)),
    )  # fmt: skip
    throughput = curve(summed_up(*lines), "throughput")
    assert throughput.is_different
    assert throughput.low - 0.005 <= -loss <= throughput.high + 0.005
