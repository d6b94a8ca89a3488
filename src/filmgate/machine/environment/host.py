"""Facts of the operating system, the CPU, the driver, the container and git."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import psutil

from filmgate.machine.environment.facts import NONE, Fact, fact_of
from filmgate.records import digest_bytes
from filmgate.work.cores import num_usable_cores

DEADLINE_SECONDS = 20
"""For git, which may sit on a slow network folder."""
INSTRUCTIONS = re.compile(
    r"(sse\w*|ssse3|avx\w*|fma\w*|f16c|amx\w*|bmi\w*|gfni|vaes|popcnt"
    r"|asimd\w*|neon|sve\w*|sme\w*|bf16|i8mm|fphp|fp)"
)
"""CPU flags by which libraries choose kernels."""
DRIVER_FILES = (Path("/sys/module/nvidia/version"), Path("/proc/driver/nvidia/version"))
HERE = Path(__file__).resolve().parent


def host_facts(*, container_digest: str | None = None, folder: Path | None = None) -> list[Fact]:
    """The facts; ``folder`` is the user's own code, none: the current directory."""
    libc = " ".join(platform.libc_ver()).strip()
    no_cpu = "/proc/cpuinfo does not tell"
    return [
        Fact(name="os.system", value=platform.system()),
        Fact(name="os.architecture", value=platform.machine()),
        Fact(name="os.kernel", value=platform.release()),
        fact_of("os.libc", lambda: libc or None, "Python cannot tell"),
        fact_of("os.distribution", _distribution, "no /etc/os-release"),
        Fact(name="python.version", value=platform.python_version()),
        Fact(name="python.implementation", value=sys.implementation.name),
        fact_of("cpu.model", lambda: _cpu(r"model name|Model"), no_cpu),
        fact_of("cpu.features", _features, no_cpu),
        Fact(name="cpu.cores", value=str(num_usable_cores())),
        Fact(name="memory.gib", value=f"{psutil.virtual_memory().total / 2**30:.0f}"),
        fact_of("nvidia.driver", _driver, "not told"),
        fact_of("nvidia.driver_cuda", _driver_cuda, "libcuda.so.1 gives no version"),
        Fact(name="container.kind", value=_container()),
        fact_of(
            "container.digest",
            lambda: container_digest or _image_digest(),
            "a container cannot read the digest of its image; give it with --container-digest",
        ),
        *_git_facts("git", folder or Path.cwd()),
        *_git_facts("filmgate", HERE),
    ]


def _distribution() -> str | None:
    text = Path("/etc/os-release").read_text()
    found = re.search(r'^PRETTY_NAME="?([^"\n]+)', text, re.MULTILINE)
    return found.group(1) if found else None


def _cpu(key: str) -> str | None:
    text = Path("/proc/cpuinfo").read_text()
    found = re.search(rf"^(?:{key})\s*:\s*(.+)$", text, re.MULTILINE)
    return found.group(1).strip() if found else None


def _features() -> str | None:
    flags = _cpu("flags|Features")
    if flags is None:
        return None
    return " ".join(sorted(flag for flag in flags.split() if INSTRUCTIONS.fullmatch(flag)))


def _driver() -> str | None:
    """The kernel module's version; ``none`` where no module is loaded."""
    for path in DRIVER_FILES:
        if path.exists():
            found = re.search(r"\d+\.\d+(\.\d+)?", path.read_text())
            return found.group() if found else None
    return NONE if not Path("/dev/nvidiactl").exists() else None


def _driver_cuda() -> str | None:
    """The newest CUDA that the driver runs. Source: CUDA driver API, cuDriverGetVersion."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return NONE
    version = ctypes.c_int()
    if library.cuDriverGetVersion(ctypes.byref(version)) != 0:
        return None
    return f"{version.value // 1000}.{version.value % 1000 // 10}"


def _container() -> str:
    if Path("/run/.containerenv").exists():
        return "podman"
    if Path("/.dockerenv").exists():
        return "docker"
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return "kubernetes"
    for variable in ("APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"):
        if os.environ.get(variable):
            return "apptainer"
    return NONE


def _image_digest() -> str | None:
    if _container() == NONE:
        return NONE
    path = Path("/run/.containerenv")
    if not path.exists():
        return None
    found = re.search(r'^imageid="?([0-9a-f:]+)', path.read_text(), re.MULTILINE)
    return found.group(1) if found else None


def _git_facts(area: str, folder: Path) -> list[Fact]:
    """Commit, and what is changed since, as a digest. Remotes are left out: they hold tokens."""
    commit, changes = f"{area}.commit", f"{area}.changes"
    if shutil.which("git") is None:
        reason = "git is not installed"
        return [Fact(name=name, value=None, why_unknown=reason) for name in (commit, changes)]
    head = _git(folder, "rev-parse", "HEAD")
    if head is None:
        return [Fact(name=commit, value=NONE), Fact(name=changes, value=NONE)]
    difference = _git(folder, "diff", "HEAD", "--no-color", "--no-ext-diff")
    if difference is None:
        reason = "git diff failed"
        return [
            Fact(name=commit, value=head.decode().strip()),
            Fact(name=changes, value=None, why_unknown=reason),
        ]
    return [
        Fact(name=commit, value=head.decode().strip()),
        Fact(name=changes, value=digest_bytes(difference) if difference else NONE),
    ]


def _git(folder: Path, *arguments: str) -> bytes | None:
    """What git says; None where the folder is in no repository or git does not answer in time."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True, timeout=DEADLINE_SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return None
    return done.stdout if done.returncode == 0 else None
