"""Many processes that read the videos of a staged catalog, each one whole, again and again."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from filmgate.catalog import VideoRow, open_catalog
from filmgate.catalog.tiers import locate
from filmgate.records import digest_file
from tests.patience import PATIENT_SECONDS

ROOT = Path(__file__).resolve().parents[2]


@dataclass(kw_only=True)
class Readers:
    """What they found, once they have ended."""

    reads: Counter[str] = field(default_factory=Counter)
    """Tier -> whole files read."""
    faults: list[str] = field(default_factory=list)


@contextmanager
def reading(folder: Path, *, num_readers: int) -> Iterator[Readers]:
    """Readers that start now and read until the block ends."""
    stop, readers = folder.parent / "stop-reading", Readers()
    stop.unlink(missing_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.stage.readers", folder, stop, str(num_readers)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "reading\n"
    try:
        yield readers
    finally:
        stop.touch()
        said, _ = process.communicate(timeout=PATIENT_SECONDS)
    for line in said.splitlines():
        count, kind, what = line.split(" ", 2)
        if kind == "fault":
            readers.faults.append(what)
        else:
            readers.reads[what] += int(count)


def main() -> None:
    """Fork the readers, which share what was imported, and wait for them."""
    folder, stop, num_readers = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    catalog = open_catalog(folder)
    rows = [catalog.video(row) for row in range(catalog.num_videos)]
    children = []
    for number in range(num_readers):
        child = os.fork()
        if child == 0:
            _read_on(folder, rows, stop, number)
        children.append(child)
    os.write(1, b"reading\n")
    for child in children:
        os.waitpid(child, 0)


def _read_on(folder: Path, rows: list[VideoRow], stop: Path, number: int) -> None:
    """Count until the end, then tell, each tier once for each read, in one write."""
    lines: list[str] = []
    while not stop.exists() or not lines:
        facts = rows[number % len(rows)]
        number += 1
        try:
            located = locate(folder, facts)
            digest = digest_file(Path(located.path))
            if located.lease is not None:
                os.close(located.lease)
            right = digest == facts.content_digest
            lines.append(f"read {located.tier}" if right else f"fault {located.path} is not right")
        except Exception as error:  # noqa: BLE001  a fault of the test, whatever it is
            lines.append(f"fault {type(error).__name__} {error}")
        time.sleep(0.02)
    counts = Counter(lines)
    os.write(1, "".join(f"{count} {line}\n" for line, count in counts.items()).encode())
    os._exit(0)


if __name__ == "__main__":
    main()
