"""Two environments tell apart what changes results, and a probe finds what versions do not tell."""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec

from benchmarks.acceptance.check import Outcome, all_hold, check
from benchmarks.acceptance.place import Place
from filmgate.machine.environment.diff import compare_environments
from filmgate.machine.environment.facts import Environment, Fact, Package
from filmgate.machine.environment.golden import EXACT, frame_probes
from filmgate.machine.environment.lock import make_environment
from filmgate.records import read_record

TOPIC = "Environment"
SECRET = "hunter2-not-to-be-seen"


@check(
    name="env-diff-grades",
    topic=TOPIC,
    line="`filmgate env diff` grades a driver, a cuDNN, an FFmpeg build, an unrelated package, a "
    "package, a kernel and environment variables by what they can do.",
    bar="every grade right, nothing else differs",
)
def env_diff_grades(place: Place) -> Outcome:
    place.record("env", "lock", "--out", "here", "--no-probe")
    lock = read_record(place.folder / "here" / "environment.json", Environment)
    cuda = {"nvidia.driver": "580.65.06", "nvidia.driver_cuda": "13.0", "torch.cuda": "13.0",
            "torch.cudnn": "91100"}  # fmt: skip
    base = _with(lock, cuda)
    cases: dict[str, tuple[Environment, str]] = {
        "driver, newer": (_with(base, {"nvidia.driver": "590.1", "nvidia.driver_cuda": "13.1"}),
                          "performance"),
        "driver, too old": (_with(base, {"nvidia.driver": "550.1", "nvidia.driver_cuda": "12.4"}),
                            "breaks"),
        "cuDNN": (_with(base, {"torch.cudnn": "91200"}), "results"),
        "FFmpeg, other version": (_with(base, {"ffmpeg.avcodec": "61.3.100"}), "results"),
        "FFmpeg, built without assembly": (_option(base, "--disable-x86asm"), "results"),
        "FFmpeg, built with another sound codec": (_option(base, "--enable-libspeex"), "cosmetic"),
        "new unrelated package": (_package(base, "some-colours", "1.0"), "cosmetic"),
        "numpy": (_package(base, "numpy", "0.1"), "results"),
        "kernel": (_with(base, {"os.kernel": "9.9"}), "performance"),
        "OMP_NUM_THREADS": (_with(base, {"variable.OMP_NUM_THREADS": "3"}), "results"),
        "NCCL_DEBUG": (_with(base, {"variable.NCCL_DEBUG": "INFO"}), "cosmetic"),
        "nothing": (base, "identical"),
    }  # fmt: skip
    misses = []
    for name, (other, grade) in cases.items():
        for side, one in (("a", base), ("b", other)):
            (place.folder / f"{side}.json").write_bytes(msgspec.json.encode(one))
        found = place.record("env", "diff", "a.json", "b.json")
        if found["grade"] != grade or len(found["differences"]) > 2:
            misses.append(f"{name}: {found['grade']}, expected {grade}: {found['differences']}")
    return all_hold(misses, of=len(cases), what="changes")


@check(
    name="env-capture",
    topic=TOPIC,
    line="Two captures of one machine are identical, a variable set in between is named, and a "
    "lock holds no secret.",
    bar="identical; one named difference; no trace of the secret",
)
def env_capture(place: Place) -> Outcome:
    plain = {**os.environ, "MY_API_TOKEN": SECRET, "WANDB_API_KEY": SECRET}
    place.run("env", "lock", "--out", "one", environment=plain)
    place.run("env", "lock", "--out", "two", environment=plain)
    place.run("env", "lock", "--out", "three", environment={**plain, "NVIDIA_TF32_OVERRIDE": "1"})
    same, other = (
        place.record("env", "diff", "one", "two"), place.record("env", "diff", "one", "three")
    )  # fmt: skip
    named = [(one["name"], one["grade"]) for one in other["differences"]]
    misses = []
    if same["grade"] != "identical" or "agree to the last bit" not in same["probe_says"]:
        misses.append(f"two captures: {same['grade']}: {same['differences']}")
    if named != [("variable.NVIDIA_TF32_OVERRIDE", "results")]:
        misses.append(f"a variable: {named}")
    files = [path for path in place.folder.rglob("*") if path.is_file()]
    misses += [f"{path.name} holds the secret" for path in files if SECRET in path.read_text()]
    return all_hold(misses, of=3, what="cases")


@check(
    name="env-golden-decoder",
    topic=TOPIC,
    line="The golden probe finds a decoder that decodes otherwise under the same versions.",
    bar="every change found and named, none without a change",
)
def env_golden_decoder(place: Place) -> Outcome:
    del place
    cases: dict[str, tuple[dict[str, str], set[str]]] = {
        "no change": ({}, set()),
        "no loop filter": ({"skip_loop_filter": "all"}, {"h264", "hevc", "vp8"}),
        "another inverse transform": ({"idct": "faani"}, {"mjpeg", "mpeg2video", "mpeg4"}),
    }
    here, misses = make_environment([], [], frame_probes()), []
    for name, (options, codecs) in cases.items():
        there = make_environment([], [], frame_probes(options))
        diff = compare_environments(here, there)
        found = {one.name.removeprefix("probe.frames.") for one in diff.differences}
        if found != codecs:
            misses.append(f"{name}: {sorted(found)}, expected {sorted(codecs)}")
    wrong = [one.name for one in here.probes if one.expected not in (None, one.value)]
    misses += [f"{name} is not what its standard demands" for name in wrong]
    return all_hold(misses, of=len(cases) + len(EXACT), what="cases")


def _with(lock: Environment, facts: Mapping[str, str]) -> Environment:
    kept = [fact for fact in lock.facts if fact.name not in facts]
    new = [Fact(name=name, value=value) for name, value in facts.items()]
    return make_environment([*kept, *new], lock.packages, lock.probes)


def _option(lock: Environment, option: str) -> Environment:
    return _with(lock, {"ffmpeg.configuration": f"{lock.value('ffmpeg.configuration')} {option}"})


def _package(lock: Environment, name: str, version: str) -> Environment:
    there = lock.package(name)
    new = Package(
        name=name, version=version, digest=None, why_no_digest="made up",
        is_needed=there is not None,
    )  # fmt: skip
    kept = [package for package in lock.packages if package.name != name]
    return make_environment(lock.facts, [*kept, new], lock.probes)
