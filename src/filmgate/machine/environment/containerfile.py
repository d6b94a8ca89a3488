"""A container image with the packages of a lock: the same environment here and in the cloud."""

from __future__ import annotations

import re

from filmgate.machine.environment.facts import Environment
from filmgate.machine.environment.variables import PREFIX

CPU_INDEX = "https://download.pytorch.org/whl/"
"""Where builds with a local version (``+cpu``, ``+cu130``) are published.
Source: https://pytorch.org/get-started/locally/"""
SUITES = {"11": "bullseye", "12": "bookworm", "13": "trixie"}
"""Debian's release -> its name in the tags of the official Python images."""
KEPT = ("OMP_", "MKL_", "CUBLAS_", "NCCL_", "NVIDIA_TF32", "TORCH_", "PYTORCH_",
        "CUDA_DEVICE_ORDER", "PYTHONHASHSEED", "ONEDNN_", "DNNL_", "ATEN_")  # fmt: skip
"""Variables that belong to the image; those that choose devices or places belong to the host."""
NOT_PINNED = ("filmgate", "pip")


def requirements_text(environment: Environment) -> str:
    """Pinned packages, one a line, for ``pip install --no-deps -r``.

    Packages that nothing needs are left out, and so is filmgate, which is installed by itself.
    """
    needed = [
        package
        for package in environment.packages
        if package.is_needed and package.name not in NOT_PINNED
    ]
    builds = {
        package.version.partition("+")[2]
        for package in needed
        if package.name.startswith("torch") and "+" in package.version
    }
    lines = [f"--extra-index-url {CPU_INDEX}{build}" for build in sorted(builds)]
    return "\n".join([*lines, *(f"{one.name}=={one.version}" for one in needed)]) + "\n"


def containerfile_text(environment: Environment) -> str:
    """The Containerfile; it stands beside ``requirements.txt``, ``environment.json`` and the source
    of filmgate in the folder ``filmgate``. The build ends with a check against the lock."""
    commit, changes = environment.value("filmgate.commit"), environment.value("filmgate.changes")
    state = "" if changes in (None, "none") else ", with changes that are in no commit"
    source = f"commit {commit}{state}" if commit not in (None, "none") else "the installed release"
    digest = environment.header.inputs["environment"]
    return "\n".join(
        [
            f"# Written by `filmgate env lock`; environment {digest}",
            f"# filmgate: {source}. The driver is the host's; CUDA comes with torch.",
            f"FROM docker.io/library/python:{_python_tag(environment)}",
            *_environment_lines(environment),
            "COPY requirements.txt environment.json /lock/",
            "RUN pip install --no-cache-dir --no-deps -r /lock/requirements.txt",
            "COPY filmgate /src/filmgate",
            "RUN pip install --no-cache-dir --no-deps /src/filmgate",
            "# Packages and decoders have to be those of the lock; the machine may be another.",
            "RUN filmgate env check /lock/environment.json --only package --only ffmpeg "
            "--only decoder --only probe.frames",
            "",
        ]
    )


def _python_tag(environment: Environment) -> str:
    """Of the image: the same Python, on the same Debian where it is one."""
    version = environment.value("python.version") or "3.11"
    found = re.match(r"Debian GNU/Linux (\d+)", environment.value("os.distribution") or "")
    suite = SUITES.get(found.group(1)) if found else None
    return f"{version}-slim-{suite}" if suite else f"{version}-slim"


def _environment_lines(environment: Environment) -> list[str]:
    """Variables that were set; a digest in place of a value cannot be set again."""
    return [
        f'ENV {name}="{fact.value}"'
        for fact in environment.facts
        if (name := fact.name.removeprefix(PREFIX)) != fact.name
        and name.startswith(KEPT)
        and fact.value not in (None, "none")
        and not str(fact.value).startswith("blake3:")
    ]
