from __future__ import annotations

import msgspec
import pytest

from filmgate.errors import UserError
from filmgate.machine.baseline.compare import compare_baselines
from filmgate.machine.baseline.like import belongs
from tests.machine.baseline.made import WORKLOAD, baseline
from tests.machine.environment.made import environment

SAME = [1.00, 1.02, 0.99, 1.01, 0.98]


def test_two_of_the_same_have_no_difference_larger_than_told() -> None:
    found = compare_baselines(baseline(SAME), baseline(list(reversed(SAME))))
    wall = found.figures[0]
    assert not wall.is_different
    assert "no difference larger than 2.3 %" in found.verdict
    assert wall.low is not None
    assert wall.low < 0 < (wall.high or 0)
    assert wall.smallest_seen == pytest.approx(0.033, abs=0.003)
    assert found.same_result
    assert found.forced == []
    assert found.warnings == []


def test_a_fifth_more_is_told_with_an_interval_that_holds_it() -> None:
    slow = baseline([1.2 * one for one in (1.01, 0.99, 1.0, 1.02, 0.985)])
    found = compare_baselines(baseline(SAME), slow, changed="fan curve")
    wall = found.figures[0]
    assert wall.is_different
    assert (wall.low or 0) < 0.2 < (wall.high or 0)
    assert "wall time: 20 % more (95 % interval 18 % to 23 %)" in found.verdict
    assert found.warnings == ["fan curve was named as changed, and nothing recorded shows it"]


@pytest.mark.parametrize(
    ("field", "value"),
    [("seed", 1), ("width", 128), ("frames", 16), ("prompt", "blake3:bb"), ("threads", 2)],
)
def test_another_workload_is_refused_by_name(field: str, value: object) -> None:
    other = baseline(SAME, msgspec.structs.replace(WORKLOAD, **{field: value}))
    with pytest.raises(UserError, match=f"{field}: .* and {value}") as refused:
        compare_baselines(baseline(SAME), other)
    assert f"--changed {field}" in refused.value.hint
    assert compare_baselines(baseline(SAME), other, changed=field).forced == []


@pytest.mark.parametrize(
    ("facts", "packages", "name"),
    [
        ({}, {"av": "18.2.0"}, "package.av"),
        ({"torch.cudnn": "91200"}, {}, "torch.cudnn"),
        ({"variable.OMP_NUM_THREADS": "2"}, {}, "variable.OMP_NUM_THREADS"),
        ({"os.kernel": "7.0"}, {}, "os.kernel"),
    ],
)
def test_another_environment_is_refused_by_name(
    facts: dict[str, str | None], packages: dict[str, str | None], name: str
) -> None:
    other = baseline(SAME, with_=environment(facts, packages))
    with pytest.raises(UserError, match=name):
        compare_baselines(baseline(SAME), other)


def test_what_is_cosmetic_is_no_difference() -> None:
    other = baseline(SAME, with_=environment(packages={"colorful-logs": "2.0", "rich": "16.0"}))
    assert compare_baselines(baseline(SAME), other).unlike == []


def test_more_than_the_named_thing_is_refused_and_marked_when_forced() -> None:
    other = baseline(
        SAME, msgspec.structs.replace(WORKLOAD, seed=5), environment(packages={"torch": "2.14.0"})
    )
    with pytest.raises(UserError, match="more than torch differs: seed: 0 and 5"):
        compare_baselines(baseline(SAME), other, changed="torch")
    found = compare_baselines(baseline(SAME), other, changed="torch", force=True)
    assert found.forced == ["seed"]
    assert found.verdict.startswith("NOT LIKE FOR LIKE (seed): ")


def test_what_a_package_brings_along_is_named_with_it() -> None:
    assert belongs("package.nvidia-cudnn-cu13", "torch")
    assert belongs("ffmpeg.avcodec", "package.av")
    assert belongs("cpu.model", "machine")
    assert not belongs("package.torchvision", "torch")
    assert not belongs("seed", None)


def test_one_start_has_no_spread_and_is_refused() -> None:
    with pytest.raises(UserError, match="second baseline has one start"):
        compare_baselines(baseline(SAME), baseline([1.0]))


def test_a_busy_machine_and_other_results_are_told() -> None:
    found = compare_baselines(
        baseline(SAME), baseline(SAME[:3], others=0.8, result="blake3:22"), clock="cpu"
    )
    assert found.figures[0].name == "CPU time"
    assert found.same_result is False
    assert any("80 %" in warning for warning in found.warnings)
    assert any("fewer than 4 starts" in warning for warning in found.warnings)


def test_a_summary_leaves_the_warm_up_out_and_counts_it() -> None:
    summary = baseline([1.0, 1.0, 2.0]).summary
    assert summary.wall_seconds == pytest.approx(1.0, abs=0.01)
    assert (summary.num_starts, summary.num_rounds, summary.num_warm_up) == (3, 6, 3)
    assert summary.wall_iqr_seconds is None
    assert summary.unknown["wall_iqr_seconds"] == "fewer than 4 starts"
