"""The checklist's part on compute: GPUs, their links, the cores that feed them."""

from __future__ import annotations

from typing import Literal

from filmgate.machine.gpu import Gpu
from filmgate.machine.item import Finding, Status, worst
from filmgate.machine.machine import Machine
from filmgate.machine.needs import Needs
from filmgate.machine.pci import NVIDIA, Link
from filmgate.machine.thresholds import (
    CORES_PER_GPU,
    CORES_PER_GPU_LEAST,
    GPUS_FOR_NVLINK,
    IDLE_PERFORMANCE_STATE,
    USABLE_CPU_SHARE,
)
from filmgate.units import format_bytes

RULES: Literal["rules"] = "rules"
BUSY_SHARE = 0.05


def driver(machine: Machine, needs: Needs) -> Finding:
    """The driver answers for every GPU."""
    if not machine.gpus:
        return no_gpu(machine)
    silent = [gpu for gpu in machine.gpus if gpu.nvml is None]
    if not silent:
        software = machine.software
        return Finding(
            status="ok",
            evidence=f"driver {software.driver_version}, CUDA up to {software.cuda_version}, "
            f"{len(machine.gpus)} GPUs",
        )
    vendors = {device.address: device.vendor for device in machine.pci}
    words = f"{_count(silent)} without an answer of the driver: {silent[0].why('nvml')}"
    if not machine.asked_nvml or any(
        vendors.get(gpu.pci_address or "") != NVIDIA for gpu in silent
    ):
        return Finding(
            status="unknown", evidence=words, next_step="run the audit on the machine itself"
        )
    return Finding(
        status="fail", evidence=words, next_step="install NVIDIA's driver; `nvidia-smi` tests it"
    )


def gpu_memory(machine: Machine, needs: Needs) -> Finding:
    """The memory of all GPUs holds model and batch."""
    if not machine.gpus:
        return no_gpu(machine)
    total = vram_bytes(machine)
    if total is None:
        return Finding(status="unknown", evidence=_why_no_memory(machine))
    seen = f"{len(machine.gpus)} GPUs with {format_bytes(total)} together"
    if needs.vram_bytes is None:
        return Finding(
            status="unknown", evidence=f"{seen}; what the job needs was not told",
            next_step="tell it with --need-vram",
        )  # fmt: skip
    enough = total >= needs.vram_bytes
    return Finding(
        status="ok" if enough else "fail",
        evidence=seen, bar=format_bytes(needs.vram_bytes), bar_from="command line",
        next_step="" if enough else "smaller batch, activation checkpointing, or more memory",
    )  # fmt: skip


def gpu_links(machine: Machine, needs: Needs) -> Finding:
    """From four GPUs on, NVLink or NVSwitch joins them, every link of it up."""
    if not machine.gpus:
        return no_gpu(machine)
    if len(machine.gpus) == 1:
        return Finding(status="not present", evidence="one GPU has nobody to talk to")
    counts = [None if gpu.nvlinks is None else len(gpu.nvlinks) for gpu in machine.gpus]
    if None in counts:
        gpu = machine.gpus[counts.index(None)]
        return Finding(status="unknown", evidence=f"GPU {gpu.index}: {gpu.why('nvlinks')}")
    known = [count for count in counts if count is not None]
    if max(known) == 0:
        few = len(known) < GPUS_FOR_NVLINK.value
        return Finding(
            status="ok" if few else "warn",
            evidence=f"{len(known)} GPUs talk over PCI Express alone",
            bar=GPUS_FOR_NVLINK.source, bar_from=RULES,
            next_step="" if few else "full fine-tuning of large models sends all gradients each "
            "step; adapters send little",
        )  # fmt: skip
    short = [gpu for gpu, count in zip(machine.gpus, known, strict=True) if count < max(known)]
    if short:
        return Finding(
            status="fail",
            evidence=f"{_count(short)} with {min(known)} NVLinks where others have {max(known)}",
            next_step="`nvidia-smi nvlink -s` shows which; reseat the bridge or the GPU",
        )
    links = machine.gpus[0].nvlinks or []
    through = "through NVSwitch" if any(link.to_switch for link in links) else "directly"
    rates = [link.bytes_per_second for link in links]
    total = sum(rate for rate in rates if rate) if all(rates) else None
    speed = f", {format_bytes(total)}/s each way" if total else ""
    return Finding(
        status="ok", evidence=f"{len(known)} GPUs, {max(known)} NVLinks each {through}{speed}"
    )


