"""Who reads a staged catalog while it is being staged sees whole files, hot or cold."""

from __future__ import annotations

import threading
from pathlib import Path

import msgspec
import pytest

from filmgate.catalog import open_catalog
from filmgate.errors import UnreadableVideo
from filmgate.feed.open import open_feed
from filmgate.spec.load import parse_job
from filmgate.stage.choice import Wanted
from filmgate.stage.stage import StageRules, stage_videos
from tests.stage.footage import QUICK, make_catalog, wanted_contents
from tests.stage.readers import reading
from tests.stage.s3_server import S3Server

JOB = parse_job(
    {
        "clip": {"frames": 4, "width": 32, "height": 32},
        "data": {"holdout": 0.0},
        "train": {"batch_size": 2},
        "limits": {"workers": 1, "prefetch_batches": 1},
    }
)


def with_rules(**changes: object) -> StageRules:
    return msgspec.structs.replace(QUICK, **changes)


def test_80_readers_that_start_while_files_are_staged_see_no_partial_file(tmp_path: Path) -> None:
    catalog = make_catalog(tmp_path, num_videos=6, size_bytes=300_000)
    hot = tmp_path / "hot"
    rules = with_rules(parallel=2, bytes_per_second=400_000)
    staging = threading.Thread(target=stage_videos, args=(catalog, hot), kwargs={"rules": rules})
    staging.start()
    while not (hot / "stage.json").exists():
        staging.join(0.01)
    with reading(hot, num_readers=80) as readers:
        staging.join()
    assert readers.faults == []
    assert readers.reads["cold"] > 0 and readers.reads["hot"] > 0
    assert len(list(hot.glob("files/*/*"))) == len(wanted_contents(catalog))


def test_hot_and_cold_give_the_same_batches_and_the_feed_counts_both(tmp_path: Path) -> None:
    catalog = make_catalog(tmp_path, size_bytes=100_000)
    hot = tmp_path / "hot"
    stage_videos(catalog, hot, Wanted(where='label == "warm"'), QUICK)
    feeds = [open_feed(JOB, one) for one in (catalog, open_catalog(hot))]
    try:
        for _ in range(4):
            plain, tiered = (next(iter(feed)) for feed in feeds)
            assert (plain.frames_BTCHW == tiered.frames_BTCHW).all()
        plain_stats, tiered_stats = (feed.stats() for feed in feeds)
    finally:
        for feed in feeds:
            feed.close()
    assert (plain_stats.clips_hot, plain_stats.clips_cold, plain_stats.bytes_hot) == (None,) * 3
    assert tiered_stats.clips_hot and tiered_stats.clips_cold
    assert tiered_stats.clips_hot + tiered_stats.clips_cold == tiered_stats.clips
    assert tiered_stats.bytes_hot and tiered_stats.bytes_cold


def test_a_run_starts_on_the_first_part_of_its_epoch_while_the_store_gives_the_rest(
    tmp_path: Path, s3: S3Server, bucket: str
) -> None:
    catalog = make_catalog(tmp_path, num_videos=6, size_bytes=150_000)
    s3.put_folder(tmp_path / "nas", bucket)
    for path in (tmp_path / "nas").glob("*/*.mp4"):
        path.unlink()
    hot = tmp_path / "hot"
    rules = with_rules(source=bucket, parallel=1, bytes_per_second=100_000)
    wanted = Wanted(job=JOB)
    staging = threading.Thread(target=stage_videos, args=(catalog, hot, wanted, rules))
    staging.start()
    while not list(hot.glob("files/*/*")):
        staging.join(0.01)
    with open_feed(JOB, open_catalog(hot)) as feed:
        num_hot_at_opening = len(list(hot.glob("files/*/*")))
        first = next(iter(feed))
        for _ in range(2):
            next(iter(feed))
        stats = feed.stats()
    staging.join()
    assert 0 < num_hot_at_opening < 6
    assert first.frames_BTCHW.shape[0] == 2
    assert (stats.num_skipped, stats.clips_cold) == (0, 0)


def test_an_object_that_nobody_stages_fails_with_what_to_do(
    tmp_path: Path, s3: S3Server, bucket: str
) -> None:
    catalog = make_catalog(tmp_path, num_videos=2, size_bytes=100_000)
    s3.put_folder(tmp_path / "nas", bucket)
    hot = tmp_path / "hot"
    stage_videos(catalog, hot, Wanted(where='label == "warm"'), with_rules(source=bucket))
    job = msgspec.structs.replace(JOB, data=msgspec.structs.replace(JOB.data, on_error="raise"))
    with open_feed(job, open_catalog(hot)) as feed, pytest.raises(UnreadableVideo) as raised:
        for _ in range(4):
            next(iter(feed))
    assert "not staged" in raised.value.message


def test_a_hot_file_that_was_written_to_is_passed_over_for_the_cold_one(tmp_path: Path) -> None:
    catalog = make_catalog(tmp_path, num_videos=2, size_bytes=100_000)
    hot = tmp_path / "hot"
    stage_videos(catalog, hot, rules=QUICK)
    for path in hot.glob("files/*/*"):
        with path.open("r+b") as file:
            file.seek(5000)
            file.write(b"damage")
    with open_feed(JOB, open_catalog(hot)) as feed:
        next(iter(feed))
        stats = feed.stats()
    assert (stats.clips_hot, stats.num_skipped) == (0, 0)
    assert stats.clips_cold
    staged = stage_videos(catalog, hot, rules=QUICK)
    assert (staged.num_dropped, staged.num_staged) == (2, 2)


def test_a_byte_that_went_bad_on_disk_is_found_by_a_check(tmp_path: Path) -> None:
    catalog = make_catalog(tmp_path, num_videos=2, size_bytes=100_000)
    hot = tmp_path / "hot"
    stage_videos(catalog, hot, rules=QUICK)
    import os

    path = next(hot.glob("files/*/*"))
    status = path.stat()
    content = bytearray(path.read_bytes())
    content[60_000] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert stage_videos(catalog, hot, rules=QUICK).num_dropped == 0
    assert stage_videos(catalog, hot, rules=with_rules(check=True)).num_dropped == 1
    assert stage_videos(catalog, hot, rules=with_rules(check=True)).num_dropped == 0
