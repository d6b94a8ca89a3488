"""The checklist's part on main memory."""

from __future__ import annotations

from filmgate.machine.checks_compute import RULES, no_gpu, vram_bytes
from filmgate.machine.item import Finding
from filmgate.machine.machine import Machine
from filmgate.machine.needs import Needs
from filmgate.machine.thresholds import RAM_PER_VRAM, SHARED_MEMORY_BYTES
from filmgate.units import format_bytes


def main_memory(machine: Machine, needs: Needs) -> Finding:
    """Main memory is at least twice the GPUs' memory, and holds the job's cache and queue."""
    total, allowed = machine.memory.total_bytes, machine.limits.memory_bytes
    if total is None:
        return Finding(status="unknown", evidence=machine.memory.why("total_bytes"))
    usable = total if allowed is None else min(total, allowed)
    seen = format_bytes(usable)
    if usable < total:
        seen += f" by a cgroup limit, of {format_bytes(total)}"
    if needs.ram_bytes is not None and usable < needs.ram_bytes:
        return Finding(
            status="fail", evidence=seen, bar_from="job",
            bar=f"{format_bytes(needs.ram_bytes)} for cache and queue",
            next_step="lower limits.cache or limits.prefetch_batches, or add memory",
        )  # fmt: skip
    if needs.ram_bytes is not None:
        return Finding(
            status="ok", evidence=seen, bar_from="job",
            bar=f"{format_bytes(needs.ram_bytes)} for cache and queue",
        )  # fmt: skip
    return _by_rule(machine, usable, seen)


def _by_rule(machine: Machine, usable: int, seen: str) -> Finding:
    if not machine.gpus:
        finding = no_gpu(machine)
        words = f"{seen}; {finding.evidence}, so that there is nothing to compare"
        return Finding(status=finding.status, evidence=words)
    vram = vram_bytes(machine)
    if vram is None:
        return Finding(status="unknown", evidence=f"{seen}; the GPUs' memory is not known")
    bar = RAM_PER_VRAM.value * vram
    enough = usable >= bar
    return Finding(
        status="ok" if enough else "fail",
        evidence=f"{seen}, {usable / vram:.3g} times the GPUs' {format_bytes(vram)}",
        bar=f"{format_bytes(bar)} ({RAM_PER_VRAM.source})", bar_from=RULES,
        next_step="" if enough else "add memory; a job file says what a job really takes",
    )  # fmt: skip


def shared_memory(machine: Machine, needs: Needs) -> Finding:
    """/dev/shm has room for the batches of loaders that pass them through it."""
    size = machine.limits.shared_memory_bytes
    if size is None:
        return Finding(status="unknown", evidence=machine.limits.why("shared_memory_bytes"))
    bar = f"{format_bytes(SHARED_MEMORY_BYTES.value)} ({SHARED_MEMORY_BYTES.source})"
    if size >= SHARED_MEMORY_BYTES.value:
        return Finding(status="ok", evidence=format_bytes(size), bar=bar, bar_from=RULES)
    return Finding(
        status="warn", evidence=format_bytes(size), bar=bar, bar_from=RULES,
        next_step="start the container with --shm-size; filmgate's own feed does without",
    )  # fmt: skip


def memory_errors(machine: Machine, needs: Needs) -> Finding:
    """Main memory reports no errors."""
    memory = machine.memory
    if memory.uncorrected_errors is None or memory.corrected_errors is None:
        return Finding(status="unknown", evidence=memory.why("uncorrected_errors"))
    words = f"{memory.uncorrected_errors} not corrected, {memory.corrected_errors} corrected"
    if memory.uncorrected_errors:
        return Finding(
            status="fail", evidence=words, next_step="`ras-mc-ctl --errors` names the module"
        )
    if memory.corrected_errors:
        return Finding(
            status="warn", evidence=words, next_step="watch whether they grow; reseat the module"
        )
    return Finding(status="ok", evidence=words)
