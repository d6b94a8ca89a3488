"""A machine's facts as rows for people; what is unknown says why."""

from __future__ import annotations

from filmgate.machine import Facts, Machine
from filmgate.machine.filesystems import Filesystem
from filmgate.machine.gpu import Gpu
from filmgate.machine.host import NO_LIMIT
from filmgate.units import format_bytes


def machine_rows(machine: Machine) -> list[tuple[str, str]]:
    """(name, value) of everything that the drawing does not say."""
    software, limits, bmc = machine.software, machine.limits, machine.bmc
    rows = [("read from", machine.origin)]
    rows += [(f"GPU {gpu.index}", gpu_words(gpu)) for gpu in machine.gpus]
    if not machine.gpus:
        rows.append(("GPUs", machine.unknown.get("pci", "none")))
    rows += [
        ("usable cores", told(limits, "usable_cores")),
        ("memory limit", _size(limits, "memory_bytes")),
        ("/dev/shm", _size(limits, "shared_memory_bytes")),
        ("open files", told(limits, "open_files")),
        ("remote management", bmc.evidence or f"unknown: {bmc.why('is_there')}"),
        ("kernel", told(software, "kernel")),
        ("NVIDIA driver", told(software, "driver_version")),
        ("CUDA up to", told(software, "cuda_version")),
    ]
    rows += _media_rows(machine)
    rows += [(one.mount_point, filesystem_words(one)) for one in machine.filesystems]
    return rows


def told(facts: Facts, field: str) -> str:
    """A field's value, or ``unknown`` with why."""
    value = getattr(facts, field)
    if value is not None:
        return str(value)
    return NO_LIMIT if facts.why(field) == NO_LIMIT else f"unknown: {facts.why(field)}"


def gpu_words(gpu: Gpu) -> str:
    """One GPU on one line."""
    memory = gpu.memory_bytes
    words = [
        gpu.name or "name unknown",
        f"memory unknown: {gpu.why('memory_bytes')}" if memory is None else format_bytes(memory),
        f"link {gpu.link}" if gpu.link else f"link unknown: {gpu.why('link')}",
    ]
    if gpu.nvlinks:
        words.append(f"{len(gpu.nvlinks)} NVLinks")
    if gpu.nvml is not None and gpu.nvml.compute_capability:
        words.append(f"compute capability {gpu.nvml.compute_capability}")
    if gpu.nvml is not None and gpu.nvml.power_limit_watts is not None:
        words.append(f"{gpu.nvml.power_limit_watts:.0f} W")
    return ", ".join(words)


def filesystem_words(one: Filesystem) -> str:
    """One mount on one line."""
    words = [one.kind, one.device or one.source]
    if one.total_bytes is None or one.free_bytes is None:
        words.append(f"room unknown: {one.why('free_bytes')}")
    else:
        words.append(f"{format_bytes(one.free_bytes)} of {format_bytes(one.total_bytes)} free")
    if one.is_network:
        words.append("on another machine")
    if one.is_read_only:
        words.append("read only")
    return ", ".join(words)


def _size(facts: Facts, field: str) -> str:
    value = getattr(facts, field)
    return told(facts, field) if value is None else format_bytes(value)


def _media_rows(machine: Machine) -> list[tuple[str, str]]:
    media = machine.software.media
    if media is None:
        return [("FFmpeg", told(machine.software, "media"))]
    libraries = media.libraries or {}
    has_gpu = bool(machine.gpus)
    return [
        ("FFmpeg inside PyAV", ", ".join(f"{name} {said}" for name, said in libraries.items())),
        ("video decoders", _codecs(media.decoders or [], has_gpu=has_gpu)),
        ("video encoders", _codecs(media.encoders or [], has_gpu=has_gpu)),
        ("built for", ", ".join(media.hardware or []) or "no hardware"),
        ("ffmpeg command", told(media, "command_version")),
    ]


def _codecs(names: list[str], *, has_gpu: bool) -> str:
    """FFmpeg has codecs of NVIDIA's GPUs on every machine; without such a GPU they stand apart."""
    idle = [] if has_gpu else [name for name in names if name.endswith(("_cuvid", "_nvenc"))]
    said = ", ".join(name for name in names if name not in idle)
    return f"{said}; not without an NVIDIA GPU: {', '.join(idle)}" if idle else said
