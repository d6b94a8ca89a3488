"""What the NVIDIA driver tells of its GPUs, as a record that can be kept and read elsewhere.

Serial numbers and UUIDs are never asked for. Source: the NVML API reference; nvidia-ml-py carries
it (extra ``gpu``).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from itertools import combinations, takewhile
from types import ModuleType
from typing import Any, TypeVar

from filmgate.machine.deadline import within
from filmgate.machine.facts import Facts, Gaps
from filmgate.records import Record

T = TypeVar("T")
DEADLINE_SECONDS = 30.0
"""A driver with a GPU that fell off the bus may never answer."""
THROTTLE_REASONS = {
    0x4: "power cap", 0x8: "hardware slowdown", 0x20: "thermal, by software",
    0x40: "thermal, by hardware", 0x80: "power brake",
}  # fmt: skip
"""Bits of nvmlClocksEventReasons that slow a GPU down against its will."""
NVLINK_BYTES_PER_SECOND = {
    1: 20e9, 2: 25e9, 3: 25e9, 4: 25e9, 5: 25e9, 6: 25e9, 7: 50e9,
}  # fmt: skip
"""NVML's number of an NVLink version (1.0, 2.0, 2.2, 3.0, 3.1, 4.0, 5.0) -> one link, each way.

Sources: NVIDIA's architecture papers (P100 160 GB/s of 4 links, V100 300 of 6, A100 600 of 12,
H100 900 of 18, B200 1800 of 18, both ways together), read 2026-11-30. A power saving mode can
lower it."""
ANCESTORS = {
    0: "same board", 10: "one PCIe switch", 20: "several PCIe switches", 30: "one host bridge",
    40: "one NUMA node", 50: "another NUMA node",
}  # fmt: skip
"""nvmlGpuTopologyLevel in words."""


class NvLink(Record, frozen=True):
    """One NVLink of a GPU that is up."""

    number: int
    """As the GPU counts them."""
    bytes_per_second: float | None
    """Each way, derived from its generation; None where that is not in the table."""
    remote: str
    """PCI address at the other end; that of a switch where ``to_switch``."""
    to_switch: bool
    """Whether an NVSwitch is at the other end."""


class NvmlGpu(Facts, frozen=True, kw_only=True):
    """One GPU as NVML tells it."""

    index: int
    """As NVML counts them, in order of PCI address."""
    pci_address: str
    """``0000:65:00.0``."""
    name: str | None
    """Product name."""
    memory_bytes: int | None
    """Memory on the GPU; where it shares the machine's, NVML tells none."""
    bar1_bytes: int | None
    """How much of it the other devices can address."""
    compute_capability: str | None
    """``9.0``."""
    ecc_enabled: bool | None
    """Whether errors in its memory are corrected."""
    uncorrected_errors: int | None
    """ECC errors that were not corrected, since the driver was loaded."""
    remap_pending: bool | None
    """Whether rows wait for a reset to be replaced."""
    remap_failed: bool | None
    """Whether spare rows ran out."""
    pcie_generation: int | None
    """Of its link now; idle GPUs turn it down."""
    pcie_width: int | None
    """Lanes now."""
    pcie_generation_gpu: int | None
    """The most that the GPU can."""
    pcie_generation_max: int | None
    """The most that the GPU can in this slot."""
    pcie_width_max: int | None
    """Lanes that the GPU can use in this slot."""
    pcie_replays: int | None
    """Packets that were sent again; many mean a bad slot, riser or cable."""
    power_limit_watts: float | None
    """What it may draw now."""
    power_limit_default_watts: float | None
    """What it may draw as it was sold."""
    power_draw_watts: float | None
    """What it drew when it was read."""
    temperature_degrees: int | None
    """Celsius when it was read."""
    performance_state: int | None
    """0: highest clocks; 8: idle."""
    utilisation_share: float | None
    """Share of the last second or so in which any kernel ran."""
    throttle_reasons: list[str] | None
    """What slows it down now; empty: nothing."""
    mig_enabled: bool | None
    """Whether it is divided into instances."""
    nvlinks: list[NvLink] | None
    """Those that are up; empty: none."""


class GpuPair(Record, frozen=True):
    """Two GPUs and what lies between them."""

    first: int
    """Index of one."""
    second: int
    """Index of the other."""
    ancestor: str | None
    """The nearest part of the PCI tree that is above both."""
    peer_read: str | None
    """``ok``, or why one cannot read the other's memory."""


