from __future__ import annotations

import errno
import os
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from filmgate.machine.soak import gpu_pulse
from filmgate.machine.soak.gpu_pulse import GpuPulses
from filmgate.machine.soak.host_pulse import read_host_pulse
from filmgate.machine.soak.kernel_log import KernelLog
from filmgate.machine.tree import FolderTree, MemoryTree
from tests.machine.test_nvml import Refused, stand_in


def moving(**answers: Any) -> Any:
    """A library of two V100 at work, which refuses what such GPUs refuse."""

    def refuse(*_: object) -> None:
        raise Refused("Not Supported")

    usual = {
        "NVML_CLOCK_SM": 1, "NVML_CLOCK_MEM": 2, "NVML_MEMORY_ERROR_TYPE_CORRECTED": 0,
        "NVML_SUCCESS": 0, "nvmlDeviceGetFanSpeed": refuse,
        "nvmlDeviceGetClockInfo": lambda gpu, kind: 1380 if kind == 1 else 877,
        "nvmlDeviceGetTotalEnergyConsumption": lambda gpu: 5_000,
        "nvmlDeviceGetFieldValues": lambda gpu, fields: [
            SimpleNamespace(nvmlReturn=0, value=SimpleNamespace(uiVal=61))
        ],
    }  # fmt: skip
    return stand_in(**(usual | answers))


def test_a_gpu_at_work_is_read_in_base_units_and_what_it_refuses_is_unknown() -> None:
    with GpuPulses(moving()) as pulses:
        pulses.open()
        first, second = pulses.read()
    assert (first.index, second.index) == (0, 1)
    assert (first.clock_hertz, first.memory_clock_hertz) == (1.38e9, 877e6)
    assert (first.power_watts, first.energy_joules) == (42.5, 5.0)
    assert (first.temperature_degrees, first.memory_temperature_degrees) == (40.0, 61.0)
    assert first.throttle_reasons == ["power cap", "thermal, by software"]
    assert (first.fan_share, first.why("fan_share")) == (None, "NVML: Not Supported")
    assert (first.corrected_errors, first.uncorrected_errors) == (0, 0)


def test_without_a_driver_there_are_no_gpus_and_a_reason() -> None:
    def fail() -> None:
        raise Refused("NVML Shared Library Not Found")

    with GpuPulses(moving(nvmlInit=fail)) as pulses:
        pulses.open()
        assert pulses.read() == []
        assert pulses.why_none == "NVML: NVML Shared Library Not Found"


def test_a_driver_that_hangs_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def hang(gpu: str) -> int:
        asked.append(gpu)
        threading.Event().wait(5)
        return 0

    library = moving()
    with GpuPulses(library) as pulses:
        pulses.open()
        monkeypatch.setattr(gpu_pulse, "DEADLINE_SECONDS", 0.05)
        library.nvmlDeviceGetPowerUsage = hang
        first = pulses.read()[0]
        assert (first.power_watts, first.why("power_watts")) == (
            None, "NVML did not answer within 0.05 s",
        )  # fmt: skip
        assert pulses.read()[1].temperature_degrees is None
        assert asked == ["gpu0"]


def host_files(**files: str) -> MemoryTree:
    told = {
        "proc/stat": "cpu  100 0 50 900 7 2 3 40 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0",
        "proc/cpuinfo": "processor\t: 0\ncpu MHz\t\t: 3200.5\nflags\t\t: fpu\n",
        "sys/devices/system/cpu/online": "0-1",
    }  # fmt: skip
    return MemoryTree({name: text.encode() for name, text in (told | files).items()})


