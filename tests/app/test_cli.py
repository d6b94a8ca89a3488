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
    assert "run/report.html" in done.stdout
    assert str(tmp_path) not in done.stdout, "what lies below the current folder is told from there"
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
    "a size of shards that is none": ["pack", "good", "--out", "p", "--shard-size", "large"],
    "a window without end": ["feed", "bench", "good", "--seconds", "inf"],
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


HINTS = {
    "pack nowhere --out p": "name the folder of the images",
    "run nowhere": "name a catalog, a folder of videos, or a video",
    "feed bench nowhere": "name a catalog, a folder of videos, or a video",
    "index nowhere --out c": "name a video or a folder of videos",
    "catalog show nowhere": "make one with: filmgate index",
    "prepare nowhere --out c": "make one with: filmgate index",
    "stage nowhere --to h": "make one with: filmgate index",
    "diagnose nowhere": "name a run folder that `filmgate run` wrote",
    "frames nowhere": "name a video file",
    "machine show --capture nowhere": "make one on that machine with: filmgate machine capture",
    "machine show --capture nowhere.xml": "make one with: lstopo",
    "audit --capture nowhere": "make one on that machine with: filmgate machine capture",
    "audit --for nowhere": "docs/job.md and examples/five_lines.toml show job files",
    "run good --job nowhere": "docs/job.md and examples/five_lines.toml show job files",
    "env show nowhere": "make a lock with: filmgate env lock",
    "env check nowhere": "make a lock with: filmgate env lock",
    "baseline compare nowhere nowhere": "make one with: filmgate baseline run --out nowhere",
    "run good --workers 3": "filmgate run --help lists what is allowed",
    "walk": "filmgate --help lists the commands",
}


@pytest.mark.parametrize(("command", "hint"), HINTS.items(), ids=HINTS.keys())
def test_the_hint_names_what_the_command_takes(
    command: str,
    hint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good").mkdir()
    write_video(Path("good/a.mp4"), num_frames=12)
    assert run_command_line(command.split()) == 2
    assert f"hint: {hint}" in capfd.readouterr().err


GIVEN = {
    "prepare c --out o --size 10x0": "WIDTHxHEIGHT with sides above 0, for example 640x360, or "
    "source - at `size`, which is '10x0'",
    "prepare c --out o --fps nan": "at `fps`, which is nan",
    "prepare c --out o --demand nan": "it is 'nan'",
    "index v --out c --workers many": "it is 'many'",
    "machine show --capture j.toml": "j.toml is no capture of a machine: it is no tar file\nhint",
    "audit --attest foo": "'foo' is no answer",
    "audit --attest foo=yes": "foo is no line of the checklist",
    "run v --job j.toml": "at `clip.frames`, which is 'many'",
}


@pytest.mark.parametrize(("command", "said"), GIVEN.items(), ids=GIVEN.keys())
def test_a_value_that_does_not_fit_is_told(
    command: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("j.toml").write_text('[clip]\nframes = "many"\n')
    Path("v").mkdir()
    write_video(Path("v/a.mp4"), num_frames=12)
    assert run_command_line(command.split()) == 2
    assert said in capfd.readouterr().err


@pytest.mark.parametrize("arguments", BAD_INPUT.values(), ids=BAD_INPUT.keys())
def test_with_json_an_error_is_one_document_on_stdout(
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("empty", "unreadable", "good"):
        Path(folder).mkdir()
    Path("unreadable/a.mp4").write_bytes(b"")
    Path("bad.toml").write_text("a = ")
    Path("unknown.toml").write_text("[clip]\nframe = 3\n")
    write_video(Path("good/a.mp4"), num_frames=12)
    code = run_command_line([*arguments, "--json"])
    talk = capfd.readouterr()
    failure = json.loads(talk.out)
    assert failure["header"]["schema"] == "filmgate.failure"
    assert failure["exit_code"] == code == 2
    assert f"error: {failure['message']}" in talk.err
    assert f"hint: {failure['hint']}" in talk.err


def test_a_run_warns_of_what_indexing_found(job: Path, tmp_path: Path) -> None:
    (tmp_path / "videos").mkdir()
    for name in ("a", "b"):
        write_video(tmp_path / "videos" / f"{name}.mp4", num_frames=60)
    done = filmgate("run", "videos", "--job", job, "--out", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "warning: 1 video, such as b.mp4: the same bytes as another file" in done.stderr
