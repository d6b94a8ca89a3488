from __future__ import annotations

import pytest

from filmgate.machine.environment.diff import EnvironmentDiff, compare_environments
from tests.machine.environment.made import environment


def grades(diff: EnvironmentDiff) -> dict[str, str]:
    return {one.name: one.grade for one in diff.differences}


def test_an_environment_is_identical_to_itself() -> None:
    diff = compare_environments(environment(), environment())
    assert diff.grade == "identical"
    assert diff.differences == []
    assert diff.num_identical == 16 + 7 + 3
    assert "all 3 golden probes agree" in diff.probe_says


@pytest.mark.parametrize(
    ("changed", "grade"),
    [
        ({"nvidia.driver": "590.10.00", "nvidia.driver_cuda": "13.2"}, "performance"),
        ({"nvidia.driver": "570.10.00", "nvidia.driver_cuda": "12.8"}, "breaks"),
        ({"nvidia.driver": "none", "nvidia.driver_cuda": "none"}, "breaks"),
        ({"torch.cudnn": "91200"}, "results"),
        ({"ffmpeg.avcodec": "62.30.100"}, "results"),
        ({"ffmpeg.configuration": "--enable-libdav1d --enable-shared"}, "cosmetic"),
        ({"ffmpeg.configuration": "--disable-x86asm --enable-libdav1d --enable-libmp3lame "
          "--enable-shared"}, "results"),
        ({"decoder.av1": "libaom-av1"}, "results"),
        ({"decoder.av1": "none"}, "breaks"),
        ({"os.kernel": "6.9.1"}, "performance"),
        ({"os.architecture": "aarch64"}, "breaks"),
        ({"python.version": "3.12.9"}, "cosmetic"),
        ({"python.version": "3.13.0"}, "breaks"),
        ({"cpu.features": "avx avx2 avx512f"}, "results"),
        ({"gpu.names": "NVIDIA H100"}, "results"),
        ({"gpu.names": "none"}, "breaks"),
        ({"variable.OMP_NUM_THREADS": "8"}, "results"),
        ({"variable.NCCL_DEBUG": "INFO"}, "cosmetic"),
    ],
)  # fmt: skip
def test_a_changed_fact_gets_its_grade(changed: dict[str, str], grade: str) -> None:
    diff = compare_environments(environment(), environment(changed))
    assert set(grades(diff)) == set(changed)
    assert diff.grade == grade


@pytest.mark.parametrize(
    ("changed", "grade"),
    [
        ({"colorful-logs": "1.0"}, "cosmetic"),
        ({"rich": "15.1.0"}, "cosmetic"),
        ({"msgspec": "0.24.0"}, "performance"),
        ({"torch": "2.14.0"}, "results"),
        ({"nvidia-cudnn-cu13": "9.12.0"}, "results"),
        ({"own-model": "1.1"}, "results"),
        ({"av": None}, "breaks"),
    ],
)
def test_a_changed_package_gets_its_grade(changed: dict[str, str | None], grade: str) -> None:
    diff = compare_environments(environment(), environment(packages=changed))
    (name,) = changed
    assert grades(diff) == {f"package.{name}": grade}


def test_a_package_that_only_the_first_has_is_cosmetic_when_nothing_needs_it() -> None:
    more = environment(packages={"colorful-logs": "1.0"})
    assert compare_environments(more, environment()).grade == "cosmetic"


def test_the_same_version_in_another_build_can_change_results() -> None:
    diff = compare_environments(environment(), environment(builds={"torch": "blake3:other"}))
    (one,) = diff.differences
    assert (one.name, one.grade) == ("package.torch", "results")
    assert "another build" in one.why


def test_the_golden_probe_finds_a_decoder_that_no_version_tells_of() -> None:
    diff = compare_environments(environment(), environment(probes={"frames.h264": "blake3:cc"}))
    (one,) = diff.differences
    assert (one.name, one.grade) == ("probe.frames.h264", "results")
    assert "the second's frames are not those that the standard demands" in one.why
    assert "compute differently: frames.h264" in diff.probe_says


@pytest.mark.parametrize(
    ("losses", "says"),
    [("0x1.8000000000001p+0 0x1.7p+0", "as rounding does"), ("0x1.0p+0 0x1.7p+0", "more than")],
)
def test_a_training_step_that_differs_says_how_far(losses: str, says: str) -> None:
    diff = compare_environments(environment(), environment(probes={"step.cpu": losses}))
    assert says in diff.differences[0].why


def test_what_neither_knows_is_listed_and_what_one_knows_counts_as_changed() -> None:
    unknown = environment({"nvidia.driver": None})
    diff = compare_environments(unknown, unknown)
    assert diff.grade == "identical"
    assert diff.not_compared == ["nvidia.driver: not told"]
    diff = compare_environments(environment({"torch.cudnn": None}), environment())
    assert grades(diff) == {"torch.cudnn": "results"}
    assert "unknown in the first (not told)" in diff.differences[0].why


def test_the_worst_difference_comes_first_and_makes_the_grade() -> None:
    other = environment({"os.kernel": "7.0"}, {"rich": "16.0.0", "av": None})
    diff = compare_environments(environment(), other)
    assert [one.grade for one in diff.differences] == ["breaks", "performance", "cosmetic"]
    assert diff.grade == "breaks"


def test_locks_of_two_versions_of_filmgate_compare_what_both_record() -> None:
    diff = compare_environments(environment({"new.fact": "1"}), environment())
    assert diff.grade == "identical"
    assert diff.not_compared == ["new.fact: only in the first lock"]
    assert diff.num_identical == 16 + 7 + 3
