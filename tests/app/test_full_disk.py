"""Every command that writes, on a disk that is full or cannot be written."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from filmgate.catalog import index_videos
from tests.footage import write_video
from tests.patience import PATIENT_SECONDS
from tests.small_disk import mount, mounted_disk

JOB = (
    "[clip]\nframes = 2\nstride = 1\nheight = 16\nwidth = 16\n[train]\nsteps = 2\nbatch_size = 2\n"
    "[limits]\nworkers = 0\n[prepare]\nmode = 'never'\n"
)
COMMANDS = {
    "index": "index videos --out disk/o --workers 1",
    "prepare": "prepare catalog --out disk/o --codec jpeg --workers 0",
    "stage": "stage catalog --to disk/o --parallel 1",
    "pack": "pack images --out disk/o --shard-size 64kB --workers 0",
    "env lock": "env lock --out disk/o --no-probe",
    "machine capture": "machine capture disk/o.tar.gz",
    "machine page": "machine show --page disk/o.html",
    "audit page": "audit --page disk/o.html",
    "baseline": "baseline run --out disk/o.json --no-probe --starts 1 --rounds 1 --warm-up 0 "
    "--command true",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Videos with their catalog, images, and a job."""
    place = tmp_path_factory.mktemp("place")
    (place / "videos").mkdir()
    (place / "images").mkdir()
    pixels = np.random.default_rng(0)
    for number in range(4):
        write_video(place / "videos" / f"{number}.mp4", num_frames=40, hue=40 * number)
        for more in range(8):
            image = Image.fromarray(pixels.integers(0, 255, (64, 64, 3), np.uint8))
            image.save(place / "images" / f"{number}{more}.png")
    index_videos(place / "videos", place / "catalog", workers=0)
    (place / "job.toml").write_text(JOB)
    return place


@pytest.fixture
def disk(place: Path) -> Iterator[Path]:
    """A disk of its own, with a page of room."""
    with mounted_disk(place / "disk", "4k") as disk:
        yield disk
    disk.rmdir()


def filmgate(command: str, place: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "filmgate", *command.split(), "--json"],
        capture_output=True, text=True, cwd=place, timeout=PATIENT_SECONDS, check=False,
    )  # fmt: skip


def is_refused(done: subprocess.CompletedProcess[str], why: str) -> None:
    assert done.returncode == 2, done.stderr
    failure = json.loads(done.stdout)
    assert why in failure["message"].lower()
    assert failure["hint"]
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_a_full_disk_is_said_and_room_lets_the_same_command_finish(
    command: str, place: Path, disk: Path
) -> None:
    (disk / "filler").write_bytes(b"x" * 4096)
    for size in ("4k", "24k", "48k"):
        assert mount("-o", f"remount,size={size}", str(disk))
        done = filmgate(command, place)
        if done.returncode in (0, 1):  # enough room
            break
        is_refused(done, "")
        words = ("no space left", "free, and", "cannot be written")
        assert any(one in done.stderr.lower() for one in words)
        assert not list(disk.rglob("*.part"))
    assert mount("-o", "remount,size=64m", str(disk))
    done = filmgate(command, place)
    assert done.returncode in (0, 1), done.stderr
    assert json.loads(done.stdout)


def test_a_run_asks_for_room_first(place: Path, disk: Path) -> None:
    is_refused(filmgate("run videos --job job.toml --out disk/o", place), "free; a run wants")


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_a_disk_that_cannot_be_written_is_said(command: str, place: Path, disk: Path) -> None:
    assert mount("-o", "remount,ro,size=64m", str(disk))
    is_refused(filmgate(command, place), "read-only file system")
