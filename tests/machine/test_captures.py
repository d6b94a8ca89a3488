"""Real machines of other people: captures of the hwloc project, where they are at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from filmgate.machine import Machine, Needs, audit_machine, open_machine
from filmgate.machine.topology import topology_of
from filmgate.machine.topology_text import topology_text

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "machines"


def captured(name: str) -> Machine:
    if not (SHARED / name).exists():
        pytest.skip("no captured machines here")
    return open_machine(SHARED / name)


def statuses(machine: Machine, needs: Needs) -> dict[str, str]:
    return {item.name: item.status for item in audit_machine(machine, needs, []).items}


def test_a_cluster_node_with_a_hard_disk_an_nvme_drive_and_infiniband() -> None:
    machine = captured("32em64t-2n8c+dax+nvme+mic+dimms.tar.bz2")
    assert (machine.cpu.num_sockets, machine.cpu.num_cores, len(machine.nodes)) == (2, 16, 2)
    drives = {drive.name: drive for drive in machine.drives}
    assert (drives["nvme0n1"].kind, drives["nvme0n1"].pci_address) == ("nvme", "0000:00:02.0")
    assert (drives["sda"].kind, drives["sda"].is_rotating) == ("disk", True)
    assert drives["pmem1"].kind == "memory"
    assert drives["nvme0n1"].size_bytes == 781422768 * 512
    port = machine.rdma[0]
    assert (port.device, port.is_active, port.layer) == ("mlx4_0", True, "InfiniBand")
    assert port.bits_per_second == 56 * 10**9
    assert machine.gpus == []
    said = statuses(machine, Needs(dataset="/tmp/videos", checkpoints="/var/runs", num_nodes=2))
    assert said["dataset-drives"] == "fail"
    assert said["apart-from-system"] == said["apart-from-checkpoints"] == "fail"
    assert (said["rdma"], said["interconnect"]) == ("ok", "warn")
    assert said["drive-links"] == "not present"
    assert statuses(machine, Needs())["drive-links"] == "unknown"


def test_a_job_in_a_cpuset_of_six_of_32_cpus() -> None:
    machine = captured("32amd64-4s2n4c-cgroup2.tar.bz2")
    assert (machine.cpu.num_cpus, machine.cpu.num_sockets, len(machine.nodes)) == (32, 4, 8)
    assert machine.limits.cpus == [0, 1, 2, 3, 4, 5]
    assert machine.nodes[0].distances == [10, 16, 16, 22, 16, 22, 16, 22]
    said = statuses(machine, Needs(dataset="/tmp"))
    assert said["cpu-limit"] == "warn"
    for line in ("driver", "gpu-memory", "raid-health", "drive-links", "rdma", "dataset-drives"):
        assert said[line] == "unknown", line


def test_a_server_whose_disks_a_raid_controller_hides() -> None:
    machine = captured("40intel64-2g2n4c+pcilocality.tar.bz2")
    assert [drive.model for drive in machine.drives if not drive.below] == ["PERC H700"]
    assert machine.rdma[0].device == "qib0"
    said = statuses(machine, Needs(dataset="/local/videos", checkpoints="/tmp"))
    assert said["dataset-drives"] == "unknown"
    assert said["apart-from-checkpoints"] == "fail"
    assert said["checkpoint-storage"] == "unknown"


def test_a_dgx_spark_whose_capture_has_no_devices() -> None:
    machine = captured("nvidia-dgx-gb10.tar.bz2")
    assert machine.bmc.product == "NVIDIA NVIDIA_DGX_Spark"
    assert machine.cpu.num_cpus == 20
    assert machine.cpu.model is None
    assert "no model" in machine.cpu.why("model")
    said = statuses(machine, Needs())
    assert {said[line] for line in ("driver", "gpu-memory", "pcie-links", "roce")} == {"unknown"}


def test_a_dgx_2_from_hwlocs_xml_has_sixteen_gpus_behind_nvswitch() -> None:
    machine = captured("nvidiaDGX2.xml")
    assert [gpu.numa_node for gpu in machine.gpus] == [0] * 8 + [1] * 8
    assert {gpu.name for gpu in machine.gpus} == {"Tesla V100-SXM3-32GB-H"}
    rates = {sum(link.bytes_per_second or 0 for link in gpu.nvlinks or []) for gpu in machine.gpus}
    assert rates == {150e9}
    assert [node.distances for node in machine.nodes] == [[10, 21], [21, 10]]
    assert machine.gpus[0].memory_bytes is None
    said = statuses(machine, Needs())
    assert said["gpu-links"] == "ok"
    assert {said[line] for line in ("gpu-memory", "pcie-links", "cores-per-gpu")} == {"unknown"}
    drawn = topology_text(topology_of(machine))
    assert "16 GPUs joined by NVSwitch, 6 NVLinks each" in drawn
    assert drawn.index("GPU 7:") < drawn.index("NUMA node 1") < drawn.index("GPU 8:")


@pytest.mark.parametrize(
    "name", ["32em64t-2n8c+dax+nvme+mic+dimms.tar.bz2", "nvidiaDGX2.xml", "nvidia-dgx-gb10.tar.bz2"]
)
def test_no_line_says_a_number_of_a_gpu_that_nobody_measured(name: str) -> None:
    for item in audit_machine(captured(name), Needs(), []).items:
        assert "None" not in item.evidence
        assert "nan" not in item.evidence
