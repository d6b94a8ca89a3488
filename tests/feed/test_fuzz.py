"""Small files with flipped bytes and cut ends: a typed error or the exact frame, every time."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from filmgate.catalog import Catalog, index_videos
from filmgate.errors import FilmgateError, UserError
from filmgate.feed import Batch, open_feed
from tests.feed.conftest import job_of
from tests.footage import write_video

KINDS = [
    ("a.mp4", {"codec": "libx264"}),
    ("b.mkv", {"codec": "libx264", "b_frames": 0}),
    ("c.avi", {"codec": "mpeg4"}),
    ("d.ts", {"codec": "mpeg2video"}),
    ("e.webm", {"codec": "libvpx-vp9", "options": {"cpu-used": "8", "deadline": "realtime"}}),
]
KEYS = {"frames": 2, "height": 48, "width": 64, "holdout": 0.0, "target": "source", "flip": False}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One small video of each kind."""
    root = tmp_path_factory.mktemp("whole")
    for name, keys in KINDS:
        write_video(root / name, num_frames=20, **keys)
    return root


def hurt(content: bytes, number: int) -> bytes:
    """A file with one to eight bits flipped, or its end cut off."""
    drawn = np.random.default_rng(number)
    if number % 5 == 4:
        return content[: int(drawn.integers(1, len(content)))]
    changed = bytearray(content)
    for place in drawn.integers(0, len(content), int(drawn.integers(1, 9))):
        changed[int(place)] ^= 1 << int(drawn.integers(0, 8))
    return bytes(changed)


def walk(catalog: Catalog) -> list[Batch]:
    """What comes out of the whole catalog, in this process; failures are masked and counted."""
    job = job_of(0, on_error="skip", error_budget=1.0, batch_size=1, **KEYS)
    with open_feed(job, catalog) as feed:
        seen = [next(feed) for _ in range(6 * catalog.num_videos)]
        stats = feed.stats()
    assert sum(not bool(batch.valid_B.all()) for batch in seen) == stats.num_skipped
    assert all(one.reason and one.path for one in stats.skipped)
    return seen


def check_numbers(numbers: range, whole: Path, folder: Path) -> None:
    """Hurt files after they were indexed, and before."""
    sound = index_videos([whole], folder / "sound", workers=0)
    truth = {}
    for batch in walk(sound):
        key = (batch.video_ids[0], tuple(batch.frame_indices_BT[0].tolist()), batch.sample_start)
        truth[key] = batch.frames_BTCHW
    for number in numbers:
        name = KINDS[number % len(KINDS)][0]
        root = folder / f"{number}"
        shutil.copytree(whole, root)
        catalog = index_videos([root], folder / f"catalog{number}", workers=0)
        (root / name).write_bytes(hurt((whole / name).read_bytes(), number // len(KINDS)))
        for batch in walk(catalog):
            if bool(batch.valid_B.all()):
                key = (
                    batch.video_ids[0],
                    tuple(batch.frame_indices_BT[0].tolist()),
                    batch.sample_start,
                )
                assert bool((truth[key] == batch.frames_BTCHW).all())
        try:
            alone = index_videos([root / name], folder / f"alone{number}", workers=0)
        except UserError:
            continue
        try:
            walk(alone)
        except FilmgateError:
            continue


def test_hurt_files_give_typed_errors_or_frames(whole, tmp_path):
    check_numbers(range(30), whole, tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_three_hundred_hurt_files_give_typed_errors_or_frames(whole, tmp_path):
    check_numbers(range(30, 330), whole, tmp_path)
