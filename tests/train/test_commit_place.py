from __future__ import annotations

from pathlib import Path

import pytest

from filmgate.catalog import Catalog
from filmgate.errors import UserError
from filmgate.records.telemetry import Save, read_telemetry
from filmgate.train.commit_place import commit_folder, shares_device
from filmgate.train.run import train_run
from tests.train.conftest import a_job

OTHER_DEVICE = Path("/dev/shm")


def test_commits_in_the_run_folder_beside_the_videos_are_recorded(
    hues: Catalog, tmp_path: Path
) -> None:
    result = train_run(a_job(train={"steps": 2}), hues, tmp_path)
    assert result.commits_share_device is True
    assert result.events == []


def test_a_folder_for_commits_on_the_videos_device_is_refused_unless_allowed(
    hues: Catalog, tmp_path: Path
) -> None:
    named = {"steps": 2, "commit_folder": str(tmp_path / "safe")}
    run = tmp_path / "run"
    run.mkdir()
    with pytest.raises(UserError, match="lies on the device that the videos") as raised:
        train_run(a_job(train=named), hues, run)
    assert "commit_beside_videos = true" in raised.value.hint
    assert not (tmp_path / "safe").exists()
    result = train_run(a_job(train=named | {"commit_beside_videos": True}), hues, run)
    assert result.commits_share_device is True
    assert (tmp_path / "safe" / "run" / "step-00000002").is_dir()
    assert not (run / "commits").exists()


@pytest.mark.skipif(not OTHER_DEVICE.is_dir(), reason="no second device here")
def test_another_device_is_told_from_that_of_the_videos(hues: Catalog, tmp_path: Path) -> None:
    if OTHER_DEVICE.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("one device holds both")
    job = a_job(train={"commit_folder": str(OTHER_DEVICE / "commits")})
    assert shares_device(commit_folder(job, tmp_path), hues) is False
    assert shares_device(commit_folder(a_job(), tmp_path), hues) is True


def test_commits_come_by_time_where_a_loss_budget_asks_for_it(
    hues: Catalog, tmp_path: Path
) -> None:
    job = a_job(train={"commit_every_steps": 1000, "commit_within_seconds": 1e-6})
    train_run(job, hues, tmp_path)
    lines = read_telemetry(tmp_path / "telemetry.jsonl")
    assert [line.step for line in lines if isinstance(line, Save)] == list(range(1, 13))
