"""Kernel, driver, CUDA and video libraries."""

from __future__ import annotations

import re

from filmgate.machine.facts import Facts, Gaps
from filmgate.machine.host import Host, Media
from filmgate.machine.nvml import Nvml
from filmgate.machine.tree import Tree


class Software(Facts, frozen=True, kw_only=True):
    """What runs on the machine."""

    kernel: str | None
    """Release."""
    architecture: str | None
    """``x86_64``."""
    driver_version: str | None
    """NVIDIA's kernel driver."""
    cuda_version: str | None
    """Newest CUDA that the driver can run."""
    python_version: str | None
    """Of the interpreter that filmgate runs in."""
    packages: dict[str, str]
    """Installed package -> version, of those that matter here."""
    media: Media | None
    """FFmpeg."""
    peer_memory: bool | None
    """Whether the module for GPUDirect RDMA is loaded; newer systems do without (dma-buf)."""
    direct_storage: bool | None
    """Whether the module for GPUDirect Storage is loaded."""


def read_software(tree: Tree, host: Host | None, nvml: Nvml | None) -> Software:
    """What is known of it; never raises."""
    gaps = Gaps()
    has_modules = tree.has("sys/module")
    if not has_modules:
        gaps.note("peer_memory", "/sys/module is not there")
        gaps.note("direct_storage", "/sys/module is not there")
    if host is None:
        for field in ("architecture", "python_version", "media"):
            gaps.note(field, "the capture does not tell")
    cuda = nvml.cuda_version if nvml else None
    if cuda is None:
        gaps.note("cuda_version", nvml.why("cuda_version") if nvml else "the capture has no NVML")
    return Software(
        kernel=gaps.take("kernel", lambda: _kernel(tree)),
        architecture=host.architecture if host else None,
        driver_version=(nvml.driver_version if nvml else None)
        or gaps.take("driver_version", lambda: _driver(tree)),
        cuda_version=cuda,
        python_version=host.python_version if host else None,
        packages=host.packages if host else {},
        media=host.media if host else None,
        peer_memory=tree.has("sys/module/nvidia_peermem") if has_modules else None,
        direct_storage=tree.has("sys/module/nvidia_fs") if has_modules else None,
        unknown=gaps.reasons,
    )


def _kernel(tree: Tree) -> str:
    try:
        return tree.text("proc/sys/kernel/osrelease")
    except OSError:
        found = re.match(r"Linux version (\S+)", tree.text("proc/version"))
        if found is None:
            raise ValueError("/proc/version names no release") from None
        return found.group(1)


def _driver(tree: Tree) -> str:
    try:
        return tree.text("sys/module/nvidia/version")
    except OSError:
        raise ValueError("the nvidia module is not loaded") from None
