from __future__ import annotations

import importlib
import threading
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from filmgate.machine.deadline import within
from filmgate.machine.nvml import Nvml, read_nvml, short_address


class Refused(Exception):
    """What the stand-in raises, as NVML raises NVMLError."""


def stand_in(**answers: Any) -> Any:
    """A library of two V100 joined by two NVLinks, which refuses what such GPUs refuse."""

    def refuse(*_: object) -> None:
        raise Refused("Not Supported")

    def link_state(gpu: str, link: int) -> int:
        if link > 5:
            raise Refused("Invalid Argument")
        return int(link < 2)

    usual = {
        "NVMLError": Refused, "nvmlInit": lambda: None, "nvmlShutdown": lambda: None,
        "NVML_NVLINK_MAX_LINKS": 36, "NVML_FEATURE_ENABLED": 1,
        "NVML_NVLINK_DEVICE_TYPE_SWITCH": 2, "NVML_TEMPERATURE_GPU": 0,
        "NVML_MEMORY_ERROR_TYPE_UNCORRECTED": 1, "NVML_VOLATILE_ECC": 0,
        "NVML_P2P_CAPS_INDEX_READ": 0, "NVML_P2P_STATUS_OK": 0,
        "nvmlDeviceGetCount": lambda: 2, "nvmlDeviceGetHandleByIndex": lambda n: f"gpu{n}",
        "nvmlSystemGetDriverVersion": lambda: "580.95.05",
        "nvmlSystemGetCudaDriverVersion": lambda: 13020,
        "nvmlDeviceGetPciInfo": lambda gpu: SimpleNamespace(busId=f"0000000{gpu[-1]}:1A:00.0"),
        "nvmlDeviceGetName": lambda gpu: "Tesla V100",
        "nvmlDeviceGetMemoryInfo": lambda gpu: SimpleNamespace(total=16 * 2**30),
        "nvmlDeviceGetBAR1MemoryInfo": lambda gpu: SimpleNamespace(bar1Total=2**34),
        "nvmlDeviceGetCudaComputeCapability": lambda gpu: (7, 0),
        "nvmlDeviceGetCurrentEccMode": lambda gpu: 1,
        "nvmlDeviceGetTotalEccErrors": lambda *_: 0, "nvmlDeviceGetRemappedRows": refuse,
        "nvmlDeviceGetCurrPcieLinkGeneration": lambda gpu: 1,
        "nvmlDeviceGetCurrPcieLinkWidth": lambda gpu: 16,
        "nvmlDeviceGetGpuMaxPcieLinkGeneration": lambda gpu: 3,
        "nvmlDeviceGetMaxPcieLinkGeneration": lambda gpu: 3,
        "nvmlDeviceGetMaxPcieLinkWidth": lambda gpu: 16,
        "nvmlDeviceGetPcieReplayCounter": lambda gpu: 0,
        "nvmlDeviceGetTemperature": lambda *_: 40, "nvmlDeviceGetPerformanceState": lambda gpu: 0,
        "nvmlDeviceGetEnforcedPowerLimit": lambda gpu: 300_000,
        "nvmlDeviceGetPowerManagementDefaultLimit": lambda gpu: 300_000,
        "nvmlDeviceGetPowerUsage": lambda gpu: 42_500,
        "nvmlDeviceGetUtilizationRates": lambda gpu: SimpleNamespace(gpu=0),
        "nvmlDeviceGetCurrentClocksEventReasons": lambda gpu: 0x1 | 0x20 | 0x4,
        "nvmlDeviceGetMigMode": refuse, "nvmlDeviceGetNvLinkState": link_state,
        "nvmlDeviceGetNvLinkVersion": lambda *_: 2,
        "nvmlDeviceGetNvLinkRemoteDeviceType": refuse,
        "nvmlDeviceGetNvLinkRemotePciInfo": lambda gpu, link: SimpleNamespace(
            busId="00000001:1A:00.0" if gpu == "gpu0" else "00000000:1A:00.0"
        ),
        "nvmlDeviceGetTopologyCommonAncestor": lambda *_: 30,
        "nvmlDeviceGetP2PStatus": lambda *_: 0,
    }  # fmt: skip
    return SimpleNamespace(**(usual | answers))


def test_what_nvml_answers_is_kept_and_what_it_refuses_is_unknown_with_its_words() -> None:
    nvml = read_nvml(stand_in())
    first = nvml.gpus[0]
    assert (nvml.driver_version, nvml.cuda_version) == ("580.95.05", "13.2")
    assert [gpu.pci_address for gpu in nvml.gpus] == ["0000:1a:00.0", "0001:1a:00.0"]
    assert (first.memory_bytes, first.power_draw_watts) == (16 * 2**30, 42.5)
    assert first.throttle_reasons == ["power cap", "thermal, by software"]
    assert (first.remap_failed, first.mig_enabled) == (None, None)
    assert first.why("mig_enabled") == first.why("remap_failed") == "NVML: Not Supported"
    links = first.nvlinks or []
    assert [(link.remote, link.bytes_per_second, link.to_switch) for link in links] == [
        ("0001:1a:00.0", 25e9, False)
    ] * 2
    assert (nvml.pairs[0].ancestor, nvml.pairs[0].peer_read) == ("one host bridge", "ok")
    assert msgspec.json.decode(msgspec.json.encode(nvml), type=Nvml) == nvml


def test_without_a_driver_there_are_no_gpus_and_a_reason() -> None:
    def fail() -> None:
        raise Refused("NVML Shared Library Not Found")

    nvml = read_nvml(stand_in(nvmlInit=fail))
    assert nvml.gpus == []
    assert nvml.why("gpus") == "NVML: NVML Shared Library Not Found"


def test_bus_numbers_are_written_as_sysfs_writes_them() -> None:
    assert short_address(b"00000000:65:00.0") == "0000:65:00.0"
    assert short_address("00010000:0A:00.0") == "10000:0a:00.0"
    assert short_address("0009:01:00.0") == "0009:01:00.0"


def test_a_call_that_never_comes_back_is_given_up() -> None:

    with pytest.raises(TimeoutError, match="the server did not answer"):
        within(0.05, threading.Event().wait, "the server")
    assert within(5, lambda: 3, "x") == 3
    with pytest.raises(ValueError, match="mine"):
        within(5, lambda: _raise(ValueError("mine")), "x")


def _raise(error: Exception) -> None:
    raise error


@pytest.mark.gpu
def test_the_driver_tells_memory_link_and_power_of_every_gpu() -> None:
    importlib.import_module("pynvml")
    nvml = read_nvml()
    assert nvml.gpus, nvml.why("gpus")
    for gpu in nvml.gpus:
        assert gpu.name
        assert gpu.memory_bytes is None or gpu.memory_bytes > 2**30
        assert gpu.pcie_width is None or 1 <= gpu.pcie_width <= 32
        assert gpu.power_limit_watts is None or gpu.power_limit_watts > 10
        for field in gpu.__struct_fields__[1:]:
            assert getattr(gpu, field) is not None or field in gpu.unknown, field
