"""A sequential reader of our own: for machines without fio, and for what the page cache gives."""

from __future__ import annotations

import math
import mmap
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from filmgate.bench.files import BLOCK_BYTES


def can_read_directly(path: Path) -> bool:
    """Whether the file can be read past the page cache. Raises OSError when it cannot be opened."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECT)
    except OSError:
        os.close(os.open(path, os.O_RDONLY))  # raises where the file itself is at fault
        return False
    try:
        with mmap.mmap(-1, mmap.PAGESIZE) as page:
            os.preadv(descriptor, [page], 0)
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)


def read_sequentially(paths: Sequence[Path], *, threads: int, seconds: float) -> float:
    """Bytes a second that ``threads`` readers get past the page cache, 1 MiB at a time.

    Reader i of n begins with file i; files are read over and over. Raises OSError as reading does.
    """
    end = time.monotonic() + seconds

    def work(number: int) -> int:
        """Bytes read until the time is up."""
        total, place = 0, number
        with mmap.mmap(-1, BLOCK_BYTES) as block:
            while time.monotonic() < end:
                total += _read_one(paths[place % len(paths)], block, os.O_DIRECT, end)
                place += threads
        return total

    return _rate(work, threads)


def read_once(paths: Sequence[Path], *, threads: int) -> float:
    """Bytes a second through the page cache, every file once. Raises OSError as reading does."""

    def work(number: int) -> int:
        """Bytes of this reader's share of the files."""
        with mmap.mmap(-1, BLOCK_BYTES) as block:
            return sum(_read_one(path, block, 0, math.inf) for path in paths[number::threads])

    return _rate(work, threads)


def _rate(work: Callable[[int], int], threads: int) -> float:
    start = time.monotonic()
    with ThreadPoolExecutor(threads) as pool:
        total = sum(pool.map(work, range(threads)))
    return total / (time.monotonic() - start)


def _read_one(path: Path, block: mmap.mmap, flags: int, end: float) -> int:
    descriptor = os.open(path, os.O_RDONLY | flags)
    total = 0
    try:
        while time.monotonic() < end:
            got = os.preadv(descriptor, [block], total)
            total += got
            if got < BLOCK_BYTES:
                break
        return total
    finally:
        os.close(descriptor)
