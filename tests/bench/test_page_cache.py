from __future__ import annotations

import os
from pathlib import Path

import pytest

from filmgate.bench.page_cache import _by_cachestat, _by_mincore, cached_share, forget


def written(folder: Path) -> Path:
    path = folder / "clip.bin"
    with path.open("wb") as file:
        file.write(os.urandom(1 << 20))
        os.fsync(file.fileno())
    return path


def test_a_file_that_was_read_lies_in_the_page_cache_and_a_dropped_one_does_not(
    tmp_path: Path,
) -> None:
    path = written(tmp_path)
    forget([path])
    if cached_share([path]) != 0.0:
        pytest.skip("the pages of this filesystem cannot be dropped")
    path.read_bytes()
    assert cached_share([path]) == 1.0
    assert len(path.read_bytes()) == 1 << 20


def test_both_ways_of_asking_agree(tmp_path: Path) -> None:
    path = written(tmp_path)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        by_cachestat = _by_cachestat(descriptor)
        assert by_cachestat is None or by_cachestat == _by_mincore(descriptor)
    finally:
        os.close(descriptor)


def test_an_empty_list_has_no_share() -> None:
    assert cached_share([]) is None
