from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from filmgate.app.cli import run_command_line
from tests.footage import write_video
from tests.patience import PATIENT_SECONDS

TINY_JOB = """
[clip]
frames = 4
stride = 2
height = 32
width = 48
[data]
eval_clips_per_video = 2
[train]
steps = 6
batch_size = 4
commit_every_steps = 3
[limits]
workers = 1
"""


@pytest.fixture
def job(tmp_path: Path) -> Path:
    path = tmp_path / "job.toml"
    path.write_text(TINY_JOB)
    return path


def filmgate(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "filmgate", *map(str, arguments)],
        capture_output=True, text=True, cwd=cwd, timeout=PATIENT_SECONDS, check=False,
    )  # fmt: skip


def test_run_walks_the_road_and_prints_one_record(footage: Path, job: Path, tmp_path: Path) -> None:
    videos = tmp_path / "videos"
    videos.mkdir()
    for label in footage.iterdir():
        (videos / label.name).symlink_to(label)
    (videos / "broken.mp4").write_text("<html>not found</html>")
    done = filmgate("run", "videos", "--job", job, "--out", "run", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["num_videos"] == 4
    assert record["target"] == "label"
    assert [Path(one["path"]).name for one in record["left_out"]] == ["broken.mp4"]
    assert record["left_out"][0]["reason"]
    assert record["steps"] == 6
    assert record["num_holdout_clips"] == 8
    assert record["verdict"]["sentence"]
    kept = {path.name for path in (tmp_path / "run").iterdir()}
    assert {
        "job.toml", "request.json", "catalog", "telemetry.jsonl", "commits", "train.json",
        "verdict.json", "run.json", "report.html",
    } <= kept  # fmt: skip
    assert json.loads((tmp_path / "run" / "run.json").read_text()) == record
    again = filmgate("run", "videos", "--job", job, "--out", "run", "--json", cwd=tmp_path)
    assert json.loads(again.stdout) == record
    assert "finished" in again.stderr


def test_a_finished_run_is_explained_again_from_its_folder(
    footage: Path, job: Path, tmp_path: Path
) -> None:
    done = filmgate("run", footage, "--job", job, "--out", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "held-out score" in done.stdout
    assert str(tmp_path / "run" / "report.html") in done.stdout.replace("\n", "")
    verdict = filmgate("diagnose", "run", "--json", cwd=tmp_path)
    assert json.loads(verdict.stdout)["steps_counted"] > 0


def test_frames_prints_index_time_and_pixels_in_any_order(tmp_path: Path) -> None:
    write_video(tmp_path / "a.mp4", num_frames=12)
    rows = [
        filmgate("frames", "a.mp4", "--md5", *order, cwd=tmp_path).stdout
        for order in ([], ["--order", "random", "--seed", "1"])
    ]
    assert rows[0] == rows[1]
    table = [line.split("\t") for line in rows[0].splitlines()]
    assert [row[0] for row in table] == [str(index) for index in range(12)]
    assert table[5][1] == "0.200000"
    assert all(len(row[2]) == 32 for row in table)


def test_index_and_catalog_show_give_the_same_record(footage: Path, tmp_path: Path) -> None:
    indexed = filmgate("index", footage, "--out", "catalog", "--json", cwd=tmp_path)
    shown = filmgate("catalog", "show", "catalog", "--json", cwd=tmp_path)
    assert json.loads(indexed.stdout) == json.loads(shown.stdout)
    assert json.loads(shown.stdout)["labels"] == {"cold": 2, "warm": 2}


BAD_INPUT = {
    "a missing folder": ["run", "nowhere"],
    "a folder without videos": ["run", "empty"],
    "only unreadable files": ["run", "unreadable"],
    "a file in place of the run folder": ["run", "good", "--out", "good/a.mp4"],
    "a run folder that cannot be made": ["run", "good", "--out", "/proc/run"],
    "a missing job file": ["run", "good", "--job", "none.toml"],
    "a job file that is no TOML": ["run", "good", "--job", "bad.toml"],
    "an unknown key": ["run", "good", "--job", "unknown.toml"],
    "an unknown command": ["walk"],
    "an unknown option": ["run", "good", "--fast"],
    "a number that is none": ["index", "good", "--out", "c", "--workers", "many"],
    "a folder that is no catalog": ["catalog", "show", "good"],
    "a folder that is no run": ["diagnose", "good"],
    "a label file that is missing": ["index", "good", "--out", "c", "--labels", "none.csv"],
    "a text file as video": ["frames", "bad.toml", "--md5"],
    "a missing video": ["frames", "none.mp4"],
    "a folder without images": ["pack", "good", "--out", "p"],
    "annotations that are none": ["pack", "good", "--out", "p", "--annotations", "voc:good"],
    "frames a second that are none": ["pack", "good", "--out", "p", "--fps", "many"],
}


@pytest.mark.parametrize("arguments", BAD_INPUT.values(), ids=BAD_INPUT.keys())
def test_bad_input_gives_error_and_hint_and_code_2(
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("empty", "unreadable", "good"):
        Path(folder).mkdir()
    Path("unreadable/a.mp4").write_bytes(b"")
    Path("unreadable/b.mkv").write_text("no video")
    Path("bad.toml").write_text("a = ")
    Path("unknown.toml").write_text("[clip]\nframe = 3\n")
    write_video(Path("good/a.mp4"), num_frames=12)
    assert run_command_line(arguments) == 2
    talk = capfd.readouterr()
    assert talk.out == ""
    assert "error: " in talk.err
    assert "hint: " in talk.err
    assert "Traceback" not in talk.err
