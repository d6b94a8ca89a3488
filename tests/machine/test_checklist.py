from __future__ import annotations

import pytest
from msgspec.structs import replace

from filmgate.machine import Needs, audit_machine
from filmgate.machine.attested import Attestation
from filmgate.machine.checklist import CHECKS, questions
from filmgate.machine.item import Item
from filmgate.machine.machine import Machine
from filmgate.machine.thresholds import THRESHOLDS
from tests.machine.made import GIB, MadeMachine, made_server, nvml_gpu

DATA = Needs(dataset="/data", checkpoints="/runs", second_copy="/backup")


def judged(made: MadeMachine | Machine, name: str, needs: Needs = DATA) -> Item:
    machine = made if isinstance(made, Machine) else made.machine()
    return next(item for item in audit_machine(machine, needs, []).items if item.name == name)


def good_server() -> MadeMachine:
    """Eight H100, four NVMe drives in RAID 0, checkpoints on a RAID 1 of others."""
    made = made_server()
    for index in range(4):
        made.gpu(node=index // 2)
    made.raid([made.nvme(number) for number in range(4)])
    made.mount("/data", "/dev/md0", "9:0")
    made.mount("/runs", "server:/runs", "0:50", "nfs4")
    made.mount("/backup", "/dev/" + made.nvme(7), "259:7")
    made.rdma()
    return made


def test_a_server_as_it_should_be_fails_no_line_and_warns_of_none() -> None:
    audit = audit_machine(good_server().machine(), DATA, [])
    assert [item for item in audit.items if item.status in ("fail", "warn")] == []
    held = {item.name for item in audit.items if item.status == "ok"}
    assert held >= {
        "dataset-drives", "raid-health", "drive-links", "apart-from-system",
        "apart-from-checkpoints", "driver", "gpu-links", "pcie-links", "gpu-health",
        "cores-per-gpu", "near-gpu", "main-memory", "rdma", "remote-management", "backup",
        "checkpoint-storage",
    }  # fmt: skip


def test_a_raid_0_of_four_nvme_drives_holds() -> None:
    item = judged(good_server(), "dataset-drives")
    assert item.status == "ok"
    assert "4 NVMe drives in raid0" in item.evidence
    assert judged(good_server(), "raid-health").status == "ok"


def test_one_nvme_drive_is_a_warning_unless_the_job_needs_no_more() -> None:
    made = made_server()
    made.mount("/data", "/dev/" + made.nvme(0), "259:0")
    assert judged(made, "dataset-drives").status == "warn"
    enough = replace(DATA, read_bytes_per_second=2e9)
    item = judged(made, "dataset-drives", enough)
    assert (item.status, item.bar_from) == ("ok", "command line")
    assert judged(made, "dataset-drives", replace(DATA, read_bytes_per_second=9e9)).status == "warn"


@pytest.mark.parametrize(
    ("md", "status", "said"),
    [
        ({"degraded": 1}, "fail", "1 of 4 members missing"),
        ({"array_state": "inactive"}, "fail", "inactive"),
        ({"sync_action": "recover"}, "warn", "recover"),
        ({"mismatch_cnt": 128}, "warn", "128 sectors"),
        ({}, "ok", "raid5"),
    ],
)
def test_an_array_that_is_not_whole_is_said(md: dict[str, object], status: str, said: str) -> None:
    made = made_server()
    made.raid([made.nvme(number) for number in range(4)], "raid5", **md)
    item = judged(made, "raid-health")
    assert item.status == status
    assert said in item.evidence


def test_a_raid_0_that_lost_a_member_fails() -> None:
    made = made_server()
    made.raid([made.nvme(0), made.nvme(1)], raid_disks=4, array_state="broken")
    assert judged(made, "raid-health").status == "fail"


def test_a_dataset_on_the_systems_disk_fails() -> None:
    made = made_server()
    assert judged(made, "apart-from-system", Needs(dataset="/home/me/videos")).status == "fail"
    slow = judged(made, "dataset-drives", Needs(dataset="/home/me/videos"))
    assert slow.status == "warn"
    assert "SSD that is no NVMe" in slow.evidence


def test_a_partition_of_the_systems_disk_is_the_same_disk() -> None:
    made = made_server()
    place = made.links["sys/class/block/sda"].replace("../../", "sys/")
    made.block("sda2", place, "8:2", partition=2)
    made.mount("/data", "/dev/sda2", "8:2")
    item = judged(made, "apart-from-system")
    assert item.status == "fail"
    assert "the same drive, sda" in item.evidence


def test_checkpoints_on_the_datasets_disk_fail() -> None:
    made = made_server()
    made.raid([made.nvme(number) for number in range(4)])
    made.mount("/data", "/dev/md0", "9:0")
    item = judged(made, "apart-from-checkpoints", replace(DATA, checkpoints="/data/runs"))
    assert item.status == "fail"
    assert judged(made, "apart-from-checkpoints").status == "ok"
    single = judged(made, "checkpoint-storage", replace(DATA, checkpoints="/data/runs"))
    assert (single.status, "raid0" in single.evidence) == ("warn", True)


def test_a_dataset_on_a_server_fails_and_says_to_copy_it() -> None:
    made = made_server()
    made.mount("/data", "nas.example.org:/videos", "0:51", "nfs4")
    item = judged(made, "dataset-drives")
    assert item.status == "fail"
    assert "another machine" in item.evidence
    assert judged(made, "apart-from-system").status == "ok"


def test_a_virtual_disk_is_unknown_and_never_a_guess() -> None:
    made = made_server()
    made.block("vdb", "sys/devices/pci0000:00/0000:00:09.0/virtio3/block", "254:16")
    made.mount("/data", "/dev/vdb", "254:16")
    for name in ("dataset-drives", "apart-from-system"):
        item = judged(made, name)
        assert item.status == "unknown"
        assert "virtual disk" in item.evidence


def test_an_nvme_drive_on_fewer_lanes_than_it_has_fails() -> None:
    made = made_server()
    made.nvme(0, link=(5, 2))
    item = judged(made, "drive-links", Needs())
    assert item.status == "fail"
    assert "gen 5 x2 of gen 5 x4" in item.evidence


def test_a_gpu_on_eight_of_sixteen_lanes_fails() -> None:
    made = made_server()
    made.gpu()
    made.gpu(link=(5, 8))
    item = judged(made, "pcie-links")
    assert item.status == "fail"
    assert "GPU 1: link gen 5 x8 of gen 5 x16" in item.evidence
    assert "GPU 0" not in item.evidence


def test_a_slot_of_eight_lanes_is_a_warning_about_the_slot() -> None:
    made = made_server()
    made.gpu(link=(5, 8), slot=(5, 8))
    item = judged(made, "pcie-links")
    assert item.status == "warn"
    assert "slot is the limit" in item.next_step


def test_a_gpu_at_generation_1_fails_when_it_works_and_is_unknown_when_it_rests() -> None:
    working, resting = made_server(), made_server()
    working.gpu(link=(1, 16))
    resting.gpu(link=(1, 16), performance_state=8, utilisation_share=0.0)
    assert judged(working, "pcie-links").status == "fail"
    item = judged(resting, "pcie-links")
    assert item.status == "unknown"
    assert "idle GPUs turn their link down" in item.evidence


def test_a_gpu_on_the_far_node_is_a_warning() -> None:
    made = made_server()
    made.gpu(node=1)
    made.affinity = list(range(32))
    item = judged(made, "near-gpu")
    assert item.status == "warn"
    assert "--cpunodebind=1" in item.next_step
    made.affinity = list(range(64))
    assert judged(made, "near-gpu").status == "ok"


@pytest.mark.parametrize(("node", "status"), [(0, "warn"), (1, "ok")])
def test_drives_on_the_other_socket_than_all_gpus_are_a_warning(node: int, status: str) -> None:
    made = made_server()
    made.gpu(node=1)
    made.raid([made.nvme(number, node=node) for number in range(2)])
    made.mount("/data", "/dev/md0", "9:0")
    item = judged(made, "near-storage")
    assert item.status == status
    assert f"nvme0n1 on node {node}" in item.evidence
    assert judged(made, "near-storage", Needs()).status == "unknown"


def test_a_limit_of_two_cpus_on_a_host_of_64_is_said() -> None:
    made = made_server()
    made.gpu()
    made.write("proc/self/cgroup", "0::/box")
    made.mounts.append("30 1 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw")
    made.write("sys/fs/cgroup/box/cpu.max", "200000 100000")
    item = judged(made, "cpu-limit")
    assert item.status == "warn"
    assert "2 of 64 CPUs, by a cgroup quota of 2" in item.evidence
    assert judged(made, "cores-per-gpu").status == "fail"


def test_a_memory_limit_of_a_container_counts_as_its_memory() -> None:
    made = made_server()
    made.gpu()
    made.write("proc/self/cgroup", "0::/box")
    made.mounts.append("30 1 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw")
    made.write("sys/fs/cgroup/box/memory.max", 32 * GIB)
    item = judged(made, "main-memory")
    assert item.status == "fail"
    assert "by a cgroup limit" in item.evidence


def test_a_job_stands_above_the_rules_and_the_report_says_which() -> None:
    made = made_server(memory_bytes=64 * GIB)
    made.gpu()
    by_rule = judged(made, "main-memory")
    assert (by_rule.status, by_rule.bar_from) == ("fail", "rules")
    by_job = judged(made, "main-memory", Needs(job="small", ram_bytes=8 * GIB))
    assert (by_job.status, by_job.bar_from) == ("ok", "job")
    cores = judged(made, "cores-per-gpu", Needs(job="large", cores=80, cores_from="limits.workers"))
    assert (cores.status, cores.bar_from) == ("fail", "job")


def test_four_gpus_without_nvlink_are_a_warning_and_two_are_none() -> None:
    four, two = made_server(), made_server()
    for made, count in ((four, 4), (two, 2)):
        for _ in range(count):
            made.gpu(nvlinks=[])
    assert judged(four, "gpu-links").status == "warn"
    assert judged(two, "gpu-links").status == "ok"


def test_a_gpu_with_fewer_nvlinks_than_the_others_fails() -> None:
    made = made_server()
    links = nvml_gpu(0, "").nvlinks or []
    for count in (18, 18, 17, 18):
        made.gpu(nvlinks=links[:count])
    item = judged(made, "gpu-links")
    assert item.status == "fail"
    assert "GPU 2 with 17" in item.evidence


@pytest.mark.parametrize(
    ("told", "status"),
    [
        ({"uncorrected_errors": 3}, "fail"),
        ({"remap_failed": True}, "fail"),
        ({"remap_pending": True}, "warn"),
        ({"throttle_reasons": ["thermal, by hardware"]}, "warn"),
        ({"pcie_replays": 900}, "warn"),
        ({"throttle_reasons": None, "uncorrected_errors": None}, "unknown"),
    ],
)
def test_a_sick_gpu_is_said(told: dict[str, object], status: str) -> None:
    made = made_server()
    made.gpu()
    made.gpu(**told)
    assert judged(made, "gpu-health").status == status


def test_fatal_errors_of_a_gpus_link_fail() -> None:
    made = made_server()
    gpu = made.gpu()
    place = made.links[f"sys/bus/pci/devices/{gpu.pci_address}"].replace("../../../", "sys/")
    made.write(f"{place}/aer_dev_fatal", "Undefined 0\nDLP 2\nTOTAL_ERR_FATAL 2")
    item = judged(made, "gpu-health")
    assert item.status == "fail"
    assert "2 fatal errors" in item.evidence


def test_a_gpu_without_a_driver_fails_on_the_machine_and_is_unknown_in_a_bare_capture() -> None:
    made = made_server()
    made.pci("0000:65:00.0", "0x030200", vendor="0x10de", link=(4, 16))
    machine = made.machine()
    assert judged(machine, "driver").status == "fail"
    assert judged(replace(machine, asked_nvml=False), "driver").status == "unknown"
    assert judged(machine, "gpu-memory").status == "unknown"


def test_memory_of_gpus_is_held_against_the_need() -> None:
    made = good_server()
    assert judged(made, "gpu-memory").status == "unknown"
    assert judged(made, "gpu-memory", replace(DATA, vram_bytes=300 * GIB)).status == "ok"
    assert judged(made, "gpu-memory", replace(DATA, vram_bytes=400 * GIB)).status == "fail"


@pytest.mark.parametrize(("nodes", "status"), [(1, "warn"), (2, "fail")])
def test_roce_without_pfc_is_worse_with_several_nodes(nodes: int, status: str) -> None:
    made = made_server()
    made.rdma(layer="Ethernet")
    made.pfc = {"eth0": []}
    item = judged(made, "roce", Needs(num_nodes=nodes))
    assert item.status == status
    assert "PFC is off" in item.evidence
    made.pfc = {"eth0": [3]}
    assert judged(made, "roce", Needs(num_nodes=nodes)).status == "ok"
    made.pfc = {}
    assert judged(made, "roce", Needs(num_nodes=nodes)).status == "unknown"


@pytest.mark.parametrize(("nodes", "status"), [(1, "warn"), (2, "fail")])
def test_an_infiniband_port_that_is_down_is_said(nodes: int, status: str) -> None:
    made = made_server()
    made.rdma(0)
    made.rdma(1, state="1: DOWN")
    item = judged(made, "rdma", Needs(num_nodes=nodes))
    assert item.status == status
    assert "mlx5_1 port 1 (InfiniBand) is DOWN, Polling" in item.evidence


def test_one_node_without_rdma_needs_none_and_two_do() -> None:
    made = made_server()
    assert judged(made, "rdma", Needs()).status == "not present"
    assert judged(made, "interconnect", Needs()).status == "not present"
    assert judged(made, "rdma", Needs(num_nodes=2)).status == "fail"
    assert judged(good_server(), "interconnect", Needs(num_nodes=2)).status == "ok"


def test_no_management_controller_fails_on_iron_and_is_not_present_in_a_guest() -> None:
    assert judged(made_server(dmi=(1, 17)), "remote-management").status == "fail"
    assert judged(made_server(dmi=(1, 42)), "remote-management").status == "ok"
    assert judged(made_server(dmi=()), "remote-management").status == "unknown"
    guest = made_server(dmi=())
    guest.write("proc/cpuinfo", "model name : Guest\nflags : fpu hypervisor")
    assert judged(guest, "remote-management").status == "not present"


def test_a_measured_rate_is_held_against_the_need_with_headroom() -> None:
    made = good_server()
    for measured, status in ((1e9, "fail"), (2.1e9, "warn"), (3e9, "ok")):
        needs = Needs(read_bytes_per_second=2e9, measured_read_bytes_per_second=measured)
        assert judged(made, "read-rate", needs).status == status
    assert judged(made, "read-rate", Needs(read_bytes_per_second=2e9)).status == "unknown"


def test_a_person_answers_only_what_the_machine_does_not_know() -> None:
    answers = [
        Attestation(item=name, holds=holds, who="Ada", date="2026-11-30", note="seen")
        for name, holds in (("power-cooling", True), ("backup", False), ("rdma", False))
    ]
    machine = good_server().machine()
    audit = audit_machine(machine, replace(DATA, second_copy=None), answers)
    items = {item.name: item for item in audit.items}
    assert items["power-cooling"].status == "attested"
    assert "Ada said on 2026-11-30" in items["power-cooling"].evidence
    assert items["backup"].status == "fail"
    assert items["rdma"].status == "ok"
    assert not {"power-cooling", "backup"} & {name for name, _ in questions(audit)}


def test_every_line_has_a_sentence_and_a_name_of_its_own() -> None:
    assert len({check.name for check in CHECKS}) == len(CHECKS)
    assert all(check.line.endswith(".") for check in CHECKS)
    assert all(threshold.source for threshold in THRESHOLDS.values())
