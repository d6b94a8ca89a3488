from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from filmgate.bench import memory as memory_module
from filmgate.bench.ask import Ask
from filmgate.bench.memory import bench_memory
from filmgate.bench.stream import (
    LEAST_ARRAY_BYTES,
    TIMES_CACHE,
    Stream,
    choose_size,
    last_level_bytes,
)
from filmgate.bench.stream_worker import KERNELS, SCALAR
from filmgate.errors import FilmgateError
from filmgate.machine.tree import FolderTree

SMALL = 1 << 20


def quiet(done: int, total: int, note: str) -> None:
    assert 0 <= done <= total


def test_the_kernels_compute_what_stream_computes() -> None:
    length = 100_003
    start = [np.random.default_rng(seed).random(length) for seed in range(3)]
    expected = {
        "copy": (2, start[0]), "scale": (1, SCALAR * start[2]),
        "add": (2, start[0] + start[1]), "triad": (0, start[1] + SCALAR * start[2]),
    }  # fmt: skip
    for name, (kernel, num_arrays) in KERNELS.items():
        arrays = [array.copy() for array in start]
        kernel(arrays[0], arrays[1], arrays[2])
        place, result = expected[name]
        np.testing.assert_array_equal(arrays[place], result)
        assert num_arrays == (2 if name in ("copy", "scale") else 3)


def test_processes_measure_every_kernel_and_end() -> None:
    cores = sorted(os.sched_getaffinity(0))[:2]
    with Stream(cores, SMALL) as stream:
        workers = list(stream._workers)
        assert all(stream.rate(kernel) > 0 for kernel in KERNELS)
        assert {core for worker in workers for core in os.sched_getaffinity(worker.pid)} == set(
            cores
        )
    assert all(worker.poll() is not None for worker in workers)


def test_a_process_that_dies_is_said() -> None:
    with Stream([min(os.sched_getaffinity(0))], SMALL) as stream:
        stream._workers[0].kill()
        stream._workers[0].wait()
        with pytest.raises(FilmgateError, match="ended with exit code -9"):
            stream.rate("copy")


@given(cache=st.none() | st.integers(1, 1 << 32), free=st.integers(1 << 30, 1 << 40))
def test_arrays_are_four_times_the_caches_or_it_is_said(cache: int | None, free: int) -> None:
    size = choose_size(cache, free)
    assert 3 * size.array_bytes <= free // 2
    if cache is None:
        assert size.follows_rule is None
    elif free // 6 >= max(TIMES_CACHE * cache, LEAST_ARRAY_BYTES):
        assert size.follows_rule
    assert size.follows_rule in (None, size.array_bytes >= TIMES_CACHE * (cache or 0))


def test_a_cache_that_cores_share_counts_once(tmp_path: Path) -> None:
    for cpu in range(4):
        for index, (level, size, shared) in enumerate(
            [("1", "32K", str(cpu)), ("3", "32768K", "0-1" if cpu < 2 else "2-3")]
        ):
            folder = tmp_path / f"sys/devices/system/cpu/cpu{cpu}/cache/index{index}"
            folder.mkdir(parents=True)
            (folder / "level").write_text(level)
            (folder / "size").write_text(size)
            (folder / "shared_cpu_list").write_text(shared)
    assert last_level_bytes(FolderTree(tmp_path)) == 64 << 20
    assert last_level_bytes(FolderTree(tmp_path / "nothing")) is None


def test_main_memory_is_measured_and_a_gpu_that_is_not_there_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory_module, "ROUNDS_QUICK", 1)
    part = bench_memory(Ask(quick=True, device="cpu"), quiet)
    names = [one.name for one in part.measures]
    assert names[:4] == ["host-copy", "host-scale", "host-add", "host-triad"]
    assert all(one.anchor == "STREAM" and one.low > 0 for one in part.measures)
    assert part.unknown["gpu-copy"].startswith("not present")
    assert part.says[0].startswith("main memory gives ")
