"""Staging from mounted storage: what becomes hot, in which order, and what stays cold."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from filmgate.catalog import index_videos, open_catalog
from filmgate.catalog.tiers import is_staging, locate
from filmgate.errors import UserError
from filmgate.spec.load import parse_job
from filmgate.stage.choice import Wanted, choose
from filmgate.stage.progress import StageProgress
from filmgate.stage.stage import StageRules, stage_videos
from tests.stage.footage import QUICK, contents, make_catalog, wanted_contents


def with_rules(**changes: object) -> StageRules:
    return msgspec.structs.replace(QUICK, **changes)


def test_every_video_is_hot_with_the_content_of_its_source(tmp_path: Path) -> None:
    catalog = make_catalog(tmp_path)
    staged = stage_videos(catalog, tmp_path / "hot", rules=with_rules(parallel=2))
    assert contents(tmp_path / "hot") == wanted_contents(catalog)
    assert (staged.num_hot, staged.num_staged, staged.failed) == (4, 4, [])
    assert staged.bytes_fetched == staged.bytes_hot == 2_000_000
    assert not list((tmp_path / "hot/.work/places").iterdir())


def test_the_hot_folder_is_the_same_catalog(tmp_path: Path) -> None:
    catalog = make_catalog(tmp_path)
    stage_videos(catalog, tmp_path / "hot", rules=QUICK)
    hot = open_catalog(tmp_path / "hot")
    hot.check()
    assert hot.digest == catalog.digest
    for row in range(hot.num_videos):
        assert hot.video(row) == catalog.video(row)
        located = locate(hot.path, hot.video(row))
        assert located.lease is not None
        os.close(located.lease)
        assert located.tier == "hot"
        assert Path(located.path).parent.parent == tmp_path / "hot" / "files"


def test_staging_again_fetches_nothing(tmp_path: Path) -> None:
    catalog = make_catalog(tmp_path)
    stage_videos(catalog, tmp_path / "hot", rules=QUICK)
    before = {path: path.stat() for path in (tmp_path / "hot").glob("files/*/*")}
    staged = stage_videos(catalog, tmp_path / "hot", rules=QUICK)
    assert (staged.num_hot, staged.num_staged, staged.bytes_fetched) == (4, 0, 0)
    assert {path: path.stat().st_ino for path in before} == {
        path: status.st_ino for path, status in before.items()
    }


def test_what_is_not_selected_stays_cold_and_is_counted(tmp_path: Path) -> None:
    catalog = make_catalog(tmp_path)
    staged = stage_videos(catalog, tmp_path / "hot", Wanted(where='label == "warm"'), QUICK)
    assert (staged.num_hot, staged.num_not_selected) == (2, 2)
    hot = open_catalog(tmp_path / "hot")
    tiers = {}
    for row in range(4):
        located = locate(hot.path, hot.video(row))
        tiers[hot.labels[row], located.tier] = located.path
        if located.lease is not None:
            os.close(located.lease)
    assert set(tiers) == {("cold", "cold"), ("warm", "hot")}
    assert Path(tiers["cold", "cold"]).parent == tmp_path / "nas" / "cold"


def test_a_budget_takes_the_videos_that_the_first_epoch_shows_first(tmp_path: Path) -> None:
    catalog = make_catalog(tmp_path, num_videos=6, size_bytes=100_000)
    job = parse_job({"clip": {"frames": 4, "width": 32, "height": 32}, "job": {"seed": 3}})
    wanted = Wanted(job=job, budget_bytes=350_000)
    staged = stage_videos(catalog, tmp_path / "hot", wanted, QUICK)
    assert (staged.num_hot, staged.num_over_budget) == (3, 3)
    assert staged.bytes_hot <= 350_000
    from filmgate.catalog.order_over import order_over

    order = order_over(job, catalog, "train", catalog.frame_table)
    first = list(dict.fromkeys(order.video_of(number) for number in range(order.epoch_size)))
    everything = choose(catalog, Wanted(job=job), kept_bytes=0)
    ids = catalog.column("video_id").to_pylist()
    assert [file.title for file in everything.files] == [ids[row] for row in first]
    assert set(contents(tmp_path / "hot")) == {file.name for file in everything.files[:3]}


def test_rows_of_the_same_content_share_a_hot_file(tmp_path: Path) -> None:
    make_catalog(tmp_path, num_videos=2)
    (tmp_path / "nas/warm/again.mp4").write_bytes((tmp_path / "nas/warm/1.mp4").read_bytes())
    catalog = index_videos(tmp_path / "nas", tmp_path / "catalog", workers=0)
    staged = stage_videos(catalog, tmp_path / "hot", rules=QUICK)
    assert (staged.num_videos, staged.num_hot) == (3, 2)
    hot = open_catalog(tmp_path / "hot")
    for row in range(3):
        located = locate(hot.path, hot.video(row))
        assert located.tier == "hot" and located.lease is not None
        os.close(located.lease)


def test_videos_are_found_below_another_root_by_their_ids(tmp_path: Path) -> None:
    catalog = make_catalog(tmp_path)
    (tmp_path / "nas").rename(tmp_path / "elsewhere")
    rules = with_rules(source=str(tmp_path / "elsewhere"))
    staged = stage_videos(catalog, tmp_path / "hot", Wanted(where='label == "warm"'), rules)
    assert staged.num_hot == 2
    hot = open_catalog(tmp_path / "hot")
    assert hot.digest == catalog.digest
    for row in range(4):
        facts = hot.video(row)
        assert facts.path == str(tmp_path / "elsewhere" / facts.video_id)
        assert Path(facts.path).is_file()


def test_a_missing_video_stays_cold_with_its_reason(tmp_path: Path) -> None:
    catalog = make_catalog(tmp_path)
    (tmp_path / "nas/warm/1.mp4").unlink()
    staged = stage_videos(catalog, tmp_path / "hot", rules=QUICK)
    assert staged.num_hot == 3
    (failed,) = staged.failed
    assert failed.video_id == "warm/1.mp4" and "No such file" in failed.reason


def test_a_video_that_is_back_is_staged_by_the_next_start(tmp_path: Path) -> None:
    catalog = make_catalog(tmp_path)
    (tmp_path / "nas/warm/1.mp4").rename(tmp_path / "away.mp4")
    stage_videos(catalog, tmp_path / "hot", rules=QUICK)
    (tmp_path / "away.mp4").rename(tmp_path / "nas/warm/1.mp4")
    staged = stage_videos(catalog, tmp_path / "hot", rules=QUICK)
    assert (staged.num_hot, staged.num_staged, staged.failed) == (4, 1, [])


def test_nothing_that_can_be_staged_is_an_error(tmp_path: Path) -> None:
    catalog = make_catalog(tmp_path, num_videos=2)
    for path in (tmp_path / "nas").glob("*/*.mp4"):
        path.unlink()
    with pytest.raises(UserError, match=r"none of 2 files could be staged; cold/0\.mp4"):
        stage_videos(catalog, tmp_path / "hot", rules=QUICK)


def test_the_catalogs_own_folder_is_refused(tmp_path: Path) -> None:
    catalog = make_catalog(tmp_path, num_videos=2)
    with pytest.raises(UserError, match="the catalog itself"):
        stage_videos(catalog, tmp_path / "catalog", rules=QUICK)


def test_a_second_staging_into_the_folder_is_refused(tmp_path: Path) -> None:
    catalog = make_catalog(tmp_path, num_videos=2, size_bytes=200_000)
    refused: list[str] = []

    def try_another(progress: StageProgress) -> None:
        if not refused:
            assert is_staging(tmp_path / "hot")
            with pytest.raises(UserError, match="is working on") as raised:
                stage_videos(catalog, tmp_path / "hot", rules=QUICK)
            refused.append(raised.value.message)

    rules = with_rules(bytes_per_second=200_000)
    stage_videos(catalog, tmp_path / "hot", rules=rules, on_progress=try_another)
    assert len(refused) == 1
    assert not is_staging(tmp_path / "hot")


def test_progress_ends_at_all_bytes_and_forecasts(tmp_path: Path) -> None:
    catalog = make_catalog(tmp_path, num_videos=2, size_bytes=200_000)
    told: list[StageProgress] = []
    rules = with_rules(bytes_per_second=150_000)
    stage_videos(catalog, tmp_path / "hot", rules=rules, on_progress=told.append)
    assert told[-1].bytes_done == told[-1].bytes_total == 400_000
    assert told[-1].files_done == 2
    assert any(0 < one.bytes_done < 400_000 and one.left_seconds for one in told)
    assert [one.bytes_done for one in told] == sorted(one.bytes_done for one in told)


def test_the_limit_on_bytes_per_second_holds_over_all_workers(tmp_path: Path) -> None:
    catalog = make_catalog(tmp_path, num_videos=4, size_bytes=200_000)
    rules = with_rules(parallel=3, bytes_per_second=300_000)
    staged = stage_videos(catalog, tmp_path / "hot", rules=rules)
    assert staged.bytes_fetched == 800_000
    assert staged.seconds >= 800_000 / 300_000 - 0.6  # a burst of half a second may pass at once


def test_two_catalogs_can_be_staged_one_after_the_other(tmp_path: Path) -> None:
    catalog = make_catalog(tmp_path, num_videos=2)
    stage_videos(catalog, tmp_path / "hot", rules=QUICK)
    make_catalog(tmp_path, num_videos=4)
    grown = open_catalog(tmp_path / "catalog")
    staged = stage_videos(grown, tmp_path / "hot", rules=QUICK)
    assert (staged.num_hot, staged.num_staged) == (4, 2)
    assert open_catalog(tmp_path / "hot").digest == grown.digest != catalog.digest


def test_what_cannot_be_staged_leaves_no_folder_behind(tmp_path: Path) -> None:
    catalog = make_catalog(tmp_path, num_videos=1, size_bytes=50_000)
    for where in ("label ==", 'label == "none of them"'):
        with pytest.raises(UserError):
            stage_videos(catalog, tmp_path / "hot", Wanted(where=where), QUICK)
    assert not (tmp_path / "hot").exists()
    with pytest.raises(UserError, match="is the folder of the videos themselves"):
        stage_videos(catalog, tmp_path / "nas", None, QUICK)
