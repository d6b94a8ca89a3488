from __future__ import annotations

import io
import tarfile
from pathlib import Path

import msgspec
import pytest

from filmgate.errors import UserError
from filmgate.machine import open_machine
from filmgate.machine.capture import (
    Capture,
    RecordingTree,
    Scrub,
    capture_machine,
    open_capture,
    pack,
)
from filmgate.machine.machine import read_machine, this_source
from filmgate.machine.tree import FolderTree, MemoryTree
from filmgate.records import Header
from tests.machine.made import as_json, made_server

SECRETS = (
    "1d2e3f40-5a6b-7c8d-9e0f-112233445566", "aa:bb:cc:dd:ee:ff", "10.20.30.40", "nas01.example.org",
    "360014059f0b7a8c9d1e2f3a4b5c6d7e8", "001122334455",
)  # fmt: skip


def test_a_capture_of_this_machine_reads_as_this_machine(tmp_path: Path) -> None:
    capture_machine(tmp_path / "here.tar.gz")
    there = as_json(open_machine(tmp_path / "here.tar.gz"))
    here = as_json(read_machine(this_source()))
    for moving in ("memory", "filesystems", "gpus"):
        there.pop(moving), here.pop(moving)
    assert there == here


def test_a_capture_holds_no_serial_numbers_and_no_addresses(tmp_path: Path) -> None:
    uuid, mac, address, server, wwid, net = SECRETS
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_text(
        f"30 1 0:50 / /data rw - nfs4 {server}:/videos rw,addr={address},clientaddr={address}\n"
        f"31 1 253:0 / /runs rw - xfs /dev/mapper/{wwid} rw\n"
        f"32 1 8:1 / /media/{uuid} rw - ext4 /dev/sda1 rw\n"
    )
    for folder in (f"sys/class/net/enx{net}", "sys/class/block/dm-0/dm"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / f"sys/class/net/enx{net}/mtu").write_text("1500")
    (tmp_path / f"sys/class/net/enx{net}/address").write_text(mac)
    for name, content in {"dm/name": wwid, "dm/uuid": f"mpath-{wwid}", "size": "8"}.items():
        (tmp_path / "sys/class/block/dm-0" / name).write_text(content)
    recording = RecordingTree(FolderTree(tmp_path))
    source = this_source(recording)
    original = read_machine(source)
    recording.finish()
    packed = pack(source, recording)
    content = b"".join(packed_files(packed).values()).decode(errors="replace")
    names = " ".join(packed_files(packed))
    for secret in SECRETS:
        assert secret not in content
        assert secret not in names
    (tmp_path / "other.tar.gz").write_bytes(packed)
    copy = open_machine(tmp_path / "other.tar.gz")
    assert [one.kind for one in copy.filesystems] == [one.kind for one in original.filesystems]
    assert copy.filesystems[1].device == "dm-0"
    assert copy.interfaces[0].name.startswith("enxremoved-")


def packed_files(packed: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        found = {}
        for member in archive:
            file = archive.extractfile(member) if member.isfile() else None
            found[member.name] = file.read() if file else member.linkname.encode()
        return found


def test_the_same_name_is_replaced_by_the_same_word() -> None:
    scrub = Scrub()
    assert scrub(SECRETS[0]) == scrub(SECRETS[0]) != scrub(SECRETS[1])
    assert scrub("5.15.0-91 535.129.03 0000:65:00.0 9223372036854771712") == (
        "5.15.0-91 535.129.03 0000:65:00.0 9223372036854771712"
    )


def test_what_could_not_be_read_there_cannot_be_read_in_its_capture(tmp_path: Path) -> None:
    made = made_server()
    made.errors["sys/class/net/eth9/speed"] = 22
    made.write("sys/class/net/eth9/mtu", 1500)
    machine = made.machine()
    assert machine.interfaces[0].bits_per_second is None
    assert "invalid argument" in machine.interfaces[0].why("bits_per_second")


def test_an_unpacked_tree_and_a_saved_record_are_taken_too(tmp_path: Path) -> None:
    made = made_server()
    made.gpu()
    machine = made.machine()
    (tmp_path / "machine.json").write_bytes(msgspec.json.encode(machine))
    assert open_machine(tmp_path / "machine.json") == machine
    for path, content in made.files.items():
        (tmp_path / "tree" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / path).write_bytes(content)
    for path, target in made.links.items():
        (tmp_path / "tree" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / path).symlink_to(target)
    bare = open_machine(tmp_path / "tree")
    assert bare.cpu == machine.cpu
    assert [gpu.pci_address for gpu in bare.gpus] == [gpu.pci_address for gpu in machine.gpus]
    assert bare.gpus[0].memory_bytes is None
    assert not bare.asked_nvml


@pytest.mark.parametrize("name", ["text.tar.gz", "picture.xml", "nothing.tar", "odd.json"])
def test_what_is_no_capture_is_refused_with_a_hint(tmp_path: Path, name: str) -> None:
    if name != "nothing.tar":
        (tmp_path / name).write_text("<svg/>")
    with pytest.raises(UserError) as caught:
        open_machine(tmp_path / name)
    assert name in caught.value.message
    assert caught.value.hint


def test_a_folder_without_proc_and_sys_is_no_machine(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="neither proc nor sys"):
        open_capture(tmp_path)


def test_a_tar_with_a_link_to_this_machine_reads_nothing_of_it(tmp_path: Path) -> None:
    path = tmp_path / "evil.tar"
    with tarfile.open(path, "w") as archive:
        for name, target in (("top/proc/meminfo", "/etc/passwd"), ("top/proc/self", "../../../..")):
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, target
            archive.addfile(link)
        file = tarfile.TarInfo("top/proc/cpuinfo")
        archive.addfile(file, io.BytesIO())
    machine = open_machine(path)
    assert machine.memory.total_bytes is None
    assert "no such file" in machine.memory.why("total_bytes")


def test_a_capture_of_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "old.tar"
    with tarfile.open(path, "w") as archive:
        member = tarfile.TarInfo("capture.json")
        member.size = 2
        archive.addfile(member, io.BytesIO(b"{}"))
    with pytest.raises(UserError, match="no capture of a machine"):
        open_machine(path)


def test_a_capture_record_comes_back_as_it_went() -> None:
    source = made_server().source()
    capture = Capture(
        header=Header(schema="filmgate.capture", schema_version=1),
        host=source.host,
        nvml=source.nvml,
        errors={},
    )
    assert msgspec.json.decode(msgspec.json.encode(capture), type=Capture) == capture
    assert isinstance(source.tree, MemoryTree)
