"""One process of the main memory benchmark: its own arrays, on its own core.

Started by ``stream``, which says on stdin what to do and hears the times on stdout. Arrays are
written first by who uses them, so that they lie in the memory of that core's node.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

SCALAR = 3.0
CHUNK = 32_768
"""Elements (256 kB) of a triad that are done at a time, so that its product stays in the cache."""

Arrays = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


def copy(a: NDArray[np.float64], b: NDArray[np.float64], c: NDArray[np.float64]) -> None:
    """``c = a``."""
    np.copyto(c, a)


def scale(a: NDArray[np.float64], b: NDArray[np.float64], c: NDArray[np.float64]) -> None:
    """``b = scalar * c``."""
    np.multiply(c, SCALAR, out=b)


def add(a: NDArray[np.float64], b: NDArray[np.float64], c: NDArray[np.float64]) -> None:
    """``c = a + b``."""
    np.add(a, b, out=c)


def triad(a: NDArray[np.float64], b: NDArray[np.float64], c: NDArray[np.float64]) -> None:
    """``a = b + scalar * c``."""
    product = np.empty(CHUNK)
    for start in range(0, len(a), CHUNK):
        part = slice(start, start + CHUNK)
        some = product[: len(a[part])]
        np.multiply(c[part], SCALAR, out=some)
        np.add(b[part], some, out=a[part])


KERNELS: dict[
    str,
    tuple[Callable[[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]], None], int],
] = {"copy": (copy, 2), "scale": (scale, 2), "add": (add, 3), "triad": (triad, 3)}
"""Name -> what it does, and how many arrays it reads or writes."""


def main() -> None:
    """Be told core and length, then a kernel, a number of passes and a start time a line."""
    core, length = json.loads(sys.stdin.readline())
    os.sched_setaffinity(0, {core})
    arrays = tuple(np.full(length, value) for value in (1.0, 2.0, 0.0))
    _say(["ready"])
    for line in sys.stdin:
        name, passes, at = json.loads(line)
        kernel, _ = KERNELS[name]
        while time.monotonic() < at:  # all begin at once, and a sleep may be late
            pass
        start = time.monotonic()
        for _ in range(passes):
            kernel(*arrays)
        _say([start, time.monotonic()])


def _say(what: list[str] | list[float]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
