"""Bandwidth of main memory, counted as STREAM counts it, by one process on each core.

Source: J. D. McCalpin, "STREAM: Sustainable Memory Bandwidth in High Performance Computers",
https://www.cs.virginia.edu/stream/ref.html: copy and scale move 16 bytes an element, add and triad
24; what a processor reads in order to write is not counted; arrays are 4 times the caches at least.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from filmgate.bench.stream_worker import KERNELS
from filmgate.closing import Closing
from filmgate.errors import DeadlineError, FilmgateError
from filmgate.machine.tree import Tree
from filmgate.units import parse_bytes

ITEM_BYTES = 8
TIMES_CACHE = 4
LEAST_ARRAY_BYTES = 64 << 20
"""Of each array over all processes, where the caches are small or unknown."""
WORK_BYTES = 2 << 30
"""About so much is moved for one value."""
ANSWER_SECONDS = 120.0
BEGIN_SECONDS = 0.05
"""From the word to the start, so that every process has heard it."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """How large the arrays are."""

    array_bytes: int
    """Of each of the three, over all processes."""
    cache_bytes: int | None
    """All last-level caches together; None where the kernel does not tell."""

    @property
    def follows_rule(self) -> bool | None:
        """Whether an array is 4 times the caches; None where they are unknown."""
        if self.cache_bytes is None:
            return None
        return self.array_bytes >= TIMES_CACHE * self.cache_bytes


def choose_size(cache_bytes: int | None, free_bytes: int) -> Size:
    """Four times the caches, as far as half of the free memory holds three such arrays."""
    wanted = max(LEAST_ARRAY_BYTES, TIMES_CACHE * (cache_bytes or 0))
    return Size(array_bytes=min(wanted, free_bytes // 6), cache_bytes=cache_bytes)


def last_level_bytes(tree: Tree) -> int | None:
    """All last-level caches together, those that several processors share once; None: not told.

    Source: sysfs-devices-system-cpu in the kernel's ABI documentation.
    """
    root, found = "sys/devices/system/cpu", dict[str, int]()
    for cpu in (name for name in tree.names(root) if name[3:].isdigit()):
        folder = f"{root}/{cpu}/cache"
        levels = []
        for index in tree.names(folder):
            try:
                level = tree.number(f"{folder}/{index}/level")
                size = parse_bytes(tree.text(f"{folder}/{index}/size").replace("K", "KiB"))
                shared = tree.text(f"{folder}/{index}/shared_cpu_list")
            except (OSError, ValueError):
                continue
            levels.append((level, shared, size))
        if levels:
            _, shared, size = max(levels)
            found[shared] = size
    return sum(found.values()) or None


class Stream(Closing):
    """Processes with their arrays, one on each core; ``rate`` measures a kernel once."""

    def __init__(self, cores: Sequence[int], array_bytes: int) -> None:
        self._cores = cores
        self._length = max(1, array_bytes // ITEM_BYTES // len(cores))
        self._workers: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Self:
        try:
            for core in self._cores:
                self._workers.append(_start())
                self._tell(self._workers[-1], [core, self._length])
            self._hear()
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """End the processes. May be called again."""
        for worker in self._workers:
            worker.kill()
            worker.communicate()
        self._workers.clear()

    def rate(self, kernel: str) -> float:
        """Bytes a second of all processes together, from the first start to the last end.

        Raises DeadlineError when one does not answer, FilmgateError when one has died.
        """
        bytes_a_pass = KERNELS[kernel][1] * ITEM_BYTES * self._length * len(self._cores)
        passes = max(1, round(WORK_BYTES / bytes_a_pass))
        at = time.monotonic() + BEGIN_SECONDS
        for worker in self._workers:
            self._tell(worker, [kernel, passes, at])
        times = self._hear()
        seconds = max(end for _, end in times) - min(start for start, _ in times)
        return passes * bytes_a_pass / seconds

    def _tell(self, worker: subprocess.Popen[str], what: list[object]) -> None:
        assert worker.stdin is not None
        try:
            worker.stdin.write(json.dumps(what) + "\n")
            worker.stdin.flush()
        except BrokenPipeError:
            raise _died(worker) from None

    def _hear(self) -> list[list[float]]:
        """One answer of each process. The pipes hold no more than one, so none is left behind."""
        answers: list[list[float]] = []
        deadline = time.monotonic() + ANSWER_SECONDS
        with selectors.DefaultSelector() as waiting:
            for worker in self._workers:
                assert worker.stdout is not None
                waiting.register(worker.stdout, selectors.EVENT_READ, worker)
            while waiting.get_map():
                ready = waiting.select(max(0.0, deadline - time.monotonic()))
                if not ready:
                    raise DeadlineError(f"no answer from a process after {ANSWER_SECONDS:.0f} s")
                for key, _ in ready:
                    line = key.data.stdout.readline()
                    if not line:
                        raise _died(key.data)
                    answers.append(json.loads(line))
                    waiting.unregister(key.fileobj)
        return answers


def _start() -> subprocess.Popen[str]:
    path = os.pathsep.join(one for one in sys.path if one)
    return subprocess.Popen(
        [sys.executable, "-m", "filmgate.bench.stream_worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        cwd=Path("/"),
    )


def _died(worker: subprocess.Popen[str]) -> FilmgateError:
    code = worker.wait(10)
    return FilmgateError(
        f"a process of the memory benchmark ended with exit code {code}",
        hint="was it killed for memory? `dmesg` says so",
    )
