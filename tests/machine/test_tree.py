from __future__ import annotations

import errno
from pathlib import Path

import pytest

from filmgate.machine.facts import Gaps
from filmgate.machine.tree import FolderTree, MemoryTree

FILES = {"sys/devices/a/size": b"12\n", "proc/x": b"0x10de\n"}
LINKS = {"sys/block/a": "../devices/a", "loop": "loop", "out": "/../../etc", "abs": "/proc/x"}


def test_text_is_read_through_links_and_without_the_space_around_it() -> None:
    tree = MemoryTree(FILES, LINKS)
    assert tree.text("sys/block/a/size") == "12"
    assert tree.number("abs") == 0x10DE
    assert tree.names("sys/block/a") == ["size"]
    assert tree.real("sys/block/a/size") == "sys/devices/a/size"


def test_a_link_never_leads_out_of_the_tree(tmp_path: Path) -> None:
    (tmp_path / "passwd").symlink_to("/etc/passwd")
    (tmp_path / "up").symlink_to("../../../../../../etc/passwd")
    tree = FolderTree(tmp_path)
    for name in ("passwd", "up"):
        with pytest.raises(OSError, match=name):
            tree.text(name)
    assert MemoryTree(FILES, LINKS).real("out/passwd") == "etc/passwd"


def test_a_loop_of_links_ends_in_an_error() -> None:
    with pytest.raises(OSError) as caught:
        MemoryTree(FILES, LINKS).text("loop")
    assert caught.value.errno == errno.ELOOP
    assert not MemoryTree(FILES, LINKS).has("loop")


def test_what_could_not_be_read_when_it_was_captured_cannot_be_read_now() -> None:
    tree = MemoryTree({}, errors={"sys/class/net/eth0/speed": errno.EINVAL})
    gaps = Gaps()
    assert gaps.take("speed", lambda: tree.number("sys/class/net/eth0/speed")) is None
    assert gaps.reasons == {"speed": "/sys/class/net/eth0/speed: invalid argument"}


def test_a_file_on_disk_and_in_memory_read_alike(tmp_path: Path) -> None:
    for path, content in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    for tree in (FolderTree(tmp_path), MemoryTree(FILES)):
        assert tree.number("sys/devices/a/size") == 12
        assert tree.names("sys/devices") == ["a"]
        assert tree.names("nowhere") == []
        with pytest.raises(FileNotFoundError):
            tree.text("sys/devices/b")
        with pytest.raises(ValueError, match="no whole number"):
            MemoryTree({"x": b"many"}).number("x")
