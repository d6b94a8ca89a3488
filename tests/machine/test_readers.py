from __future__ import annotations

import errno

import pytest

from filmgate.machine.bmc import read_bmc
from filmgate.machine.cpu import read_cpu
from filmgate.machine.drives import physical, read_drives
from filmgate.machine.filesystems import place_of, read_filesystems, without_server
from filmgate.machine.gpu import read_gpus
from filmgate.machine.host import read_priorities
from filmgate.machine.limits import NO_LIMIT, read_limits
from filmgate.machine.machine import this_source
from filmgate.machine.memory import read_memory
from filmgate.machine.network import read_interfaces
from filmgate.machine.nodes import read_nodes
from filmgate.machine.pci import Link, links_of_configuration, narrowest, read_pci
from filmgate.machine.raid import read_raids
from filmgate.machine.rdma import read_rdma
from filmgate.machine.software import read_software
from filmgate.machine.tree import MemoryTree
from filmgate.work.cores import num_usable_cores
from tests.machine.made import BRIDGE, GPU, NVME, made_server, nvml_gpu


def test_an_empty_tree_gives_unknown_everywhere_and_no_number() -> None:
    tree = MemoryTree({})
    for facts in (
        read_cpu(tree), read_memory(tree), read_limits(tree, None), read_bmc(tree, None),
        read_software(tree, None, None),
    ):  # fmt: skip
        for field in facts.__struct_fields__[1:]:
            value = getattr(facts, field)
            assert value is None or value == {}, field
            if field not in ("packages", "evidence"):
                assert value == {} or facts.unknown[field], field
    for read in (read_nodes, read_pci, read_drives, read_raids, read_interfaces, read_rdma):
        assert list(read(tree)) == []
    assert read_filesystems(tree, [], None) == []


def test_processors_are_counted_as_sockets_cores_and_threads() -> None:
    made = made_server()
    for cpu in range(64):  # two threads on each core
        folder = f"sys/devices/system/cpu/cpu{cpu}/topology"
        made.write(f"{folder}/core_cpus", f"{3 << (cpu // 2 * 2):x}")
    cpu = read_cpu(made.source().tree)
    assert (cpu.num_sockets, cpu.num_cores, cpu.num_cpus) == (2, 32, 64)
    assert cpu.is_virtual_machine is False


def test_usable_cores_here_are_those_that_the_feed_counts() -> None:
    source = this_source()
    assert read_limits(source.tree, source.host).usable_cores == num_usable_cores()


@pytest.mark.parametrize(
    ("mount", "line", "folder", "files", "cores"),
    [
        ("cgroup2 cgroup2 rw", "0::/a/b", "sys/fs/cgroup/a", {"cpu.max": "150000 100000"}, 2),
        ("cgroup2 cgroup2 rw", "0::/a/b", "sys/fs/cgroup/a/b", {"cpu.max": "max 100000"}, 64),
        (
            "cgroup cgroup rw,cpu,cpuacct", "3:cpu,cpuacct:/x", "sys/fs/cgroup",
            {"cpu.cfs_quota_us": "400000", "cpu.cfs_period_us": "100000"}, 4,
        ),
        (
            "cgroup cgroup rw,cpu", "3:cpu:/x", "sys/fs/cgroup/x",
            {"cpu.cfs_quota_us": "-1", "cpu.cfs_period_us": "100000"}, 64,
        ),
    ],
)  # fmt: skip
def test_the_tightest_cpu_quota_above_a_process_counts(
    mount: str, line: str, folder: str, files: dict[str, str], cores: int
) -> None:
    made = made_server()
    made.mounts.append(f"30 1 0:30 / /sys/fs/cgroup rw - {mount}")
    made.write("proc/self/cgroup", line)
    for name, content in files.items():
        made.write(f"{folder}/{name}", content)
    limits = made.machine().limits
    assert limits.usable_cores == cores
    assert (limits.quota_cores is None) == (cores == 64)
    if cores == 64:
        assert limits.why("quota_cores") == NO_LIMIT