def pcie_links(machine: Machine, needs: Needs) -> Finding:
    """Every GPU has all the PCI Express lanes and the generation that it and its slot can."""
    if not machine.gpus:
        return no_gpu(machine)
    return worst([_pcie_link(gpu) for gpu in machine.gpus])


def _pcie_link(gpu: Gpu) -> Finding:
    name = f"GPU {gpu.index}"
    if gpu.link is None or gpu.link_max is None:
        unread = "link" if gpu.link is None else "link_max"
        return Finding(
            status="unknown", evidence=f"{name}: {gpu.why(unread)}",
            next_step="`sudo lspci -vv` shows LnkSta and LnkCap",
        )  # fmt: skip
    able = _able(gpu.link_max, gpu.slot_max)
    words = f"{name}: link {gpu.link} of {able}"
    if gpu.link.width < able.width:
        return Finding(
            status="fail", evidence=words, bar=str(able), bar_from=RULES,
            next_step="reseat the GPU and its riser; look for lanes that the slot shares",
        )  # fmt: skip
    if gpu.link.generation < able.generation:
        return _slow_generation(gpu, words, able)
    if able.width < gpu.link_max.width or able.generation < gpu.link_max.generation:
        return Finding(
            status="warn", evidence=f"{words}; the GPU itself can {gpu.link_max}",
            bar=str(gpu.link_max), bar_from=RULES, next_step="the slot is the limit; move the GPU",
        )  # fmt: skip
    if gpu.path is not None and gpu.path.bytes_per_second < gpu.link.bytes_per_second:
        return Finding(
            status="warn", evidence=f"{words}; {gpu.path_at} above it is {gpu.path}",
            bar=str(able), bar_from=RULES, next_step="what lies above the GPU is the limit",
        )  # fmt: skip
    return Finding(status="ok", evidence=words)


def _slow_generation(gpu: Gpu, words: str, able: Link) -> Finding:
    """A GPU at rest turns its link down, so only one at work says something."""
    busy = _is_busy(gpu)
    if busy:
        return Finding(
            status="fail", evidence=f"{words}, while it works", bar=str(able), bar_from=RULES,
            next_step="set the slot's generation in the firmware; try another riser or slot",
        )  # fmt: skip
    why = "idle GPUs turn their link down" if busy is False else "whether it works is not known"
    return Finding(
        status="unknown", evidence=f"{words}; {why}", bar=str(able), bar_from=RULES,
        next_step="audit again while a job runs",
    )  # fmt: skip


def _is_busy(gpu: Gpu) -> bool | None:
    told = gpu.nvml
    if told is None or told.performance_state is None:
        return None
    at_work = (told.utilisation_share or 0.0) >= BUSY_SHARE
    return told.performance_state < IDLE_PERFORMANCE_STATE.value and at_work


def _able(gpu: Link, slot: Link | None) -> Link:
    if slot is None:
        return gpu
    return Link(generation=min(gpu.generation, slot.generation), width=min(gpu.width, slot.width))


def gpu_health(machine: Machine, needs: Needs) -> Finding:
    """No GPU has memory errors, rows to be replaced, or something that slows it down."""
    if not machine.gpus:
        return no_gpu(machine)
    fatal = {device.address: device.errors_fatal for device in machine.pci}
    return worst([_health(gpu, fatal.get(gpu.pci_address or "")) for gpu in machine.gpus])