def test_a_bare_host_tells_clock_heat_fans_energy_and_errors() -> None:
    cpus, mc, pci = "sys/devices/system/cpu", "sys/devices/system/edac/mc", "sys/bus/pci/devices"
    pulse = read_host_pulse(
        host_files(**{
            f"{cpus}/cpu0/cpufreq/scaling_cur_freq": "3000000",
            f"{cpus}/cpu1/cpufreq/scaling_cur_freq": "2000000",
            f"{cpus}/cpu0/thermal_throttle/core_throttle_count": "4",
            f"{cpus}/cpu1/thermal_throttle/core_throttle_count": "1",
            "sys/class/thermal/thermal_zone0/type": "x86_pkg_temp",
            "sys/class/thermal/thermal_zone0/temp": "71000",
            "sys/class/hwmon/hwmon1/temp1_input": "45500",
            "sys/class/hwmon/hwmon1/fan2_input": "1800",
            "sys/class/powercap/intel-rapl:0/energy_uj": "7000000",
            "sys/class/powercap/intel-rapl:0:0/energy_uj": "1",
            f"{mc}/mc0/ce_count": "2", f"{mc}/mc0/ue_count": "0", f"{mc}/mc1/ce_count": "3",
            f"{mc}/mc1/ue_count": "1",
            f"{pci}/0000:01:00.0/aer_dev_correctable": "RxErr 1\nTOTAL_ERR_COR 6",
            "proc/pressure/io": "some avg10=0 avg60=0 avg300=0 total=2500000\nfull total=1",
            "proc/pressure/cpu": "some avg10=0 avg60=0 avg300=0 total=1",
            "proc/pressure/memory": "some avg10=0 avg60=0 avg300=0 total=0",
            "proc/self/cgroup": "0::/",
            "proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw",
            "sys/fs/cgroup/cpu.stat": "usage_usec 9\nthrottled_usec 1500000",
        })
    )  # fmt: skip
    ticks = os.sysconf("SC_CLK_TCK")
    assert pulse.clock_hertz == 2.5e9
    assert (pulse.busy_seconds, pulse.stolen_seconds) == (155 / ticks, 40 / ticks)
    assert (pulse.throttles, pulse.limited_seconds, pulse.energy_joules) == (5, 1.5, 7.0)
    assert pulse.temperatures == {"x86_pkg_temp (thermal_zone0)": 71.0, "hwmon1 temp1": 45.5}
    assert pulse.fans == {"hwmon1 fan2": 1800.0}
    assert (pulse.corrected_errors, pulse.uncorrected_errors, pulse.pcie_errors) == (5, 1, 6)
    assert pulse.stalled_seconds == {"io": 2.5, "cpu": 1e-6, "memory": 0.0}
    assert pulse.unknown == {}


def test_what_a_host_does_not_tell_is_unknown_with_its_reason() -> None:
    pulse = read_host_pulse(MemoryTree({}, errors={"proc/stat": errno.EACCES}))
    for field in pulse.__struct_fields__[1:]:
        assert getattr(pulse, field) is None, field
        assert pulse.why(field) != "not told", field
    assert pulse.why("busy_seconds") == "/proc/stat: permission denied"


def test_a_virtual_machine_clock_that_nobody_measured_is_unknown() -> None:
    info = "processor\t: 0\ncpu MHz\t\t: 2596.1\nflags\t\t: fpu hypervisor\n"
    pulse = read_host_pulse(host_files(**{"proc/cpuinfo": info}))
    assert pulse.clock_hertz is None
    assert "a hypervisor lies below" in pulse.why("clock_hertz")


def test_this_machine_can_be_read_at_any_time() -> None:
    first = read_host_pulse(FolderTree(Path("/")))
    time.sleep(0.05)
    second = read_host_pulse(FolderTree(Path("/")))
    assert first.busy_seconds is not None
    assert second.busy_seconds is not None
    assert second.busy_seconds >= first.busy_seconds


def test_xids_in_the_log_are_found_and_other_messages_are_not(tmp_path: Path) -> None:
    path = tmp_path / "kmsg"
    path.write_text("6,1,1,-;NVRM: Xid (PCI:0000:01:00): 13, from before\n")
    with KernelLog(path) as log:
        assert log.xids() is None
        log.open()
        assert log.xids() == []
        with path.open("a") as file:
            file.write("4,2,2,-;usb 1-1: new device\n")
            file.write(
                "3,3,3,-;NVRM: Xid (PCI:0000:65:00): 79, pid=1, GPU has fallen off the bus.\n"
            )
        assert log.xids() == ["79 at 0000:65:00"]
        assert log.xids() == []


def test_a_log_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    with KernelLog(tmp_path / "none") as log:
        log.open()
        assert log.xids() is None
        assert "no such file" in (log.why_unreadable or "")
