"""Run the benchmarks of this folder, or those named.

    python -m benchmarks [NAME ...]

A benchmark is a module ``bench_NAME.py`` with a docstring that says what it measures, and a
``main()`` that prints its talk on stderr and, as its last line on stdout, a JSON object.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
DEADLINE_SECONDS = 3 * 3600


def main(names: Sequence[str]) -> int:
    """Exit code 0: all ran; 1: one failed; 2: no such benchmark, or none at all."""
    known = {path.stem.removeprefix("bench_"): path for path in sorted(FOLDER.glob("bench_*.py"))}
    unknown = sorted(set(names) - set(known))
    if unknown or not known:
        listed = ", ".join(known) or "there is none yet"
        print(f"error: no benchmark {', '.join(unknown)}\nhint: one of: {listed}", file=sys.stderr)
        return 2
    failed = [name for name in names or known if not _run(known[name])]
    if failed:
        print(f"error: failed: {', '.join(failed)}\nhint: see above", file=sys.stderr)
    return 1 if failed else 0


def _run(path: Path) -> bool:
    """In a process of its own, so that one does not warm up the next."""
    command = [sys.executable, "-m", f"benchmarks.{path.stem}"]
    done = subprocess.run(command, cwd=FOLDER.parent, timeout=DEADLINE_SECONDS, check=False)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
