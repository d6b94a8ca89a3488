"""Ten thousand opens over many files: memory and open files reach a plateau, few are enough."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from filmgate.catalog import index_videos

PROGRAM = """
import json, resource, sys
sys.path.insert(0, {root!r})
import psutil
from filmgate.catalog import open_catalog
from filmgate.feed import open_feed
from tests.feed.conftest import job_of

resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
job = job_of({workers}, frames=1, height=16, width=16, batch_size=20, target="source")
sizes, files = [], []
with open_feed(job, open_catalog({catalog!r})) as feed:
    for number in range({clips} // 20):
        assert bool(next(feed).valid_B.all())
        if number % ({clips} // 20 // 10) == 0:
            everyone = [psutil.Process(), *map(psutil.Process, feed.worker_process_ids)]
            sizes.append([process.memory_info().rss for process in everyone])
            files.append(max(process.num_fds() for process in everyone))
print(json.dumps([sizes, files]))
"""


def walk(root: Path, num_files: int, num_clips: int, workers: int) -> tuple[list[int], list[int]]:
    """Bytes that each process has grown by in the last fifth, and the open files of the worst.

    The heap of a worker takes some 25 000 opens to settle, 60 MB after its first thousand.
    """
    video = root / "cold" / "cold0.mp4"
    folder = root.parent / f"many{num_files}_{workers}"
    folder.mkdir()
    for number in range(num_files):
        shutil.copy(video, folder / f"{number:04}.mp4")
    catalog = index_videos([folder], folder / "catalog", workers=0)
    keys = {"root": str(Path(__file__).resolve().parents[2]), "catalog": str(catalog.path)}
    text = PROGRAM.format(workers=workers, clips=num_clips, **keys)
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=1700, check=True
    )
    sizes, files = json.loads(done.stdout)
    return [last - middle for middle, last in zip(sizes[7], sizes[-1], strict=True)], files


@pytest.mark.parametrize("workers", [0, 1])
def test_64_open_files_are_enough_for_many_videos(own_footage: Path, workers: int) -> None:
    _, files = walk(own_footage, 100, 400, workers)
    assert max(files) < 64


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("workers", [0, 1])
def test_10_000_opens_of_500_files_keep_to_64_open_files_and_flat_memory(
    own_footage: Path, workers: int, record_property: Callable[[str, object], None]
) -> None:
    grown, files = walk(own_footage, 500, 50_000, workers)
    record_property(f"grown_bytes_{workers}_workers", max(grown))
    record_property(f"open_files_{workers}_workers", max(files))
    assert max(files) < 64
    assert max(grown) < 10_000_000
