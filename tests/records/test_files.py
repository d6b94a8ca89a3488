from __future__ import annotations

import errno
import os
from pathlib import Path
from threading import Event
from typing import BinaryIO

import pytest

from filmgate.errors import UserError
from filmgate.records import (
    Header,
    Record,
    digest_bytes,
    digest_file,
    read_record,
    write_file,
    write_record,
)


class Point(Record, frozen=True):
    header: Header
    x: int


def test_a_record_reads_back_as_it_was(tmp_path: Path) -> None:
    point = Point(header=Header(schema="test.point", schema_version=1), x=3)
    write_record(tmp_path / "point.json", point)
    assert read_record(tmp_path / "point.json", Point) == point


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_file(path, b"old")

    def fail(file: BinaryIO) -> None:
        file.write(b"half")
        raise RuntimeError("interrupted")

    with pytest.raises(RuntimeError):
        write_file(path, fail)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b'{"x": 1', b"\xff"])
def test_a_file_that_is_no_such_record_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "point.json").write_bytes(content)
    with pytest.raises(UserError, match="is no Point record"):
        read_record(tmp_path / "point.json", Point)


def test_a_missing_record_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not exist"):
        read_record(tmp_path / "point.json", Point)


@pytest.mark.parametrize("content", [b"", b"x", b"abc" * 100_000])
def test_a_file_has_the_digest_of_its_bytes(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    assert digest_file(tmp_path / "file") == digest_bytes(content)
    assert digest_bytes(content[:1], content[1:]) == digest_bytes(content)


def test_an_error_of_the_disk_names_the_file(tmp_path: Path) -> None:
    def fail(file: BinaryIO) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for path in (tmp_path / "file", tmp_path / "none" / "file"):
        with pytest.raises(OSError) as caught:
            write_file(path, fail)
        assert caught.value.filename == str(path)


def test_a_digest_that_nobody_wants_ends(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    unwanted = Event()
    unwanted.set()
    with pytest.raises(InterruptedError):
        digest_file(tmp_path / "file", unwanted)
