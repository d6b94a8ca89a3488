"""What moves on the host while it works: clocks, stolen time, pressure, sensors, error counters.

Sources: proc(5) for /proc/stat; Documentation/accounting/psi.rst; the kernel's ABI documentation of
thermal_throttle, thermal zones, hwmon, EDAC, AER and powercap.
"""

from __future__ import annotations

import os
import re
import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

from filmgate.machine.cpu import CPUS, is_virtual, online_cpus
from filmgate.machine.facts import Facts, Gaps
from filmgate.machine.limits import cgroup_folders
from filmgate.machine.tree import Tree

EDAC = "sys/devices/system/edac/mc"
PCI = "sys/bus/pci/devices"
RESOURCES = ("cpu", "io", "memory")
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


class HostPulse(Facts, frozen=True, kw_only=True):
    """The host at one moment. Counters go on from wherever they were."""

    clock_hertz: float | None
    """Mean over the hardware threads that are online."""
    busy_seconds: float | None
    """Counter of CPU time that anything used, all hardware threads together."""
    stolen_seconds: float | None
    """Counter of CPU time that the hypervisor gave to others, all hardware threads together."""
    num_cpus: int | None
    """Hardware threads that are online."""
    limited_seconds: float | None
    """Counter of time in which the cgroup's quota held this process's group back."""
    throttles: int | None
    """Counter of times that a core was slowed down by heat."""
    stalled_seconds: dict[str, float] | None
    """Resource (cpu, io, memory) -> counter of time in which something waited for it."""
    temperatures: dict[str, float] | None
    """Sensor -> degrees Celsius."""
    fans: dict[str, float] | None
    """Fan -> turns a minute."""
    energy_joules: float | None
    """Counter of the processor packages; it wraps."""
    corrected_errors: int | None
    """Counter of main memory's ECC errors that were corrected."""
    uncorrected_errors: int | None
    """Counter of main memory's ECC errors that were not."""
    pcie_errors: int | None
    """Counter of errors on PCI Express that were corrected, all devices together."""


def read_host_pulse(tree: Tree) -> HostPulse:
    """The host now; never raises."""
    gaps = Gaps()
    readers: dict[str, Callable[[Tree], object]] = {
        "clock_hertz": _clock,
        "limited_seconds": _limited,
        "throttles": _throttles,
        "stalled_seconds": _stalled,
        "temperatures": _temperatures,
        "fans": _fans,
        "energy_joules": _energy,
        "corrected_errors": lambda tree: _edac(tree, "ce_count"),
        "uncorrected_errors": lambda tree: _edac(tree, "ue_count"),
        "pcie_errors": _pcie_errors,
        "num_cpus": lambda tree: len(online_cpus(tree)),
    }
    told: dict[str, Any] = {
        field: gaps.take(field, partial(read, tree)) for field, read in readers.items()
    }
    times = gaps.take("busy_seconds", lambda: _times(tree))
    if times is None:
        gaps.note("stolen_seconds", gaps.reasons["busy_seconds"])
    return HostPulse(
        busy_seconds=times[0] if times else None,
        stolen_seconds=times[1] if times else None,
        unknown=gaps.reasons,
        **told,
    )


def _times(tree: Tree) -> tuple[float, float]:
    """Busy and stolen seconds."""
    found = re.search(r"^cpu\s+([\d ]+)$", tree.text("proc/stat"), re.MULTILINE)
    ticks = [int(one) for one in found.group(1).split()] if found else []
    if len(ticks) < 8:
        raise ValueError("/proc/stat has no line of all processors")
    user, nice, system, _idle, _waits, interrupts, soft, stolen = ticks[:8]
    busy = user + nice + system + interrupts + soft
    return busy / TICKS_PER_SECOND, stolen / TICKS_PER_SECOND


def _clock(tree: Tree) -> float:
    """From cpufreq where it is; otherwise what /proc/cpuinfo tells."""
    files = [f"{CPUS}/cpu{cpu}/cpufreq/scaling_cur_freq" for cpu in sorted(online_cpus(tree))]
    if tree.has(files[0]):
        return statistics.fmean(tree.number(file) * 1e3 for file in files if tree.has(file))
    info = tree.text("proc/cpuinfo")
    if is_virtual(info):
        raise ValueError("a hypervisor lies below: what /proc/cpuinfo tells is no measured clock")
    told = re.findall(r"^cpu MHz\s*:\s*([\d.]+)$", info, re.MULTILINE)
    if not told:
        raise ValueError("neither cpufreq nor /proc/cpuinfo tells the clock")
    return statistics.fmean(float(one) * 1e6 for one in told)


