"""The command line with streams and surroundings that are closed, full, narrow or gone."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.footage import write_video
from tests.patience import PATIENT_SECONDS

FILMGATE = f"{sys.executable} -m filmgate"


@pytest.fixture
def videos(tmp_path: Path) -> Path:
    (tmp_path / "videos").mkdir()
    write_video(tmp_path / "videos" / "\u00e9t\u00e9.mp4", num_frames=40)
    return tmp_path / "videos"


def shell(
    command: str, cwd: Path, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["/bin/bash", "-c", command.replace("filmgate", FILMGATE)],
        capture_output=True,
        cwd=cwd,
        env=os.environ | (environment or {}),
        timeout=PATIENT_SECONDS,
        check=False,
    )


@pytest.mark.parametrize("stdout", [">/dev/full", ">&-"])
@pytest.mark.parametrize("command", ["catalog show c", "catalog show c --json", "frames v.mp4"])
def test_a_record_that_cannot_be_printed_is_an_error(
    command: str, stdout: str, videos: Path, tmp_path: Path
) -> None:
    assert shell("filmgate index videos --out c", tmp_path).returncode == 0
    (tmp_path / "v.mp4").symlink_to(next(videos.iterdir()))
    done = shell(f"filmgate {command} {stdout}", tmp_path)
    assert done.returncode == 2
    assert b"error: " in done.stderr
    assert b"hint: " in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_name_that_the_locale_cannot_print_is_escaped_and_json_stays_utf8(
    videos: Path, tmp_path: Path
) -> None:
    ascii_only = {"PYTHONIOENCODING": "ascii"}
    assert shell("filmgate index videos --out c", tmp_path).returncode == 0
    (tmp_path / "c").rename(tmp_path / "c\u00e9")
    shown = shell("filmgate catalog show c*", tmp_path, ascii_only)
    assert shown.returncode == 0, shown.stderr
    assert b"c\\xe9" in shown.stdout
    record = shell("filmgate catalog show c* --json", tmp_path, ascii_only)
    assert json.loads(record.stdout.decode())["path"] == "c\u00e9"


@pytest.mark.parametrize("stderr", ["2>/dev/full", "2>&-", "2> >(true)"])
def test_work_goes_on_when_nobody_listens_to_the_talk(
    stderr: str, videos: Path, tmp_path: Path
) -> None:
    done = shell(f"filmgate index videos --out c --json {stderr}", tmp_path)
    assert done.returncode == 0
    assert json.loads(done.stdout)["num_videos"] == 1


def test_a_folder_that_is_gone_is_said(videos: Path, tmp_path: Path) -> None:
    done = shell(f"mkdir gone && cd gone && rmdir ../gone && filmgate run {videos}", tmp_path)
    assert done.returncode == 2
    assert b"error: the current folder is gone" in done.stderr


def test_names_are_said_as_they_are(tmp_path: Path) -> None:
    done = shell("filmgate diagnose 'my:x:[bold]run'", tmp_path)
    assert b"my:x:[bold]run/telemetry.jsonl" in done.stderr


def test_what_the_model_prints_does_not_mix_with_the_record(videos: Path, tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text(
        "from filmgate.train.models import small_video_classifier\n"
        "print('imported')\n"
        "def model(job, num_classes):\n"
        "    print('made')\n"
        "    return small_video_classifier(job, num_classes)\n"
    )
    (tmp_path / "job.toml").write_text(
        "[clip]\nframes = 2\nstride = 1\nheight = 16\nwidth = 16\n[model]\nfactory = 'loud:model'\n"
        "[train]\nsteps = 2\nbatch_size = 2\n[limits]\nworkers = 0\n"
    )
    done = shell("filmgate run videos --job job.toml --out run --json", tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["steps"] == 2
    assert b"imported\nmade\n" in done.stderr


ON_A_TERMINAL = (
    "import fcntl, os, sys, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "os.execv(sys.executable, [sys.executable, '-m', 'filmgate', *sys.argv[1:]])"
)


@pytest.mark.parametrize(
    ("command", "bars"),
    [
        ("index videos --out c", [b"index", b"videos"]),
        ("frames videos/v.mp4 --md5", [b"frames", b"40/40"]),
        ("frames videos/v.mp4 --md5 --order random", [b"frames", b"40/40"]),
        ("feed bench videos --step-ms 1 --seconds 0.2 --job job.toml", [b"feed bench", b"3/3"]),
        ("run videos --out r --job job.toml", [b"index", b"2/2", b"score"]),
    ],
)
def test_long_commands_show_a_bar_on_a_terminal_alone(
    command: str, bars: list[bytes], videos: Path, tmp_path: Path
) -> None:
    next(videos.iterdir()).rename(videos / "v.mp4")
    (tmp_path / "job.toml").write_text(
        "[clip]\nframes = 2\nstride = 1\nheight = 16\nwidth = 16\n"
        "[train]\nsteps = 2\nbatch_size = 2\n[limits]\nworkers = 0\n"
    )
    words = command.split()
    shown = on_a_terminal(words, tmp_path)
    assert all(bar in shown for bar in [*bars, b"left"]), shown
    shutil.rmtree(tmp_path / "r", ignore_errors=True)
    assert b"\x1b[" not in on_a_terminal([*words, "--json"], tmp_path)
    shutil.rmtree(tmp_path / "r", ignore_errors=True)
    assert b"\x1b[" not in shell(f"filmgate {command}", tmp_path).stderr


def on_a_terminal(words: list[str], cwd: Path) -> bytes:
    """What a command shows on the terminal that is its stderr."""
    ours, terminal = os.openpty()
    command = [sys.executable, "-m", "filmgate", *words]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "120"}
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=terminal, cwd=cwd, env=environment
    )
    os.close(terminal)
    shown = b""
    try:
        while part := os.read(ours, 65536):
            shown += part
    except OSError:  # how Linux says that the other end has gone
        pass
    finally:
        os.close(ours)
    assert process.wait(PATIENT_SECONDS) == 0, shown
    return shown


def test_a_terminal_that_closes_stops_a_run_with_a_commit(videos: Path, tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(
        "[clip]\nframes = 2\nstride = 1\nheight = 16\nwidth = 16\n"
        "[train]\nsteps = 1000000\nbatch_size = 2\ncommit_every_steps = 1000000\n"
        "[limits]\nworkers = 1\n"
    )
    ours, terminal = os.openpty()
    command = ["run", "videos", "--job", "job.toml", "--out", "run"]
    run = subprocess.Popen(
        [sys.executable, "-c", ON_A_TERMINAL, *command],
        stdin=terminal, stdout=terminal, stderr=terminal, cwd=tmp_path,
    )  # fmt: skip
    os.close(terminal)
    shown = b""
    while b"loss" not in shown:
        shown += os.read(ours, 65536)
    os.close(ours)
    assert run.wait(PATIENT_SECONDS) == 75
    (commit,) = (tmp_path / "run" / "commits").iterdir()
    assert commit.name.startswith("step-")


def test_a_signal_before_training_ends_a_run_that_the_same_command_continues(
    videos: Path, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "filmgate", "run", str(videos), "--out", "run"]
    run = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    assert run.stderr is not None
    assert "run folder" in run.stderr.readline()
    run.send_signal(signal.SIGTERM)
    talk = run.communicate(timeout=PATIENT_SECONDS)[1]
    assert run.returncode == 75, talk
    assert "hint: the same command again continues it" in talk
    assert "Traceback" not in talk
    assert not list((tmp_path / "run").rglob(".*.part"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_indexing_without_a_word_and_leaves_no_half_file(
    number: signal.Signals, videos: Path, tmp_path: Path
) -> None:
    for copy in range(200):
        (videos / f"{copy}.mp4").symlink_to(next(videos.iterdir()).resolve())
    command = [sys.executable, "-m", "filmgate", "index", str(videos), "--out", "c", "--json"]
    index = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    while not (tmp_path / "c").exists() and index.poll() is None:
        time.sleep(0.01)
    index.send_signal(number)
    told, talk = index.communicate(timeout=PATIENT_SECONDS)
    assert index.returncode == 128 + number
    assert (json.loads(told)["kind"], json.loads(told)["exit_code"]) == ("Stopped", 128 + number)
    assert "Traceback" not in talk
    # What was read so far stays, for the same command to go on from.
    assert {path.name for path in (tmp_path / "c").iterdir()} <= {".index"}
    assert not list((tmp_path / "c").rglob("*.part"))


def test_a_stop_that_comes_several_times_is_one(videos: Path, tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(
        "[clip]\nframes = 2\nstride = 1\nheight = 16\nwidth = 16\n"
        "[train]\nsteps = 1000000\nbatch_size = 2\ncommit_every_steps = 1000000\n"
        "[limits]\nworkers = 1\n"
    )
    command = [sys.executable, "-m", "filmgate", "run", "videos", "--job", "job.toml"]
    run = subprocess.Popen(
        [*command, "--out", "run"], stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    telemetry = tmp_path / "run" / "telemetry.jsonl"
    while run.poll() is None and (not telemetry.exists() or telemetry.stat().st_size < 4000):
        time.sleep(0.01)
    for _ in range(20):  # as `timeout` signals `make` and the run, and `make` the run once more
        run.send_signal(signal.SIGTERM)
        time.sleep(0.01)
    talk = run.communicate(timeout=PATIENT_SECONDS)[1]
    assert run.returncode == 75, talk
    assert "stopped by SIGTERM, committed after step" in talk
