"""``filmgate pack``: the record alone on stdout, or a table for people."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from filmgate.app.cli import run_command_line
from tests.pack.images import write_images


def test_pack_prints_its_record_alone(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write_images(tmp_path / "images", 3)
    arguments = ["pack", str(tmp_path / "images"), "--out", str(tmp_path / "pack"), "--json",
                 "--workers", "0"]  # fmt: skip
    assert run_command_line(arguments) == 0
    record = json.loads(capfd.readouterr().out)
    assert record["header"]["schema"] == "filmgate.pack" and record["num_images"] == 3
    assert record == json.loads((tmp_path / "pack" / "pack.json").read_bytes())


def test_pack_tells_people_what_is_missing_and_what_does_not_fit(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = write_images(tmp_path / "images", 5)
    (folder / "0002.png").unlink()
    (folder / "0004.png").write_bytes(b"")
    labels = tmp_path / "labels"
    labels.mkdir()
    (labels / "0001.txt").write_text("0 0.5 0.5 0.2 0.2\n0 0.5 0.5 0 0.2\n")
    arguments = ["pack", str(folder), "--out", str(tmp_path / "pack"), "--frames", "--workers", "0",
                 "--annotations", f"yolo:{labels}"]  # fmt: skip
    assert run_command_line(arguments) == 0
    told = capfd.readouterr()
    assert "0004.png: the file is empty" in told.err
    assert "1 in 1 gap, the first at frame 2 of images" in told.out
    assert "1 object of 1 class on 1 image" in told.out
    assert "zero-area (e.g. 0001.txt:2)" in told.out


def test_a_pack_can_be_run_on_like_a_catalog(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write_images(tmp_path / "images" / "a", 3)
    pack = str(tmp_path / "pack")
    assert run_command_line(["pack", str(tmp_path / "images"), "--out", pack, "-q"]) == 0
    capfd.readouterr()
    assert run_command_line(["catalog", "show", pack, "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["num_videos"] == 3


def test_a_run_on_images_says_what_was_held_out(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for place, label in enumerate("ab"):
        write_images(tmp_path / "images" / label, 8, first=8 * place)
    pack, job = str(tmp_path / "pack"), tmp_path / "job.toml"
    assert run_command_line(["pack", str(tmp_path / "images"), "--out", pack, "-q"]) == 0
    job.write_text(
        "[clip]\nframes = 1\nstride = 1\nheight = 32\nwidth = 32\n"
        "[train]\nsteps = 2\nbatch_size = 4\n[limits]\nworkers = 0\n"
    )
    capfd.readouterr()
    out = str(tmp_path / "run")
    assert run_command_line(["run", pack, "--job", str(job), "--out", out]) == 0
    told = capfd.readouterr().out
    assert "by sample: 4 of 16 rows, as much of each label" in told
    assert "shorter than 2 s" not in told
    record = json.loads((tmp_path / "run" / "run.json").read_bytes())
    assert record["num_holdout_clips"] == 4 and record["warnings"] == []
    assert "by sample: 4 of 16 rows" in (tmp_path / "run" / "report.html").read_text()
