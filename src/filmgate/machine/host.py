"""What a machine tells by calls and commands instead of files: kept in a capture as they are."""

from __future__ import annotations

import json
import os
import platform
import resource
import shutil
import subprocess
from importlib import metadata

import av
from av.codec.hwaccel import hwdevices_available

from filmgate.machine.deadline import within
from filmgate.machine.facts import Facts, Gaps, words
from filmgate.machine.tree import Tree
from filmgate.records import Record

NO_LIMIT = "no limit is set"
"""Reason for a None that is known: there is no limit."""
COMMAND_SECONDS = 10.0
STATVFS_SECONDS = 5.0
PACKAGES = ("av", "torch", "torchcodec", "numpy", "nvidia-ml-py", "psutil", "pyarrow", "kornia")
VIDEO_DECODERS = (
    "h264", "hevc", "av1", "libdav1d", "vp9", "mpeg4", "mpeg2video", "mjpeg", "prores",
    "h264_cuvid", "hevc_cuvid", "av1_cuvid", "vp9_cuvid",
)  # fmt: skip
VIDEO_ENCODERS = (
    "libx264",
    "libx265",
    "libsvtav1",
    "mpeg4",
    "h264_nvenc",
    "hevc_nvenc",
    "av1_nvenc",
)


class Space(Record, frozen=True):
    """Room on a filesystem."""

    total_bytes: int
    """All of it."""
    free_bytes: int
    """What users other than root may still write."""


class Media(Facts, frozen=True, kw_only=True):
    """The FFmpeg that filmgate decodes with, and the one on the command line."""

    libraries: dict[str, str] | None
    """Library inside PyAV -> version."""
    decoders: list[str] | None
    """Video decoders inside PyAV, of those that matter here."""
    encoders: list[str] | None
    """Video encoders inside PyAV, likewise."""
    hardware: list[str] | None
    """Kinds of hardware that PyAV was built for; whether any works is another question."""
    command_version: str | None
    """Version of ``ffmpeg`` on the command line."""


class Host(Facts, frozen=True, kw_only=True):
    """Answers to calls."""

    affinity: list[int] | None
    """Hardware threads that this process may run on."""
    open_files: int | None
    """Files that a process may have open (soft limit)."""
    locked_bytes: int | None
    """Memory that a process may lock, as RDMA and pinned buffers do; None: no limit."""
    space: dict[str, Space]
    """Mount point -> its room."""
    space_unknown: dict[str, str]
    """Mount point -> why its room is not known."""
    lossless_priorities: dict[str, list[int]]
    """Network interface -> priorities with PFC, as ``dcb`` tells; empty: none."""
    lossless_unknown: dict[str, str]
    """Network interface -> why it is not known."""
    python_version: str
    """Of the interpreter."""
    architecture: str
    """``x86_64``."""
    packages: dict[str, str]
    """Installed package -> version."""
    media: Media
    """FFmpeg."""


def read_host(tree: Tree, mount_points: list[str], interfaces: list[str]) -> Host:
    """Ask this machine; never raises."""
    gaps = Gaps()
    space, space_unknown = _all_space(mount_points)
    lossless, lossless_unknown = _all_priorities(tree, interfaces)
    locked = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    if locked == resource.RLIM_INFINITY:
        gaps.note("locked_bytes", NO_LIMIT)
    return Host(
        affinity=sorted(os.sched_getaffinity(0)),
        open_files=resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        locked_bytes=None if locked == resource.RLIM_INFINITY else locked,
        space=space,
        space_unknown=space_unknown,
        lossless_priorities=lossless,
        lossless_unknown=lossless_unknown,
        python_version=platform.python_version(),
        architecture=platform.machine(),
        packages=_packages(),
        media=_read_media(),
        unknown=gaps.reasons,
    )


def _all_space(mount_points: list[str]) -> tuple[dict[str, Space], dict[str, str]]:
    space, unknown = {}, {}
    for point in mount_points:
        try:
            found = within(STATVFS_SECONDS, lambda point=point: os.statvfs(point), point)  # type: ignore[misc]
            space[point] = Space(
                total_bytes=found.f_blocks * found.f_frsize,
                free_bytes=found.f_bavail * found.f_frsize,
            )
        except OSError as error:
            unknown[point] = words(error)
    return space, unknown


def _all_priorities(
    tree: Tree, interfaces: list[str]
) -> tuple[dict[str, list[int]], dict[str, str]]:
    known, unknown = {}, {}
    for name in interfaces:
        try:
            known[name] = read_priorities(_command("dcb", "-j", "pfc", "show", "dev", name))
        except (OSError, ValueError) as error:
            unknown[name] = f"`dcb -j pfc show dev {name}` tells PFC: {words(error)}"
    return known, unknown


def read_priorities(text: str) -> list[int]:
    """Priorities with PFC in what ``dcb -j pfc show`` prints. Raises ValueError."""
    said = json.loads(text)
    said = said[0] if isinstance(said, list) and said else said
    states = said.get("prio-pfc") if isinstance(said, dict) else None
    if not isinstance(states, list):
        raise ValueError("dcb printed no prio-pfc")
    return [
        number for number, state in enumerate(states) if state is True or str(state) in ("on", "1")
    ]


def _packages() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _read_media() -> Media:
    gaps = Gaps()
    codecs = av.codecs_available
    return Media(
        libraries={
            name: ".".join(map(str, version)) for name, version in av.library_versions.items()
        },
        decoders=[name for name in VIDEO_DECODERS if name in codecs],
        encoders=[name for name in VIDEO_ENCODERS if name in codecs],
        hardware=list(hwdevices_available()),
        command_version=gaps.take("command_version", _ffmpeg_version),
        unknown=gaps.reasons,
    )


def _ffmpeg_version() -> str:
    words = _command("ffmpeg", "-version").split()
    if len(words) < 3:
        raise ValueError("`ffmpeg -version` printed no version")
    return words[2]


def _command(*command: str) -> str:
    """What it prints. Raises OSError or ValueError."""
    if shutil.which(command[0]) is None:
        raise ValueError(f"{command[0]} is not installed")
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise ValueError(f"{command[0]} did not answer within {COMMAND_SECONDS:g} s") from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise ValueError(f"{command[0]}: {said[-1] if said else f'exit code {done.returncode}'}")
    return done.stdout
