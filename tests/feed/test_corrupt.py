"""Every way in which a file can be bad, under every rule: counted, listed, no frame but the right.

The file is replaced after it was indexed, as it happens to long runs, or it was bad before.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from filmgate.catalog import Catalog, index_videos
from filmgate.errors import VideoError
from filmgate.feed import Batch, open_feed
from tests.feed.conftest import job_of
from tests.footage import read_index, write_video
from tests.video import recipes
from tests.video.test_exact import needs_ffmpeg

RULES = ["skip", "substitute", "raise"]


def cut_off(content: bytes) -> bytes:
    return content[: len(content) * 6 // 10]


def without_index(content: bytes) -> bytes:
    return content[: content.index(b"moov") - 4]


def flipped(content: bytes) -> bytes:
    changed = bytearray(content)
    for place in range(content.index(b"mdat") + 400, len(content) * 3 // 4, 97):
        changed[place] ^= 0x10
    return bytes(changed)


def web_page(content: bytes) -> bytes:
    return b"<!DOCTYPE html><title>404</title>".ljust(len(content))


HARMS: dict[str, Callable[[bytes], bytes]] = {
    "cut off": cut_off,
    "without its index": without_index,
    "empty": lambda content: b"",
    "bits flipped": flipped,
    "a web page": web_page,
}


def walk(catalog: Catalog, rule: str) -> None:
    """Eight batches under a rule: what is bad is counted with its place, what is good is right."""
    job = job_of(0, on_error=rule, error_budget=1.0, holdout=0.0, flip=False, target="source")
    with open_feed(job, catalog) as feed:
        seen = [next(feed) for _ in range(8)]
        stats = feed.stats()
    num_masked = sum(int((~batch.valid_B).sum()) for batch in seen)
    assert stats.num_skipped == len(stats.skipped) > 0
    assert num_masked == (stats.num_skipped if rule == "skip" else 0)
    assert {one.action for one in stats.skipped} == {"masked" if rule == "skip" else "substituted"}
    assert {Path(one.path).name for one in stats.skipped} == {"bad.mp4"}
    assert all(one.reason and one.place.startswith("frames ") for one in stats.skipped)
    for batch in seen:
        assert batch.frames_BTCHW.shape == (4, 4, 3, 48, 64)
        assert_right(batch)


def assert_right(batch: Batch) -> None:
    """Valid clips of the videos whose pictures carry their index show the frames they claim."""
    for row, video_id in enumerate(batch.video_ids):
        if video_id.startswith("good"):
            frames = batch.frames_BTCHW[row].permute(0, 2, 3, 1).numpy()
            assert [read_index(frame) for frame in frames] == batch.frame_indices_BT[row].tolist()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two good videos of the size of clips, so that the index in their pictures can be read."""
    (tmp_path / "videos").mkdir()
    for number in range(2):
        write_video(tmp_path / "videos" / f"good{number}.mp4", width=64, height=48, hue=90 * number)
    return tmp_path / "videos"


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("harm", HARMS)
def test_a_file_that_turned_bad_follows_the_rule_and_is_listed(
    harm: str, rule: str, root: Path, tmp_path: Path
) -> None:
    bad = write_video(root / "bad.mp4", width=64, height=48)
    catalog = index_videos([root], tmp_path / "catalog", workers=0)
    bad.write_bytes(HARMS[harm](bad.read_bytes()))
    if rule != "raise":
        walk(catalog, rule)
        return
    job = job_of(0, on_error="raise", target="source")
    with open_feed(job, catalog) as feed, pytest.raises(VideoError, match=r"bad\.mp4"):
        for _ in range(8):
            next(feed)


@needs_ffmpeg
@pytest.mark.parametrize("rule", ["skip", "substitute"])
def test_a_file_whose_middle_was_bad_before_follows_the_rule(
    rule: str, root: Path, tmp_path: Path
) -> None:
    recipes.r10(tmp_path).rename(root / "bad.mp4")
    walk(index_videos([root], tmp_path / "catalog", workers=0), rule)


@needs_ffmpeg
def test_files_that_hold_no_video_are_left_out_with_their_reason(
    root: Path, tmp_path: Path
) -> None:
    made = {
        "cut.mp4": recipes.r09, "none.mp4": recipes.r20_zero, "empty.mp4": recipes.empty,
        "page.mp4": recipes.web_page, "sound.mp4": recipes.audio_only,
        "still.mp4": recipes.picture_as_video,
    }  # fmt: skip
    for name, make in made.items():
        folder = tmp_path / name
        folder.mkdir()
        shutil.copy(make(folder), root / name)
    catalog = index_videos([root], tmp_path / "catalog", workers=0)
    reasons = {one.video_id: one.reason for one in catalog.left_out}
    assert reasons.keys() == made.keys()
    assert len(set(reasons.values())) == len(made)
    assert catalog.num_videos == 2


@needs_ffmpeg
def test_a_file_with_its_end_cut_off_has_the_frames_that_are_left(
    root: Path, tmp_path: Path
) -> None:
    bad = recipes.r09b(tmp_path).rename(root / "bad.mp4")
    catalog = index_videos([root], tmp_path / "catalog", workers=0)
    (row,) = (n for n in range(3) if catalog.video(n).video_id == "bad.mp4")
    assert catalog.video(row).damage
    assert catalog.frame_table(row).num_frames == len(recipes.framemd5(bad)) < 50
    with open_feed(job_of(0, on_error="raise", target="source"), catalog) as feed:
        assert all(bool(next(feed).valid_B.all()) for _ in range(8))
