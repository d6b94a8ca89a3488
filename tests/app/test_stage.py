"""``filmgate stage`` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from filmgate.app.cli import run_command_line
from filmgate.catalog import Catalog, index_videos
from filmgate.stage.stage import stage_videos
from tests.footage import write_video
from tests.small_disk import mounted_disk
from tests.stage.footage import contents, make_catalog, wanted_contents


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return make_catalog(tmp_path, size_bytes=100_000)


def test_the_command_stages_and_prints_its_record(
    catalog: Catalog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hot = tmp_path / "hot"
    assert run_command_line(["stage", str(catalog.path), "--to", str(hot), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["num_hot"], record["bytes_hot"]) == (4, 400_000)
    assert json.loads((hot / "staged.json").read_text()) == record
    assert contents(hot) == wanted_contents(catalog)


def test_the_table_tells_what_the_budget_leaves_cold(
    catalog: Catalog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "job.toml").write_text("[clip]\nframes = 4\nwidth = 32\nheight = 32\n")
    arguments = ["--where", 'glob(video_id, "*")', "--for", str(tmp_path / "job.toml")]
    arguments += ["--budget", "300kB", "--rate", "100MB", "--parallel", "1"]
    command = ["stage", str(catalog.path), "--to", str(tmp_path / "hot"), *arguments]
    assert run_command_line(command) == 0
    told = capsys.readouterr().out
    assert "3 files, 300 kB" in told and "1 file, 100 kB" in told


def test_a_video_that_failed_is_named_with_its_reason(
    catalog: Catalog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "nas/warm/1.mp4").unlink()
    assert run_command_line(["stage", str(catalog.path), "--to", str(tmp_path / "hot")]) == 0
    told = capsys.readouterr()
    assert "3 files, 300 kB" in told.out
    assert "stays cold: warm/1.mp4: [Errno 2] No such file" in told.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--budget", "5XB"], "--budget: '5XB' is no size"),
        (["--rate", "0"], "--rate is 0"),
        (["--where", "labl == 3"], "did you mean label?"),
        (["--from", "nowhere"], "is no folder"),
    ],
)
def test_what_cannot_be_used_is_said_with_a_hint(
    catalog: Catalog,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    command = ["stage", str(catalog.path), "--to", str(tmp_path / "hot"), *arguments]
    assert run_command_line(command) == 2
    told = capsys.readouterr().err
    assert said in told and "hint: " in told


def test_a_run_trains_on_a_staged_catalog_as_it_would_on_the_videos(
    catalog: Catalog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "job.toml").write_text(
        "[clip]\nframes = 4\nwidth = 32\nheight = 32\n[train]\nsteps = 2\nbatch_size = 2\n"
        '[limits]\nworkers = 1\n[prepare]\nmode = "never"\n'
    )
    hot = tmp_path / "hot"
    assert run_command_line(["stage", str(catalog.path), "--to", str(hot), "--quiet"]) == 0
    digests = []
    for number, videos in enumerate((hot, tmp_path / "nas")):
        out = tmp_path / f"run{number}"
        options = ["--job", str(tmp_path / "job.toml"), "--out", str(out), "--json"]
        capsys.readouterr()
        assert run_command_line(["run", str(videos), *options]) == 0
        digests.append(json.loads(capsys.readouterr().out)["samples_digest"])
    assert digests[0] == digests[1]
    lines = (tmp_path / "run0/telemetry.jsonl").read_text().splitlines()
    last = [json.loads(line) for line in lines if '"kind":"feed"' in line][-1]
    assert last["clips_hot"] > 0 and last["clips_cold"] == 0


def test_a_tier_on_the_disk_of_its_sources_is_told_of_in_text_and_record(
    catalog: Catalog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hot = tmp_path / "nvme" / "of" / "hot"
    assert run_command_line(["stage", str(catalog.path), "--to", str(hot), "--json"]) == 0
    told = capsys.readouterr()
    made, beside = json.loads(told.out)["warnings"]
    assert made.startswith(f"{hot.parent} did not exist: it was made on the disk of {tmp_path}")
    assert beside.startswith(f"{hot} lies on the same disk as 4 of 4 files")
    assert f"warning: {made}\nwarning: {beside}\n" in told.err


def test_a_tier_on_a_disk_of_its_own_is_not_warned_of(catalog: Catalog, tmp_path: Path) -> None:
    with mounted_disk(tmp_path / "disk", "20m") as disk:
        staged = stage_videos(catalog, disk / "hot")
        assert staged.warnings == []


def test_videos_of_the_same_bytes_are_told_as_one_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    videos = tmp_path / "videos"
    videos.mkdir()
    for name in ("a", "b", "c"):
        write_video(videos / f"{name}.mp4", num_frames=20, hue=90 if name == "c" else 0)
    index_videos([videos], tmp_path / "catalog", workers=0)
    command = ["stage", str(tmp_path / "catalog"), "--to", str(tmp_path / "hot")]
    assert run_command_line(command) == 0
    assert "2 files (1 video of the same bytes as another)" in capsys.readouterr().out
    assert run_command_line([*command, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["num_hot"], record["num_sharing"]) == (2, 1)
