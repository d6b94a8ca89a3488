"""What a report says about machine and software: enough to compare, nothing that names it."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from filmgate.records import Record

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("filmgate", "torch", "av", "numpy", "pyarrow", "msgspec", "typer", "rich")


class Machine(Record, frozen=True):
    """The machine that a report was taken on."""

    cpu: str | None
    """Model name as the kernel tells it; None where it does not."""
    cores: int
    """Cores that this process may use."""
    memory_bytes: int
    """Physical memory."""
    gpus: list[str]
    """Names of the NVIDIA GPUs that the driver lists."""
    kernel: str
    """Operating system, first two numbers of its release, architecture."""


class Software(Record, frozen=True):
    """The software that a report was taken with."""

    python: str
    """Version."""
    packages: dict[str, str]
    """Name -> version, of those that are installed."""
    ffmpeg: str | None
    """Version of the ffmpeg command line; None where it is not installed."""
    commit: str | None
    """Commit of the checkout, with ``+changes`` where tracked files differ; None outside git."""


def this_machine() -> Machine:
    """Facts from the kernel and the driver; nothing is measured."""
    release = ".".join(platform.release().split(".")[:2])
    models = re.findall(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return Machine(
        cpu=models[0] if models else None,
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        gpus=_first_lines("nvidia-smi", "--query-gpu=name", "--format=csv,noheader"),
        kernel=f"{platform.system()} {release} {platform.machine()}",
    )


def this_software() -> Software:
    """Versions of what is installed now."""
    ffmpeg = _first_lines("ffmpeg", "-version")
    commit = _first_lines("git", "-C", str(ROOT), "rev-parse", "HEAD")
    status = ("status", "--porcelain", "--untracked-files=no", "--", ":!benchmarks/reports")
    changed = _first_lines("git", "-C", str(ROOT), *status)
    installed = {str(found.metadata["Name"]).lower() for found in metadata.distributions()}
    return Software(
        python=sys.version.split()[0],
        packages={name: metadata.version(name) for name in PACKAGES if name in installed},
        ffmpeg=ffmpeg[0].split()[2] if ffmpeg else None,
        commit=commit[0] + ("+changes" if changed else "") if commit else None,
    )


def kind_of(machine: Machine) -> str:
    """A word for file names: ``2-cores-amd-epyc``, or with a GPU its name."""
    name = machine.gpus[0] if machine.gpus else machine.cpu or "unknown-cpu"
    words = re.sub(r"[^a-z0-9]+", "-", f"{machine.cores} cores {name}".lower()).strip("-")
    return "-".join(words.split("-")[:7])


def _first_lines(*command: str) -> list[str]:
    """What the command prints, by line; nothing where it is missing or fails."""
    if shutil.which(command[0]) is None:
        return []
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []
