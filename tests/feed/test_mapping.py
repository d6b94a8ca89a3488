"""Shared memory where the process may not have it."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from filmgate.errors import UserError
from filmgate.feed.mapping import shared_memory


@contextmanager
def limited(kind: int, limit: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(kind, (soft, hard))


def num_open_mappings() -> int:
    links = Path("/proc/self/fd").iterdir()
    return sum("filmgate-feed" in os.path.realpath(link) for link in links)


def test_other_processes_can_map_what_is_shared() -> None:
    memory = shared_memory(4096)
    assert memory.descriptor is not None
    assert os.fstat(memory.descriptor).st_size == 4096
    memory.close()


def test_memory_over_the_limit_on_file_sizes_is_said_and_leaves_nothing_open() -> None:
    before = num_open_mappings()
    with limited(resource.RLIMIT_FSIZE, 4096), pytest.raises(UserError) as error:
        shared_memory(8192)
    assert error.value.message == "no 8.19 kB of shared memory can be had: File too large"
    assert "ulimit -f" in (error.value.hint or "")
    assert num_open_mappings() == before


def test_no_descriptor_left_is_said() -> None:
    with limited(resource.RLIMIT_NOFILE, 0), pytest.raises(UserError) as error:
        shared_memory(4096)
    assert "ulimit -n" in (error.value.hint or "")
