"""Run the benchmarks of this folder, or those named.

    python -m benchmarks [NAME ...]

A benchmark is a module NAME.py that BENCHMARKS lists, with a docstring that says what it measures;
it prints its talk on stderr and, as its last line on stdout, a JSON object.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
BENCHMARKS = ("peers", "layouts", "checkpoint")
DEADLINE_SECONDS = 3 * 3600


def main(names: Sequence[str]) -> int:
    """Exit code 0: all ran; 1: one failed; 2: no such benchmark."""
    unknown = sorted(set(names) - set(BENCHMARKS))
    if unknown:
        listed = ", ".join(BENCHMARKS)
        print(f"error: no benchmark {', '.join(unknown)}\nhint: one of: {listed}", file=sys.stderr)
        return 2
    failed = [name for name in names or BENCHMARKS if not _run(name)]
    if failed:
        print(f"error: failed: {', '.join(failed)}\nhint: see above", file=sys.stderr)
    return 1 if failed else 0


def _run(name: str) -> bool:
    """In a process of its own, so that one does not warm up the next."""
    command = [sys.executable, "-m", f"benchmarks.{name}"]
    done = subprocess.run(command, cwd=FOLDER.parent, timeout=DEADLINE_SECONDS, check=False)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