def test_memory_limits_of_both_cgroup_versions_count_and_no_limit_is_no_number() -> None:
    for mount, line, name in (
        ("cgroup2 cgroup2 rw", "0::/x", "memory.max"),
        ("cgroup cgroup rw,memory", "4:memory:/x", "memory.limit_in_bytes"),
    ):
        for content, expected in (("8589934592", 2**33), ("9223372036854771712", None)):
            made = made_server()
            made.mounts.append(f"30 1 0:30 / /sys/fs/cgroup rw - {mount}")
            made.write("proc/self/cgroup", line)
            made.write(f"sys/fs/cgroup/x/{name}", content)
            assert made.machine().limits.memory_bytes == expected


def test_links_have_generation_and_width_and_the_slowest_above_counts() -> None:
    made = made_server()
    made.pci("0000:00:01.0", BRIDGE, link=(3, 8), most=(5, 16))
    made.pci("0000:01:00.0", BRIDGE, above=["0000:00:01.0"], link=(3, 8))
    made.pci("0000:02:00.0", BRIDGE, above=["0000:00:01.0", "0000:01:00.0"], link=(5, 16))
    above = ["0000:00:01.0", "0000:01:00.0", "0000:02:00.0"]
    made.pci("0000:03:00.0", NVME, above=above, link=(5, 4))
    devices = {device.address: device for device in read_pci(made.source().tree)}
    drive = devices["0000:03:00.0"]
    assert drive.above == above
    assert drive.link == Link(generation=5, width=4)
    assert narrowest(drive, devices) == (Link(generation=3, width=8), "0000:01:00.0")
    assert Link(generation=5, width=16).bytes_per_second == pytest.approx(63e9, rel=0.01)


def test_a_link_is_read_from_the_configuration_space_where_sysfs_has_none() -> None:
    space = bytearray(256)
    space[0x34], space[0x40], space[0x41] = 0x40, 0x01, 0x60
    space[0x60] = 0x10
    space[0x60 + 12 : 0x60 + 16] = (4 | 16 << 4).to_bytes(4, "little")
    space[0x60 + 18 : 0x60 + 20] = (3 | 8 << 4).to_bytes(2, "little")
    assert links_of_configuration(bytes(space)) == (
        Link(generation=3, width=8),
        Link(generation=4, width=16),
    )
    made = made_server()
    place = made.pci("0000:65:00.0", GPU, vendor="0x10de", link=None)
    made.files[f"{place}/config"] = bytes(space)
    device = {one.address: one for one in read_pci(made.source().tree)}["0000:65:00.0"]
    assert (device.link, device.link_from) == (Link(generation=3, width=8), "configuration space")
    for short in (bytes(64), bytes(256)):
        with pytest.raises(ValueError, match=r"root may|no PCI Express"):
            links_of_configuration(short)


def test_a_loop_in_the_configuration_space_ends() -> None:
    space = bytearray(256)
    space[0x34], space[0x40], space[0x41] = 0x40, 0x01, 0x40
    with pytest.raises(ValueError, match="no PCI Express capability"):
        links_of_configuration(bytes(space))


def test_displays_of_the_management_controller_are_no_gpus() -> None:
    made = made_server()
    made.pci("0000:03:00.0", "0x030000", vendor="0x1a03")
    made.pci("0000:04:00.0", "0x030000", vendor="0x10de")
    made.pci("0000:05:00.0", "0x120000", vendor="0x1002")
    gpus = read_gpus(None, read_pci(made.source().tree))
    assert [gpu.pci_address for gpu in gpus] == ["0000:04:00.0", "0000:05:00.0"]
    assert all(gpu.memory_bytes is None and gpu.why("memory_bytes") for gpu in gpus)


def test_a_filesystem_on_lvm_on_raid_is_followed_down_to_its_drives() -> None:
    made = made_server()
    made.raid([made.nvme(0), made.nvme(1)])
    place = "sys/devices/virtual/block"
    made.block("dm-0", place, "253:0", **{"dm/name": "vg-data", "dm/uuid": "LVM-abc"})
    made.links[f"{place}/dm-0/slaves/md0"] = "/sys/class/block/md0"
    made.mount("/data", "/dev/mapper/vg-data", "253:0", "xfs")
    machine = made.machine()
    found = place_of("/data/videos/a.mp4", machine.filesystems, machine.drives)
    assert found is not None
    assert [drive.name for drive in found.drives] == ["nvme0n1", "nvme1n1"]
    lvm = next(drive for drive in machine.drives if drive.name == "dm-0")
    assert (lvm.kind, lvm.made_by, lvm.alias) == ("mapped", "LVM", "vg-data")


