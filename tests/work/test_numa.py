from __future__ import annotations

from pathlib import Path

import pytest

from filmgate.work.numa import cores_near

GPU = "0000:65:00.0"


@pytest.fixture
def sysroot(tmp_path: Path) -> Path:
    """Two nodes, as on a machine with two sockets and hyperthreads; the GPU is near the second."""
    for node, cores in enumerate(("0-3,8-11", "4-7,12,14-15")):
        folder = tmp_path / f"devices/system/node/node{node}"
        folder.mkdir(parents=True)
        (folder / "cpulist").write_text(f"{cores}\n")
    device = tmp_path / "bus/pci/devices" / GPU
    device.mkdir(parents=True)
    (device / "numa_node").write_text("1\n")
    return tmp_path


def test_workers_run_on_the_cores_of_the_gpus_node(sysroot):
    near = cores_near(GPU.upper(), set(range(16)), sysroot)
    assert near.node == 1
    assert near.cores == {4, 5, 6, 7, 12, 14, 15}
    assert near.why == f"NUMA node 1 is near GPU {GPU.upper()}"


def test_only_cores_that_the_process_may_use_are_taken(sysroot):
    assert cores_near(GPU, {0, 1, 4, 5}, sysroot).cores == {4, 5}


def test_nothing_is_bound_where_the_process_may_use_no_core_of_the_node(sysroot):
    near = cores_near(GPU, {0, 1}, sysroot)
    assert (near.node, near.cores) == (None, None)
    assert "no core of NUMA node 1" in near.why


def test_nothing_is_bound_where_the_kernel_does_not_tell_the_node(sysroot):
    (sysroot / "bus/pci/devices" / GPU / "numa_node").write_text("-1\n")
    assert "does not tell" in cores_near(GPU, {4}, sysroot).why
    assert cores_near("0000:66:00.0", {4}, sysroot).node is None


def test_nothing_is_bound_on_a_machine_with_one_node(sysroot):
    folder = sysroot / "devices/system/node/node0"
    (folder / "cpulist").unlink()
    folder.rmdir()
    near = cores_near(GPU, {4}, sysroot)
    assert (near.node, near.why) == (None, "the machine has one NUMA node")


def test_nothing_is_bound_without_a_sys_tree(tmp_path):
    assert cores_near(GPU, {0}, tmp_path).cores is None
