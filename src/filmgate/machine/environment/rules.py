"""What a change of a fact can do. The first rule whose pattern fits the fact's name counts."""

from __future__ import annotations

import fnmatch
import shlex
from dataclasses import dataclass

from filmgate.machine.environment.facts import NONE, Environment
from filmgate.machine.environment.grades import Grade
from filmgate.machine.environment.variables import PREFIX, VARIABLES

Judgement = tuple[Grade, str]
"""A grade and why."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """What a change of the facts that fit a pattern can do."""

    pattern: str
    grade: Grade
    why: str


def _rule(pattern: str, grade: Grade, why: str) -> Rule:
    return Rule(pattern=pattern, grade=grade, why=why)


RULES = (
    _rule("os.system", "breaks", "packages are built for one system"),
    _rule("os.architecture", "breaks", "packages are built for one kind of processor"),
    _rule("os.kernel", "performance", "it schedules, and reads files; it computes nothing"),
    _rule(
        "os.libc", "results", "its exp, log and the like round differently from version to version"
    ),
    _rule("os.distribution", "cosmetic", "what of it matters is listed by itself"),
    _rule("python.implementation", "breaks", "packages are built for one Python"),
    _rule("cpu.model", "performance", "what changes results is in cpu.features"),
    _rule(
        "cpu.features",
        "results",
        "libraries choose kernels by them, and the kernels add up in another order",
    ),
    _rule(
        "cpu.cores",
        "results",
        "sums are split over the cores, and another order rounds differently",
    ),
    _rule("memory.gib", "performance", "it bounds caches and workers"),
    _rule("gpu.memory_gib", "performance", "it bounds the batch"),
    _rule("gpu.*", "results", "kernels are chosen by GPU, and gradients are added up over GPUs"),
    _rule("torch.cuda", "results", "its libraries hold the kernels"),
    _rule(
        "torch.cudnn", "results", "it chooses convolution kernels, and versions choose differently"
    ),
    _rule("torch.nccl", "results", "it chooses in which order gradients are added"),
    _rule("torch.*", "results", "torch computes with it"),
    _rule("determinism.*", "results", "it chooses among kernels that round differently"),
    _rule("ffmpeg.avdevice", "cosmetic", "nothing is recorded from devices"),
    _rule("ffmpeg.swresample", "cosmetic", "it resamples sound"),
    _rule(
        "ffmpeg.*",
        "results",
        "versions of decoders and scalers may round differently; the golden frames tell",
    ),
    _rule("decoder.*", "results", "another decoder may round differently"),
    _rule("container.*", "cosmetic", "what differs inside is listed by itself"),
    _rule("git.*", "results", "it is the code that runs"),
    _rule("filmgate.*", "results", "it is the code that runs"),
    *(_rule(PREFIX + one.name, one.grade, one.why) for one in VARIABLES),
)
UNLISTED = _rule("*", "results", "nothing is known of it, so the worst is assumed")

HARMLESS_OPTIONS = (
    "--*able-doc", "--*able-programs", "--*able-static", "--*able-shared", "--*able-debug",
    "--*able-gnutls", "--*able-openssl", "--*able-network", "--*able-protocol=*", "--*able-alsa",
    "--*able-libmp3lame", "--*able-libopus", "--*able-libvorbis", "--*able-libopencore-*",
    "--*able-libspeex", "--*able-libfdk-aac", "--*able-libass", "--*able-libfontconfig",
    "--*able-libfreetype", "--*able-libfribidi", "--*able-libharfbuzz", "--*able-libjack",
    "--*able-libpulse", "--*able-libxcb*", "--*able-sdl2", "--*able-indev=*", "--*able-outdev=*",
    "--*able-libbluray", "--*able-libxml2", "--*able-librtmp", "--*able-libsrt", "--*able-libssh",
    "--*able-version3", "--*able-gpl", "--*able-nonfree", "--*able-mediafoundation",
    "--*able-iconv",
)  # fmt: skip
"""Options of FFmpeg's configure that touch neither pictures nor speed: sound, protocols, devices,
subtitles, licences, how the libraries are packed. Source: ``configure --help`` of FFmpeg 8.1."""


def judge_fact(name: str, here: str, there: str, a: Environment, b: Environment) -> Judgement:
    """What it can do that a known fact is ``here`` in ``a`` and ``there`` in ``b``."""
    if name.startswith("nvidia."):
        return _judge_driver(here, there, a, b)
    if name == "python.version":
        return _judge_python(here, there)
    if name == "ffmpeg.configuration":
        return _judge_configuration(here, there)
    if name.startswith(("decoder.", "gpu.")) and there == NONE:
        return "breaks", "it is there in the first, and missing in the second"
    rule = rule_of(name)
    return rule.grade, rule.why


def rule_of(name: str) -> Rule:
    """The rule for a fact."""
    for rule in RULES:
        if fnmatch.fnmatchcase(name, rule.pattern):
            return rule
    return UNLISTED


def _judge_driver(here: str, there: str, a: Environment, b: Environment) -> Judgement:
    """Source: CUDA Compatibility, https://docs.nvidia.com/deploy/cuda-compatibility/: a driver runs
    every CUDA up to its own major version."""
    needs = a.value("torch.cuda")
    runs = b.value("nvidia.driver_cuda")
    if there == NONE and needs not in (None, NONE):
        return "breaks", "the second has no driver, and this torch is built for CUDA"
    if needs not in (None, NONE) and runs not in (None, NONE) and _major(runs) < _major(needs):
        return "breaks", f"the second's driver runs CUDA up to {runs}, and torch needs {needs}"
    if here != NONE and there == NONE:
        return "breaks", "the second has no driver"
    return (
        "performance",
        "kernels come with torch, not with the driver; it compiles only those built for an older "
        "GPU",
    )


def _judge_python(here: str, there: str) -> Judgement:
    if here.split(".")[:2] != there.split(".")[:2]:
        return "breaks", "packages are built for one minor version"
    return "cosmetic", "a patch release mends faults and keeps arithmetic"


def _judge_configuration(here: str, there: str) -> Judgement:
    changed = sorted(set(shlex.split(here)) ^ set(shlex.split(there)))
    telling = [
        option
        for option in changed
        if not any(fnmatch.fnmatchcase(option, harmless) for harmless in HARMLESS_OPTIONS)
    ]
    if not telling:
        return "cosmetic", f"only {' '.join(changed)}: neither pictures nor speed"
    return "results", f"built with other options: {' '.join(telling)}"


def _major(version: str | None) -> int:
    assert version is not None
    return int(version.split(".")[0])