def test_devices_that_are_made_of_each_other_end() -> None:
    made = made_server()
    for one, other in (("dm-0", "dm-1"), ("dm-1", "dm-0")):
        place = "sys/devices/virtual/block"
        made.block(one, place, f"253:{one[-1]}")
        made.links[f"{place}/{one}/slaves/{other}"] = f"/sys/class/block/{other}"
    drives = {drive.name: drive for drive in read_drives(made.source().tree)}
    assert physical(["dm-0"], drives) == []


def test_a_shared_nvme_drive_hangs_where_its_controller_hangs() -> None:
    made = made_server()
    place = made.pci("0000:c1:00.0", NVME)
    subsystem = "sys/devices/virtual/nvme-subsystem/nvme-subsys0"
    made.links[f"{subsystem}/nvme0"] = f"/{place}/nvme/nvme0"
    made.block("nvme0n1", subsystem, "259:0")
    drive = next(one for one in read_drives(made.source().tree) if one.name == "nvme0n1")
    assert drive.pci_address == "0000:c1:00.0"


def test_the_nearest_and_newest_mount_holds_a_path() -> None:
    made = made_server()
    made.mount("/data", "/dev/" + made.nvme(0), "259:0")
    made.mount("/data\\040two", "/dev/" + made.nvme(1), "259:1")
    made.mount("/data", "/dev/" + made.nvme(2), "259:2")
    machine = made.machine()

    def device(path: str) -> str | None:
        place = place_of(path, machine.filesystems, machine.drives)
        return place.filesystem.device if place else None

    assert device("/data/x") == "nvme2n1"
    assert device("/data two/x") == "nvme1n1"
    assert device("/database") == "sda"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("10.0.0.5:/export/a", "server:/export/a"), ("[fe80::1]:/x", "server:/x"),
        ("//nas/share", "//server/share"), ("/dev/sda1", "/dev/sda1"), ("tmpfs", "tmpfs"),
    ],
)  # fmt: skip
def test_servers_are_not_named(source: str, said: str) -> None:
    assert without_server(source) == said


def test_an_interface_that_is_down_has_no_speed_and_says_why() -> None:
    made = made_server()
    made.write("sys/class/net/eth0/mtu", 1500)
    made.write("sys/class/net/eth0/operstate", "down")
    made.errors["sys/class/net/eth0/speed"] = errno.EINVAL
    made.write("sys/class/net/eth1/mtu", 1500)
    made.write("sys/class/net/eth1/operstate", "unknown")
    made.write("sys/class/net/eth1/carrier", 1)
    made.write("sys/class/net/eth1/speed", -1)
    down, guest = read_interfaces(made.source().tree)
    assert (down.is_up, down.bits_per_second) == (False, None)
    assert (guest.is_up, guest.bits_per_second) == (True, None)
    assert "no speed" in guest.why("bits_per_second")


def test_priorities_without_loss_are_read_as_dcb_prints_them() -> None:
    assert read_priorities('[{"pfc-cap":8,"prio-pfc":["off","off","off","on","off"]}]') == [3]
    assert read_priorities('{"prio-pfc":[false,true]}') == [1]
    for text in ("", "[]", '{"pfc-cap": 8}'):
        with pytest.raises(ValueError, match=r"."):
            read_priorities(text)


def test_a_gpu_of_nvml_takes_its_place_from_pci() -> None:
    made = made_server()
    made.gpu(node=1)
    gpu = made.machine().gpus[0]
    assert (gpu.numa_node, gpu.near_cpus) == (1, "32-63")
    assert gpu.link == gpu.link_max == gpu.slot_max == Link(generation=5, width=16)


def test_a_gpu_that_pci_does_not_show_is_kept_with_what_nvml_tells() -> None:
    made = made_server()
    made.gpus.append(nvml_gpu(0, "0000:99:00.0", memory_bytes=None))
    gpu = made.machine().gpus[0]
    assert gpu.numa_node is None
    assert "does not show" in gpu.why("numa_node")
    assert gpu.link == Link(generation=5, width=16)
