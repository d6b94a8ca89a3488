"""Environments made up for tests: a GPU machine as a lock would tell of it."""

from __future__ import annotations

from collections.abc import Mapping

from filmgate.machine.environment.facts import Environment, Fact, Package, Probe
from filmgate.machine.environment.lock import make_environment

FACTS = {
    "os.system": "Linux",
    "os.architecture": "x86_64",
    "os.kernel": "6.8.0",
    "os.libc": "glibc 2.39",
    "python.version": "3.12.4",
    "cpu.features": "avx avx2",
    "nvidia.driver": "580.65.06",
    "nvidia.driver_cuda": "13.0",
    "gpu.names": "NVIDIA H200",
    "torch.cuda": "13.0",
    "torch.cudnn": "91100",
    "ffmpeg.avcodec": "62.28.102",
    "ffmpeg.configuration": "--enable-libdav1d --enable-libmp3lame --enable-shared",
    "decoder.av1": "libdav1d",
    "variable.OMP_NUM_THREADS": "none",
    "variable.NCCL_DEBUG": "none",
}
PACKAGES = {"av": "18.1.0", "filmgate": "0.1.0", "torch": "2.13.0", "nvidia-cudnn-cu13": "9.11.0",
            "rich": "15.0.0", "msgspec": "0.23.0", "own-model": "1.0"}  # fmt: skip
PROBES = {"frames.h264": "blake3:aa", "frames.mpeg4": "blake3:bb", "step.cpu": "0x1.8p+0 0x1.7p+0"}


def environment(
    facts: Mapping[str, str | None] | None = None,
    packages: Mapping[str, str | None] | None = None,
    probes: Mapping[str, str | None] | None = None,
    builds: Mapping[str, str] | None = None,
) -> Environment:
    """The machine above with some things otherwise; a package of None is not there."""
    versions = {**PACKAGES, **(packages or {})}
    return make_environment(
        [
            Fact(name=name, value=value, why_unknown=None if value is not None else "not told")
            for name, value in {**FACTS, **(facts or {})}.items()
        ],
        [
            Package(
                name=name, version=version, digest=(builds or {}).get(name, f"blake3:{version}"),
                is_needed=name in PACKAGES,
            )
            for name, version in versions.items()
            if version is not None
        ],
        [
            Probe(name=name, value=value, expected="blake3:aa" if name == "frames.h264" else None)
            for name, value in {**PROBES, **(probes or {})}.items()
        ],
    )  # fmt: skip
