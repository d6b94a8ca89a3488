"""Whatever a file holds, a machine is read: the field is unknown, and nothing raises."""

from __future__ import annotations

import errno

import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st

from filmgate.machine import Machine, Needs, audit_machine
from filmgate.machine.filesystems import read_mounts
from filmgate.machine.machine import Source, read_machine
from filmgate.machine.topology import topology_of
from filmgate.machine.topology_svg import topology_svg
from filmgate.machine.tree import MemoryTree
from tests.machine.made import MadeMachine, made_server


def full_server() -> MadeMachine:
    made = made_server()
    made.gpu()
    made.raid([made.nvme(0), made.nvme(1)], "raid5")
    made.mount("/data", "/dev/md0", "9:0")
    made.mounts.append("30 1 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw")
    made.write("proc/self/cgroup", "0::/box")
    made.write("sys/fs/cgroup/box/cpu.max", "200000 100000")
    made.write("sys/fs/cgroup/box/memory.max", 2**33)
    made.write("sys/devices/system/edac/mc/mc0/ce_count", 0)
    made.write("sys/devices/system/edac/mc/mc0/ue_count", 0)
    made.rdma(0)
    made.rdma(1, layer="Ethernet")
    return made


SOURCE = full_server().source()
TREE = SOURCE.tree
assert isinstance(TREE, MemoryTree)
PATHS = sorted(TREE.files)
GARBAGE = st.one_of(
    st.binary(max_size=64),
    st.sampled_from(
        [b"", b"\n", b"-1\n", b"0", b"max", b": : -", b"9" * 40, b"0x", b" - ", b"N/A"]
    ),
)


def read_and_judge(tree: MemoryTree) -> Machine:
    source = Source(name="broken", tree=tree, host=None, nvml=SOURCE.nvml)
    machine = read_machine(source)
    needs = Needs(dataset="/data/x", checkpoints="/runs", second_copy="/b", num_nodes=2)
    audit_machine(machine, needs, [])
    topology_svg(topology_of(machine))
    assert msgspec.json.decode(msgspec.json.encode(machine), type=Machine) == machine
    return machine


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(PATHS), GARBAGE, min_size=1, max_size=4))
@example({path: b"9" * 40 for path in PATHS if path.endswith("local_cpulist")})
@example({"proc/self/mountinfo": b"a b c"})
@example({"sys/devices/system/cpu/online": b"9999999999-99999999999"})
def test_files_with_any_content_never_stop_the_reading(files: dict[str, bytes]) -> None:
    assert isinstance(TREE, MemoryTree)
    read_and_judge(MemoryTree(TREE.files | files, TREE.links))


@settings(max_examples=25, deadline=None)
@given(
    st.sets(st.sampled_from(PATHS), max_size=40),
    st.sampled_from([errno.EACCES, errno.EIO, errno.EINVAL]),
)
def test_files_that_cannot_be_read_never_stop_the_reading(paths: set[str], code: int) -> None:
    assert isinstance(TREE, MemoryTree)
    files = {path: content for path, content in TREE.files.items() if path not in paths}
    read_and_judge(MemoryTree(files, TREE.links, dict.fromkeys(paths, code)))


@given(st.text(max_size=80))
def test_any_table_of_mounts_is_read(text: str) -> None:
    read_mounts(MemoryTree({"proc/self/mountinfo": text.encode()}))
    read_mounts(MemoryTree({"proc/mounts": text.encode()}))