def _health(gpu: Gpu, fatal_errors: int | None) -> Finding:
    told, name = gpu.nvml, f"GPU {gpu.index}"
    if fatal_errors:
        return Finding(
            status="fail", evidence=f"{name}: {fatal_errors} fatal errors of its PCI Express link",
            next_step="reseat the GPU and its riser; the kernel's log (AER) tells which errors",
        )  # fmt: skip
    if told is None:
        return Finding(status="unknown", evidence=f"{name}: {gpu.why('nvml')}")
    bad = [
        words for words, is_so in (
            (f"{told.uncorrected_errors} memory errors", bool(told.uncorrected_errors)),
            ("spare rows ran out", bool(told.remap_failed)),
        ) if is_so
    ]  # fmt: skip
    if bad:
        return Finding(
            status="fail", evidence=f"{name}: {', '.join(bad)}",
            next_step="`nvidia-smi -q -d ECC,ROW_REMAPPER` shows them; have the GPU replaced",
        )  # fmt: skip
    slowed = told.throttle_reasons or []
    if told.remap_pending or slowed or told.pcie_replays:
        words = [f"slowed down by {', '.join(slowed)}"] if slowed else []
        words += ["rows wait for a reset"] if told.remap_pending else []
        words += [f"{told.pcie_replays} packets sent again"] if told.pcie_replays else []
        return Finding(
            status="warn", evidence=f"{name}: {', '.join(words)}",
            next_step="look at its cooling, power limit and riser; reset it when it is free",
        )  # fmt: skip
    if told.throttle_reasons is None and told.uncorrected_errors is None:
        return Finding(status="unknown", evidence=f"{name}: {told.why('throttle_reasons')}")
    ecc = {True: "ECC on", False: "ECC off", None: "no ECC"}[told.ecc_enabled]
    return Finding(status="ok", evidence=f"{name}: {ecc}, nothing slows it down")


def cores_per_gpu(machine: Machine, needs: Needs) -> Finding:
    """Every GPU has 16 to 32 CPU cores to feed it."""
    if not machine.gpus:
        return no_gpu(machine)
    usable, count = machine.limits.usable_cores, len(machine.gpus)
    if usable is None:
        return Finding(status="unknown", evidence=machine.limits.why("usable_cores"))
    seen = f"{usable} usable cores for {count} GPUs, {usable / count:.3g} each"
    if needs.cores is not None:
        enough = usable >= needs.cores
        return Finding(
            status="ok" if enough else "fail", evidence=seen,
            bar=f"{needs.cores} cores ({needs.cores_from})", bar_from="job",
            next_step="" if enough else "allow the process more CPUs, or lower limits.workers",
        )  # fmt: skip
    each = usable / count
    status: Status = "ok" if each >= CORES_PER_GPU.value else "warn"
    if each < CORES_PER_GPU_LEAST.value:
        status = "fail"
    return Finding(
        status=status, evidence=seen,
        bar=f"{CORES_PER_GPU.value:g} cores for each GPU ({CORES_PER_GPU.source})", bar_from=RULES,
        next_step="" if status == "ok"
        else "a training copy needs fewer cores; `filmgate feed bench` tells how many",
    )  # fmt: skip


def cpu_limit(machine: Machine, needs: Needs) -> Finding:
    """The process may use the machine's CPUs."""
    limits, there = machine.limits, machine.cpu.num_cpus
    if limits.usable_cores is None or there is None:
        why = (
            limits.why("usable_cores")
            if limits.usable_cores is None
            else machine.cpu.why("num_cpus")
        )
        return Finding(status="unknown", evidence=why)
    words = f"{limits.usable_cores} of {there} CPUs"
    if limits.quota_cores is not None:
        words += f", by a cgroup quota of {limits.quota_cores:g}"
    elif limits.cpus is not None and len(limits.cpus) < there:
        words += ", by affinity or cpuset"
    if limits.usable_cores >= there * USABLE_CPU_SHARE.value:
        return Finding(status="ok", evidence=words)
    return Finding(
        status="warn", evidence=words, bar_from=RULES,
        bar=f"{USABLE_CPU_SHARE.value:.0%} of the CPUs ({USABLE_CPU_SHARE.source})",
        next_step="raise the container's or the job's CPU limit",
    )  # fmt: skip


def no_gpu(machine: Machine) -> Finding:
    """For checks that need one."""
    if "pci" in machine.unknown and not machine.asked_nvml:
        return Finding(status="unknown", evidence=f"no GPU is to be seen: {machine.unknown['pci']}")
    return Finding(status="not present", evidence="no GPU hangs on this machine")


def vram_bytes(machine: Machine) -> int | None:
    """Memory of all GPUs; None where one of them does not tell."""
    told = [gpu.memory_bytes for gpu in machine.gpus]
    return sum(size for size in told if size) if told and all(told) else None


def _why_no_memory(machine: Machine) -> str:
    gpu = next(gpu for gpu in machine.gpus if not gpu.memory_bytes)
    return f"GPU {gpu.index}: {gpu.why('memory_bytes')}"


def _count(gpus: list[Gpu]) -> str:
    numbers = ", ".join(str(gpu.index) for gpu in gpus)
    return f"GPU {numbers}" if len(gpus) == 1 else f"GPUs {numbers}"
