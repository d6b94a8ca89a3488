"""Which build of torch an environment gets: standard library and pip's own answers only.

PyPI's torch for Linux carries CUDA: gigabytes that a machine without a GPU has no use for. A CPU
build of the same version carries the local version ``+cpu``, which sorts higher, so pip takes it
wherever one of its sources has it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from tools.environment import Pip, talk

CPU_INDEX = "https://download.pytorch.org/whl/cpu"
"""Where CPU builds are published. Source: https://pytorch.org/get-started/locally/"""
PROBE_SECONDS = 3.0


@dataclass(frozen=True, kw_only=True)
class TorchBuild:
    """Which torch is taken, and how pip is asked for it."""

    requirement: str
    """The ordinary build is asked for with ``===``, so that a ``+cpu`` one does not match."""
    options: tuple[str, ...]
    """Further options of pip."""
    description: str
    """For the person who waits."""


def has_nvidia_gpu() -> bool:
    """As the driver tells it; a card without a driver does not count."""
    if Path("/proc/driver/nvidia/version").exists() or Path("/dev/nvidia0").exists():
        return True
    if shutil.which("nvidia-smi") is None:
        return False
    listing = subprocess.run(
        ["nvidia-smi", "-L"], capture_output=True, text=True, timeout=60, check=False
    )
    return listing.returncode == 0 and "GPU 0" in listing.stdout


def choose_torch(pip: Pip, *, version: str, gpu: bool, cpu_index: str = CPU_INDEX) -> TorchBuild:
    """The ordinary build where there is a GPU; otherwise a CPU build where one is to be had.

    Raises SetupError when pip finds no torch at all.
    """
    ordinary = TorchBuild(
        requirement=f"torch==={version}", options=(), description=f"torch {version}"
    )
    if gpu:
        return ordinary
    reason = why_unreachable(f"{cpu_index}/torch/", PROBE_SECONDS)
    options = () if reason else ("--extra-index-url", cpu_index)
    found = pip.run_python("-m", "pip", "index", "versions", "torch", *options)
    if f"{version}+cpu" in found.replace(",", " ").split():
        return TorchBuild(
            requirement=f"torch=={version}+cpu",
            options=options,
            description=f"torch {version}, CPU build",
        )
    if reason:
        talk(f"  {cpu_index} does not answer: {reason}")
    talk(f"  no CPU build of torch {version} is to be had, so the ordinary one is taken:")
    talk(f"  {describe_download(pip, ordinary.requirement)}")
    return ordinary


def why_unreachable(url: str, deadline_seconds: float) -> str | None:
    """None when the address answers in time; otherwise the reason in a few words.

    In a thread of its own, because looking up a name has no time limit.
    """
    reasons: list[str | None] = []

    def probe() -> None:
        try:
            request = urllib.request.Request(url, method="HEAD")
            with urllib.request.urlopen(request, timeout=deadline_seconds):
                reasons.append(None)
        except (OSError, ValueError) as error:
            reasons.append(str(getattr(error, "reason", error)))

    thread = threading.Thread(target=probe, daemon=True)
    thread.start()
    thread.join(deadline_seconds)
    return reasons[0] if reasons else f"no answer within {deadline_seconds:.0f} s"


def describe_download(pip: Pip, requirement: str) -> str:
    """How much pip would fetch for the requirement and what it needs, in words."""
    report = json.loads(
        pip.run_python(
            *("-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet"),
            *("--report", "-", requirement),
        )
    )
    sizes = [size_bytes(item["download_info"]["url"]) for item in report["install"]]
    known = sum(size for size in sizes if size is not None)
    unknown = sizes.count(None)
    cuda = any(item["metadata"]["name"].startswith("nvidia-") for item in report["install"])
    return (
        f"{'a CUDA build' if cuda else 'a build'} in {len(sizes)} packages, {known / 1e9:.2f} GB"
        + (f" and {unknown} of unknown size" if unknown else "")
    )


def size_bytes(url: str) -> int | None:
    """The size of a file on disk or behind an address; None where it is not told."""
    try:
        request = urllib.request.Request(url, method="HEAD")
        with urllib.request.urlopen(request, timeout=10) as answer:
            length = answer.headers["Content-Length"]
    except (OSError, ValueError):
        return None
    return int(length) if length else None
