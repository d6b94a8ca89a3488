"""How many small files a second can be looked up and opened. fio does not measure that."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

FILES_IN_FOLDER = 100
SMALL_BYTES = 4096


@contextmanager
def small_files(folder: Path, count: int) -> Iterator[list[str]]:
    """Paths of that many files of 4 KiB, 100 a folder, gone at the end. Raises OSError."""
    own = Path(tempfile.mkdtemp(prefix=".filmgate-bench-names-", dir=folder))
    try:
        paths = []
        for number in range(count):
            inside = own / str(number // FILES_IN_FOLDER)
            if number % FILES_IN_FOLDER == 0:
                inside.mkdir()
            path = inside / f"{number}.bin"
            path.write_bytes(bytes(SMALL_BYTES))
            paths.append(str(path))
        yield paths
    finally:
        shutil.rmtree(own)


def stat_rate(paths: list[str], seed: int) -> float:
    """Files a second whose size is asked for, in random order, by one thread."""
    return _rate(paths, seed, os.stat)


def open_rate(paths: list[str], seed: int) -> float:
    """Files a second that are opened and closed, in random order, by one thread."""
    return _rate(paths, seed, lambda path: os.close(os.open(path, os.O_RDONLY)))


def _rate(paths: list[str], seed: int, touch: Callable[[str], object]) -> float:
    order = paths.copy()
    random.Random(seed).shuffle(order)
    start = time.perf_counter()
    for path in order:
        touch(path)
    return len(order) / (time.perf_counter() - start)
