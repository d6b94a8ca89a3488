"""Memory that workers share with the feed's process, with no name and nothing to clean up.

It is an anonymous file (memfd), or an unlinked file in a folder of the user's, that goes away with
the last process that holds it, however that ends. It does not lie in /dev/shm, so the size of that
does not matter.
"""

from __future__ import annotations

import errno
import mmap
import os
import shutil
import tempfile
from pathlib import Path

import psutil

from filmgate.errors import UserError
from filmgate.units import format_bytes
from filmgate.work.cores import CGROUP_ROOT

_CGROUP_FILES = (
    ("memory.max", "memory.current", "memory.stat"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat"),
)


class Memory:
    """One piece of memory; ``descriptor`` is None for one that this process keeps to itself."""

    def __init__(self, view: mmap.mmap, descriptor: int | None = None) -> None:
        self.view = view
        self.descriptor = descriptor

    def close(self) -> None:
        """Give this process's hold on the memory back, once no view of it is left."""
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None


def private_memory(num_bytes: int) -> Memory:
    """Memory of this process alone: a forked child writes to a copy."""
    return Memory(mmap.mmap(-1, num_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))


def shared_memory(num_bytes: int) -> Memory:
    """Zeros that other processes can map by the descriptor; pages are taken as they are used.

    Raises UserError when the process may not have that much.
    """
    descriptor = None
    try:
        descriptor = os.memfd_create("filmgate-feed", os.MFD_CLOEXEC)
        os.ftruncate(descriptor, num_bytes)
        return open_memory(descriptor, num_bytes)
    except OSError as error:
        if descriptor is not None:
            os.close(descriptor)
        raise _not_allowed(num_bytes, error) from None


def _not_allowed(num_bytes: int, error: OSError) -> UserError:
    hints = {
        errno.EFBIG: "raise the limit on file sizes (`ulimit -f`), which counts for shared memory",
        errno.EMFILE: "raise the limit on open files (`ulimit -n`)",
        errno.ENOMEM: "raise the limit on memory (`ulimit -v`)",
    }
    also = "lower prefetch_batches or cache in [limits]"
    return UserError(
        f"no {format_bytes(num_bytes)} of shared memory can be had: {error.strerror or error}",
        hint=f"{hints[error.errno]}, or {also}" if error.errno in hints else also,
    )


def file_memory(num_bytes: int, folder: Path) -> Memory:
    """A file without a name, all of its space reserved. Raises UserError when it does not fit."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            os.posix_fallocate(file.fileno(), 0, num_bytes)
            descriptor = os.dup(file.fileno())
    except OSError as error:
        raise _no_room(num_bytes, folder, error) from None
    return open_memory(descriptor, num_bytes)


def _no_room(num_bytes: int, folder: Path, error: OSError) -> UserError:
    if error.errno == errno.ENOSPC:
        free = format_bytes(shutil.disk_usage(folder).free)
        return UserError(
            f"the cache needs {format_bytes(num_bytes)} in {folder}, {free} are free there",
            hint="lower cache in [limits], or name another cache_folder",
        )
    return UserError(
        f"no cache can be made in {folder}: {error.strerror}",
        hint="name a folder on a local disk that can be written as cache_folder in [limits]",
    )


def open_memory(descriptor: int, num_bytes: int) -> Memory:
    """Map what another process made, or this one."""
    return Memory(mmap.mmap(descriptor, num_bytes), descriptor)


def refuse_too_large(need_bytes: int, what: str, hint: str) -> None:
    """Raise UserError when the need does not fit into what is available."""
    have_bytes = available_bytes()
    if need_bytes > have_bytes:
        raise UserError(
            f"the feed needs {format_bytes(need_bytes)} of memory for {what}, "
            f"{format_bytes(have_bytes)} are available",
            hint=hint,
        )


def available_bytes() -> int:
    """Memory that this process may still take: of the machine and of its container."""
    rooms: list[int] = [psutil.virtual_memory().available]
    for names in _CGROUP_FILES:
        room = _room_in_cgroup(*names)
        if room is not None:
            rooms.append(room)
    return min(rooms)


def _room_in_cgroup(limit_name: str, usage_name: str, stat_name: str) -> int | None:
    """What is left of a memory limit, counting cached file pages as free; None without a limit."""
    limit, usage = _read_number(CGROUP_ROOT / limit_name), _read_number(CGROUP_ROOT / usage_name)
    if limit is None or usage is None:
        return None
    lines = (CGROUP_ROOT / stat_name).read_text().splitlines()
    counts = dict(line.split() for line in lines)
    return limit - usage + int(counts["inactive_file"]) + int(counts["active_file"])


def _read_number(path: Path) -> int | None:
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None