class Nvml(Facts, frozen=True, kw_only=True):
    """Everything that was asked of NVML."""

    driver_version: str | None
    """Of the kernel driver."""
    cuda_version: str | None
    """Newest CUDA that the driver can run, ``13.0``."""
    gpus: list[NvmlGpu] = []
    """By index."""
    pairs: list[GpuPair] = []
    """Every two of them."""


def read_nvml(library: ModuleType | Any | None = None) -> Nvml:
    """What NVML tells; where it cannot be asked, a record without GPUs that says why."""
    try:
        nvml = library or importlib.import_module("pynvml")
    except ImportError:
        return _none("nvidia-ml-py is not installed: pip install 'filmgate[gpu]'")
    try:
        return within(DEADLINE_SECONDS, lambda: _ask(nvml), "NVML")
    except (nvml.NVMLError, OSError) as error:
        return _none(f"NVML: {error}")


def without_gpu(nvml: Nvml) -> Nvml:
    """What NVML tells on a machine that has no GPU of NVIDIA: nothing, and no advice about it."""
    return nvml if nvml.driver_version is not None else _none("there is no NVIDIA GPU")


def _none(why: str) -> Nvml:
    fields = ("driver_version", "cuda_version", "gpus", "pairs")
    return Nvml(driver_version=None, cuda_version=None, unknown=dict.fromkeys(fields, why))


def _ask(nvml: Any) -> Nvml:
    nvml.nvmlInit()
    try:
        ask = Questions(nvml)
        handles = [
            nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())
        ]
        return Nvml(
            driver_version=ask("driver_version", lambda: str(nvml.nvmlSystemGetDriverVersion())),
            cuda_version=ask("cuda_version", lambda: _cuda(nvml.nvmlSystemGetCudaDriverVersion())),
            gpus=[_ask_gpu(nvml, handle, index) for index, handle in enumerate(handles)],
            pairs=[
                _ask_pair(nvml, handles, first, second)
                for first, second in combinations(range(len(handles)), 2)
            ],
            unknown=ask.gaps.reasons,
        )
    finally:
        nvml.nvmlShutdown()


class Questions:
    """Asks one thing at a time; what NVML refuses is None, with its words."""

    def __init__(self, nvml: Any) -> None:
        self._nvml = nvml
        self.gaps = Gaps()

    def __call__(self, field: str, read: Callable[[], T]) -> T | None:
        """What ``read`` tells of a field."""
        try:
            return read()
        except self._nvml.NVMLError as error:
            self.gaps.note(field, f"NVML: {error}")
            return None


def _ask_gpu(nvml: Any, gpu: Any, index: int) -> NvmlGpu:
    ask = Questions(nvml)
    remapped = ask("remap_pending", lambda: nvml.nvmlDeviceGetRemappedRows(gpu))
    if remapped is None:
        ask.gaps.note("remap_failed", ask.gaps.reasons["remap_pending"])
    numbers: dict[str, Callable[[], int]] = {
        "memory_bytes": lambda: nvml.nvmlDeviceGetMemoryInfo(gpu).total,
        "bar1_bytes": lambda: nvml.nvmlDeviceGetBAR1MemoryInfo(gpu).bar1Total,
        "uncorrected_errors": lambda: nvml.nvmlDeviceGetTotalEccErrors(
            gpu, nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, nvml.NVML_VOLATILE_ECC
        ),
        "pcie_generation": lambda: nvml.nvmlDeviceGetCurrPcieLinkGeneration(gpu),
        "pcie_width": lambda: nvml.nvmlDeviceGetCurrPcieLinkWidth(gpu),
        "pcie_generation_gpu": lambda: nvml.nvmlDeviceGetGpuMaxPcieLinkGeneration(gpu),
        "pcie_generation_max": lambda: nvml.nvmlDeviceGetMaxPcieLinkGeneration(gpu),
        "pcie_width_max": lambda: nvml.nvmlDeviceGetMaxPcieLinkWidth(gpu),
        "pcie_replays": lambda: nvml.nvmlDeviceGetPcieReplayCounter(gpu),
        "temperature_degrees": lambda: nvml.nvmlDeviceGetTemperature(
            gpu, nvml.NVML_TEMPERATURE_GPU
        ),
        "performance_state": lambda: nvml.nvmlDeviceGetPerformanceState(gpu),
    }
    watts: dict[str, Callable[[], int]] = {
        "power_limit_watts": lambda: nvml.nvmlDeviceGetEnforcedPowerLimit(gpu),
        "power_limit_default_watts": lambda: nvml.nvmlDeviceGetPowerManagementDefaultLimit(gpu),
        "power_draw_watts": lambda: nvml.nvmlDeviceGetPowerUsage(gpu),
    }
    milliwatts = {field: ask(field, read) for field, read in watts.items()}
    asked: dict[str, Any] = {field: ask(field, read) for field, read in numbers.items()}
    asked |= {field: None if said is None else said / 1000 for field, said in milliwatts.items()}
    return NvmlGpu(
        index=index,
        pci_address=short_address(nvml.nvmlDeviceGetPciInfo(gpu).busId),
        name=ask("name", lambda: str(nvml.nvmlDeviceGetName(gpu))),
        compute_capability=ask(
            "compute_capability",
            lambda: ".".join(map(str, nvml.nvmlDeviceGetCudaComputeCapability(gpu))),
        ),
        ecc_enabled=ask("ecc_enabled", lambda: bool(nvml.nvmlDeviceGetCurrentEccMode(gpu))),
        remap_pending=None if remapped is None else bool(remapped[2]),
        remap_failed=None if remapped is None else bool(remapped[3]),
        utilisation_share=ask(
            "utilisation_share", lambda: nvml.nvmlDeviceGetUtilizationRates(gpu).gpu / 100
        ),
        throttle_reasons=ask(
            "throttle_reasons",
            lambda: throttle_words(nvml.nvmlDeviceGetCurrentClocksEventReasons(gpu)),
        ),
        mig_enabled=ask("mig_enabled", lambda: bool(nvml.nvmlDeviceGetMigMode(gpu)[0])),
        nvlinks=ask("nvlinks", lambda: _nvlinks(nvml, gpu)),
        unknown=ask.gaps.reasons,
        **asked,
    )


