"""How much of a file lies in the kernel's page cache, so that a cached read is never storage.

Sources: cachestat(2), Linux 6.5 and newer; mincore(2), which since Linux 5.2 tells the truth only
of files that the caller owns or may write.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
from collections.abc import Iterable
from pathlib import Path

CACHESTAT = 451
"""Number of the system call, the same on every architecture."""
_libc = ctypes.CDLL(None, use_errno=True)


class _Range(ctypes.Structure):
    _fields_ = [("offset", ctypes.c_uint64), ("length", ctypes.c_uint64)]


class _Answer(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_uint64)
        for name in ("cached", "dirty", "writeback", "evicted", "recently_evicted")
    ]


def cached_share(paths: Iterable[Path]) -> float | None:
    """Share of the files' pages that lie in the page cache, 0 to 1; None where it is not told.

    Raises OSError for a file that cannot be opened.
    """
    cached = pages = 0
    for path in paths:
        found = _cached_pages(path)
        if found is None:
            return None
        cached += found
        pages += -(-path.stat().st_size // mmap.PAGESIZE)
    return cached / pages if pages else None


def forget(paths: Iterable[Path]) -> None:
    """Ask the kernel to drop clean pages of the files; their content stays as it is.

    Raises OSError for a file that cannot be opened.
    """
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def _cached_pages(path: Path) -> int | None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        found = _by_cachestat(descriptor)
        return _by_mincore(descriptor) if found is None else found
    finally:
        os.close(descriptor)


def _by_cachestat(descriptor: int) -> int | None:
    answer, whole = _Answer(), _Range(0, 0)
    failed = _libc.syscall(
        ctypes.c_long(CACHESTAT), ctypes.c_int(descriptor), ctypes.byref(whole),
        ctypes.byref(answer), ctypes.c_uint(0),
    )  # fmt: skip
    return None if failed else int(answer.cached)


def _by_mincore(descriptor: int) -> int | None:
    facts = os.fstat(descriptor)
    if facts.st_uid != os.geteuid() and os.geteuid() != 0:
        return None
    if facts.st_size == 0:
        return 0
    # A private map can be written, which ctypes asks for, and its file cannot.
    with mmap.mmap(descriptor, 0, flags=mmap.MAP_PRIVATE) as pages:
        first = (ctypes.c_char * facts.st_size).from_buffer(pages)
        seen = (ctypes.c_ubyte * -(-facts.st_size // mmap.PAGESIZE))()
        failed = _libc.mincore(ctypes.byref(first), ctypes.c_size_t(facts.st_size), seen)
        code = ctypes.get_errno()
        del first
    if failed:
        if code == errno.ENOSYS:
            return None
        raise OSError(code, os.strerror(code))
    return sum(page & 1 for page in bytes(seen))
