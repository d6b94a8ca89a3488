"""What moves on a GPU while it works, read again and again from one open NVML."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

from filmgate.closing import Closing
from filmgate.machine.deadline import within
from filmgate.machine.facts import Facts
from filmgate.machine.nvml import DEADLINE_SECONDS, NvmlGpu, Questions, read_nvml, throttle_words

MEMORY_TEMPERATURE = 82
"""NVML_FI_DEV_MEMORY_TEMP."""


class GpuPulse(Facts, frozen=True, kw_only=True):
    """One GPU at one moment. Counters go on from wherever they were."""

    index: int
    """As NVML counts them."""
    clock_hertz: float | None
    """Of its processors (SM clock)."""
    memory_clock_hertz: float | None
    """Of its memory."""
    temperature_degrees: float | None
    """Celsius, of the chip."""
    memory_temperature_degrees: float | None
    """Celsius, of its memory."""
    power_watts: float | None
    """Drawn now."""
    power_limit_watts: float | None
    """What it may draw now."""
    energy_joules: float | None
    """Counter since the driver was loaded."""
    fan_share: float | None
    """Of the fan's full speed; servers cool GPUs without one."""
    utilisation_share: float | None
    """Share of the last second or so in which any kernel ran."""
    throttle_reasons: list[str] | None
    """What slows it down now; empty: nothing."""
    pcie_generation: int | None
    """Of its link now."""
    pcie_width: int | None
    """Lanes now."""
    pcie_replays: int | None
    """Counter of packets that were sent again."""
    corrected_errors: int | None
    """Counter of ECC errors that were corrected."""
    uncorrected_errors: int | None
    """Counter of ECC errors that were not."""


class GpuPulses(Closing):
    """NVML kept open. Where it cannot be asked there are no GPUs, and ``why_none`` says why."""

    def __init__(self, library: ModuleType | Any | None = None) -> None:
        self.gpus: list[NvmlGpu] = []
        """What each GPU is, once ``open`` has asked."""
        self.why_none: str | None = None
        self._library = library
        self._handles: list[Any] = []
        self._is_open = False

    def open(self) -> None:
        """Find the GPUs; never raises."""
        told = read_nvml(self._library)
        self.gpus, self.why_none = told.gpus, told.unknown.get("gpus")
        if not self.gpus:
            self.why_none = self.why_none or "the driver tells of no GPU"
            return
        nvml = self._library or importlib.import_module("pynvml")
        self._library = nvml
        try:
            self._handles = within(DEADLINE_SECONDS, lambda: _open(nvml), "NVML")
            self._is_open = True
        except (nvml.NVMLError, OSError) as error:
            self.gpus, self.why_none = [], f"NVML: {error}"

    def read(self) -> list[GpuPulse]:
        """Every GPU now. One that fell off the bus has no values, and its reasons in NVML's words;
        a driver that does not answer in time is not asked again."""
        nvml = self._library
        if not self._is_open:
            return [_silent(gpu.index, self.why_none or "it is closed") for gpu in self.gpus]
        try:
            return within(DEADLINE_SECONDS, lambda: [
                _read(nvml, handle, gpu.index)
                for handle, gpu in zip(self._handles, self.gpus, strict=True)
            ], "NVML")  # fmt: skip
        except TimeoutError as error:
            self._is_open, self.why_none = False, str(error)
            return [_silent(gpu.index, self.why_none) for gpu in self.gpus]

    def close(self) -> None:
        """Let the library go."""
        if self._is_open:
            self._library.nvmlShutdown()  # type: ignore[union-attr]
            self._is_open = False


def _open(nvml: Any) -> list[Any]:
    nvml.nvmlInit()
    return [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]


def _silent(index: int, why: str) -> GpuPulse:
    fields = [name for name in GpuPulse.__struct_fields__ if name not in ("index", "unknown")]
    nothing: dict[str, Any] = dict.fromkeys(fields)
    return GpuPulse(index=index, unknown=dict.fromkeys(fields, why), **nothing)


def _read(nvml: Any, gpu: Any, index: int) -> GpuPulse:
    ask = Questions(nvml)
    volatile = nvml.NVML_VOLATILE_ECC
    readers: dict[str, Callable[[], Any]] = {
        "clock_hertz": lambda: nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_SM) * 1e6,
        "memory_clock_hertz": lambda: nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_MEM) * 1e6,
        "temperature_degrees": lambda: float(
            nvml.nvmlDeviceGetTemperature(gpu, nvml.NVML_TEMPERATURE_GPU)
        ),
        "power_watts": lambda: nvml.nvmlDeviceGetPowerUsage(gpu) / 1000,
        "power_limit_watts": lambda: nvml.nvmlDeviceGetEnforcedPowerLimit(gpu) / 1000,
        "energy_joules": lambda: nvml.nvmlDeviceGetTotalEnergyConsumption(gpu) / 1000,
        "fan_share": lambda: nvml.nvmlDeviceGetFanSpeed(gpu) / 100,
        "utilisation_share": lambda: nvml.nvmlDeviceGetUtilizationRates(gpu).gpu / 100,
        "throttle_reasons": lambda: throttle_words(
            nvml.nvmlDeviceGetCurrentClocksEventReasons(gpu)
        ),
        "pcie_generation": lambda: nvml.nvmlDeviceGetCurrPcieLinkGeneration(gpu),
        "pcie_width": lambda: nvml.nvmlDeviceGetCurrPcieLinkWidth(gpu),
        "pcie_replays": lambda: nvml.nvmlDeviceGetPcieReplayCounter(gpu),
        "corrected_errors": lambda: nvml.nvmlDeviceGetTotalEccErrors(
            gpu, nvml.NVML_MEMORY_ERROR_TYPE_CORRECTED, volatile
        ),
        "uncorrected_errors": lambda: nvml.nvmlDeviceGetTotalEccErrors(
            gpu, nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, volatile
        ),
    }
    told = {field: ask(field, read) for field, read in readers.items()}
    memory = ask("memory_temperature_degrees", lambda: _memory_temperature(nvml, gpu))
    if memory is None:
        ask.gaps.reasons.setdefault("memory_temperature_degrees", "this GPU does not tell it")
    return GpuPulse(
        index=index, memory_temperature_degrees=memory, unknown=ask.gaps.reasons, **told
    )


def _memory_temperature(nvml: Any, gpu: Any) -> float | None:
    (value,) = nvml.nvmlDeviceGetFieldValues(gpu, [MEMORY_TEMPERATURE])
    return float(value.value.uiVal) if value.nvmlReturn == nvml.NVML_SUCCESS else None