def _nvlinks(nvml: Any, gpu: Any) -> list[NvLink]:
    up = []
    for number in range(nvml.NVML_NVLINK_MAX_LINKS):
        ask = Questions(nvml)
        state = ask("state", lambda number=number: nvml.nvmlDeviceGetNvLinkState(gpu, number))  # type: ignore[misc]
        if state != nvml.NVML_FEATURE_ENABLED:
            continue
        kind = ask("kind", lambda n=number: nvml.nvmlDeviceGetNvLinkRemoteDeviceType(gpu, n))  # type: ignore[misc]
        version = ask("version", lambda n=number: nvml.nvmlDeviceGetNvLinkVersion(gpu, n))  # type: ignore[misc]
        up.append(
            NvLink(
                number=number,
                bytes_per_second=NVLINK_BYTES_PER_SECOND.get(version) if version else None,
                remote=short_address(nvml.nvmlDeviceGetNvLinkRemotePciInfo(gpu, number).busId),
                to_switch=kind == nvml.NVML_NVLINK_DEVICE_TYPE_SWITCH,
            )
        )
    return up


def _ask_pair(nvml: Any, handles: list[Any], first: int, second: int) -> GpuPair:
    ask, one, other = Questions(nvml), handles[first], handles[second]
    level = ask("ancestor", lambda: nvml.nvmlDeviceGetTopologyCommonAncestor(one, other))
    status = ask(
        "peer_read",
        lambda: nvml.nvmlDeviceGetP2PStatus(one, other, nvml.NVML_P2P_CAPS_INDEX_READ),
    )
    words = {nvml.NVML_P2P_STATUS_OK: "ok"}
    return GpuPair(
        first=first,
        second=second,
        ancestor=None if level is None else ANCESTORS.get(level, f"level {level}"),
        peer_read=None if status is None else words.get(status, f"not supported ({status})"),
    )


def throttle_words(bits: int) -> list[str]:
    """The reasons in a mask of nvmlClocksEventReasons that slow a GPU down against its will."""
    return [said for bit, said in THROTTLE_REASONS.items() if bits & bit]


def _cuda(version: int) -> str:
    return f"{version // 1000}.{version % 1000 // 10}"


def short_address(bus_id: str | bytes) -> str:
    """NVML's ``00000000:65:00.0`` as sysfs writes it, ``0000:65:00.0``."""
    said = (bus_id.decode() if isinstance(bus_id, bytes) else bus_id).lower().rstrip("\0")
    domain, colon, rest = said.partition(":")
    zeros = len(list(takewhile(lambda digit: digit == "0", domain)))
    return domain[min(zeros, max(0, len(domain) - 4)) :] + colon + rest
