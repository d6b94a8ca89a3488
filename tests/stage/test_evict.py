"""Eviction takes what can be had again and nobody uses, and nothing else."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import msgspec
import pytest

from filmgate.catalog import Catalog, open_catalog
from filmgate.catalog.tiers import hot_name, locate
from filmgate.feed.open_videos import OpenVideos
from filmgate.stage.choice import Wanted
from filmgate.stage.outcome import Staged
from filmgate.stage.stage import StageRules, stage_videos
from tests.stage.footage import QUICK, contents, make_catalog
from tests.stage.readers import reading
from tests.stage.s3_server import S3Server

SIZE = 200_000
COLD, WARM = Wanted(where='label == "cold"'), 'label == "warm"'


@pytest.fixture
def staged_cold(tmp_path: Path) -> Catalog:
    """Two videos labelled cold are hot, in a budget that has room for two."""
    catalog = make_catalog(tmp_path, size_bytes=SIZE)
    stage_videos(catalog, tmp_path / "hot", COLD, QUICK)
    return catalog


def stage_warm(catalog: Catalog, *, evict: bool = True, **changes: object) -> Staged:
    rules = msgspec.structs.replace(QUICK, evict=evict, **changes)
    wanted = Wanted(where=WARM, budget_bytes=2 * SIZE)
    return stage_videos(catalog, catalog.path.parent / "hot", wanted, rules)


def names_of(catalog: Catalog, label: str) -> list[str]:
    rows = [catalog.video(row) for row in range(catalog.num_videos)]
    return [hot_name(row.content_digest, row.path) for row in rows if row.label == label]


def test_unwanted_files_go_when_the_budget_needs_their_room(staged_cold: Catalog) -> None:
    staged = stage_warm(staged_cold)
    assert (staged.num_hot, staged.num_evicted, staged.kept) == (2, 2, [])
    assert staged.bytes_evicted == 2 * SIZE
    assert sorted(contents(Path(staged.folder))) == sorted(names_of(staged_cold, "warm"))


def test_nothing_goes_unless_it_was_asked_for(staged_cold: Catalog) -> None:
    staged = stage_warm(staged_cold, evict=False)
    assert (staged.num_hot, staged.num_over_budget, staged.num_evicted) == (0, 2, 0)
    assert sorted(contents(Path(staged.folder))) == sorted(names_of(staged_cold, "cold"))


def test_no_more_goes_than_is_needed(staged_cold: Catalog) -> None:
    rules = msgspec.structs.replace(QUICK, evict=True)
    wanted = Wanted(where=WARM, budget_bytes=3 * SIZE)
    staged = stage_videos(staged_cold, staged_cold.path.parent / "hot", wanted, rules)
    assert (staged.num_hot, staged.num_evicted) == (2, 1)


@pytest.mark.parametrize("what", ["gone", "changed"])
def test_the_only_copy_stays(staged_cold: Catalog, what: str) -> None:
    sources = sorted((staged_cold.path.parent / "nas/cold").iterdir())
    for source in sources:
        if what == "gone":
            source.unlink()
        else:
            content = bytearray(source.read_bytes())
            content[SIZE // 2] ^= 1
            source.write_bytes(content)
    staged = stage_warm(staged_cold)
    assert (staged.num_hot, staged.num_over_budget, staged.num_evicted) == (0, 2, 0)
    assert len(staged.kept) == 2
    said = "cannot be reached" if what == "gone" else "has changed"
    assert all(said in one.reason for one in staged.kept)
    assert sorted(contents(Path(staged.folder))) == sorted(names_of(staged_cold, "cold"))


def test_a_hot_file_that_is_its_own_source_stays(staged_cold: Catalog) -> None:
    hot = staged_cold.path.parent / "hot"
    for row in range(staged_cold.num_videos):
        facts = staged_cold.video(row)
        if facts.label == "cold":
            Path(facts.path).unlink()
            Path(facts.path).hardlink_to(hot / hot_name(facts.content_digest, facts.path))
    staged = stage_warm(staged_cold)
    assert staged.num_evicted == 0
    assert {one.reason for one in staged.kept} == {"it is its own source"}


def test_a_source_that_was_only_touched_can_be_had_again(staged_cold: Catalog) -> None:
    for source in (staged_cold.path.parent / "nas/cold").iterdir():
        os.utime(source, ns=(1, 1))
    assert stage_warm(staged_cold).num_evicted == 2


def test_an_object_that_is_gone_or_changed_keeps_its_hot_copy(
    tmp_path: Path, s3: S3Server, bucket: str
) -> None:
    catalog = make_catalog(tmp_path, size_bytes=SIZE)
    s3.put_folder(tmp_path / "nas", bucket)
    rules = msgspec.structs.replace(QUICK, source=bucket)
    stage_videos(catalog, tmp_path / "hot", COLD, rules)
    content = bytearray((tmp_path / "nas/cold/0.mp4").read_bytes())
    s3.put(f"{bucket}/cold/0.mp4", bytes(reversed(content)))
    staged = stage_warm(catalog, source=bucket)
    assert (staged.num_hot, staged.num_over_budget, staged.num_evicted) == (1, 1, 1)
    (kept,) = staged.kept
    assert "has changed" in kept.reason


def test_a_pinned_file_stays_until_it_is_let_go(staged_cold: Catalog) -> None:
    hot = staged_cold.path.parent / "hot"
    stage_videos(staged_cold, hot, COLD, msgspec.structs.replace(QUICK, pin=True))
    assert {one.reason for one in stage_warm(staged_cold).kept} == {"it is pinned"}
    stage_videos(staged_cold, hot, COLD, msgspec.structs.replace(QUICK, pin=False))
    assert stage_warm(staged_cold).num_evicted == 2


def test_a_file_that_the_feed_has_open_stays(staged_cold: Catalog) -> None:
    catalog = open_catalog(staged_cold.path.parent / "hot")
    videos = OpenVideos(catalog)
    row = catalog.labels.index("cold")
    assert videos.get(row).tier == "hot"
    staged = stage_warm(staged_cold)
    assert (staged.num_evicted, staged.num_hot) == (1, 1)
    assert {one.reason for one in staged.kept} == {"it is in use"}
    frames = list(videos.get(row).reader.frames(range(5)))
    assert len(frames) == 5
    videos.close()
    assert stage_warm(staged_cold).num_evicted == 1


def test_a_reader_that_comes_while_a_file_is_evicted_reads_the_cold_one(
    staged_cold: Catalog,
) -> None:
    hot = open_catalog(staged_cold.path.parent / "hot")
    facts = hot.video(hot.labels.index("cold"))
    path = hot.path / hot_name(facts.content_digest, facts.path)
    with path.open("rb") as evictor:
        fcntl.flock(evictor, fcntl.LOCK_EX)
        located = locate(hot.path, facts)
    assert (located.tier, located.path, located.lease) == ("cold", facts.path, None)


def test_80_readers_that_lease_and_leave_lose_no_video_to_eviction(staged_cold: Catalog) -> None:
    """Each reader reads whole files, whoever comes and goes."""
    with reading(staged_cold.path.parent / "hot", num_readers=80) as readers:
        for _ in range(3):
            stage_warm(staged_cold)
            wanted = Wanted(where='label == "cold"', budget_bytes=2 * SIZE)
            rules: StageRules = msgspec.structs.replace(QUICK, evict=True)
            stage_videos(staged_cold, staged_cold.path.parent / "hot", wanted, rules)
    assert readers.reads.total() >= 80
    assert readers.faults == []