def _limited(tree: Tree) -> float:
    """The most of this process's cgroup and those above it."""
    found = []
    for folder in cgroup_folders(tree, "cpu"):
        if tree.has(f"{folder}/cpu.stat"):
            text = tree.text(f"{folder}/cpu.stat")
            microseconds = re.search(r"^throttled_usec (\d+)$", text, re.MULTILINE)
            nanoseconds = re.search(r"^throttled_time (\d+)$", text, re.MULTILINE)
            if microseconds:
                found.append(int(microseconds.group(1)) / 1e6)
            elif nanoseconds:
                found.append(int(nanoseconds.group(1)) / 1e9)
    if not found:
        raise ValueError("no cgroup tells how long its quota held it back")
    return max(found)


def _throttles(tree: Tree) -> int:
    files = [f"{CPUS}/cpu{cpu}/thermal_throttle/core_throttle_count" for cpu in online_cpus(tree)]
    there = [file for file in files if tree.has(file)]
    if not there:
        raise ValueError("these processors count no slow-downs by heat")
    return sum(tree.number(file) for file in there)


def _stalled(tree: Tree) -> dict[str, float]:
    told = {}
    for resource in RESOURCES:
        found = re.search(r"^some .*total=(\d+)", tree.text(f"proc/pressure/{resource}"), re.M)
        if found:
            told[resource] = int(found.group(1)) / 1e6
    return told


def _temperatures(tree: Tree) -> dict[str, float]:
    told: dict[str, float] = {}
    for zone in tree.names("sys/class/thermal"):
        folder = f"sys/class/thermal/{zone}"
        if zone.startswith("thermal_zone") and tree.has(f"{folder}/temp"):
            _take(told, tree, f"{folder}/type", f"{folder}/temp", 1000, zone)
    for monitor, name in _monitors(tree, "temp"):
        base = f"sys/class/hwmon/{monitor}/{name}"
        _take(told, tree, f"{base}_label", f"{base}_input", 1000, f"{monitor} {name}")
    if not told:
        raise ValueError("no thermal zone and no hwmon sensor is there")
    return told


def _fans(tree: Tree) -> dict[str, float]:
    told: dict[str, float] = {}
    for monitor, name in _monitors(tree, "fan"):
        base = f"sys/class/hwmon/{monitor}/{name}"
        _take(told, tree, f"{base}_label", f"{base}_input", 1, f"{monitor} {name}")
    if not told:
        raise ValueError("no hwmon fan is there")
    return told


def _monitors(tree: Tree, kind: str) -> list[tuple[str, str]]:
    """(folder, sensor) of every sensor of a kind, ``("hwmon0", "temp1")``."""
    return [
        (monitor, file.removesuffix("_input"))
        for monitor in tree.names("sys/class/hwmon")
        for file in tree.names(f"sys/class/hwmon/{monitor}")
        if re.fullmatch(rf"{kind}\d+_input", file)
    ]


def _take(
    told: dict[str, float], tree: Tree, label: str, file: str, divisor: int, name: str
) -> None:
    """A sensor that errors is left out: a zone can be asleep."""
    try:
        value = tree.number(file) / divisor
    except (OSError, ValueError):
        return
    try:
        words = f"{tree.text(label)} ({name})"
    except OSError:
        words = name
    told[words] = value


def _energy(tree: Tree) -> float:
    packages = [
        name for name in tree.names("sys/class/powercap") if re.fullmatch(r"intel-rapl:\d+", name)
    ]
    if not packages:
        raise ValueError("no processor tells its energy (powercap)")
    return sum(tree.number(f"sys/class/powercap/{name}/energy_uj") for name in packages) / 1e6


def _edac(tree: Tree, counter: str) -> int:
    controllers = [name for name in tree.names(EDAC) if re.fullmatch(r"mc\d+", name)]
    if not controllers:
        raise ValueError("no EDAC driver watches the memory controllers")
    return sum(tree.number(f"{EDAC}/{name}/{counter}") for name in controllers)


def _pcie_errors(tree: Tree) -> int:
    files = [f"{PCI}/{name}/aer_dev_correctable" for name in tree.names(PCI)]
    texts = [tree.text(file) for file in files if tree.has(file)]
    if not texts:
        raise ValueError("no PCI device counts its errors (AER)")
    return sum(
        int(found.group(1)) for text in texts if (found := re.search(r"TOTAL_ERR_COR (\d+)", text))
    )
