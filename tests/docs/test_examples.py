"""Every example runs as it stands."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from filmgate.spec import load_job
from tests.patience import PATIENT_SECONDS

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
RECIPES = ("videomae.toml", "wan_lora.toml", "detection.toml", "segmentation.toml")
"""A test of the models runs them: tests/train/families/test_recipes.py."""
FILMGATE = Path(sys.executable).parent / "filmgate"


def run(*command: str | Path) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=EXAMPLES,
        capture_output=True,
        text=True,
        timeout=PATIENT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_is_in_the_list_and_in_these_tests() -> None:
    listed = (EXAMPLES / "README.md").read_text()
    tested = Path(__file__).read_text()
    for path in EXAMPLES.iterdir():
        if path.suffix in (".py", ".toml"):
            assert f"examples/{path.name}" in listed
            assert path.stem in tested


@pytest.mark.parametrize("name", ["five_lines.toml", "own_model.toml", *RECIPES])
def test_a_job_file_is_valid(name: str) -> None:
    load_job(EXAMPLES / name)


def test_the_smallest_job_has_five_lines() -> None:
    assert len((EXAMPLES / "five_lines.toml").read_text().splitlines()) == 5


def test_the_feed_can_be_walked_without_a_trainer(footage: Path) -> None:
    lines = run(sys.executable, "walk_batches.py", footage).splitlines()
    assert lines[0] == "4 videos, 0 files left out"
    assert [line for line in lines if "sample" in line] == [
        f"sample {first}: (4, 8, 3, 64, 64) torch.uint8" for first in (0, 4, 8)
    ]


def test_the_feed_works_behind_a_data_loader(footage: Path) -> None:
    lines = run(sys.executable, "data_loader.py", footage).splitlines()
    assert [line.split()[0] for line in lines] == ["loss"] * 3


def test_the_feed_works_in_an_accelerate_loop(footage: Path) -> None:
    pytest.importorskip("accelerate", reason="accelerate is not installed")
    lines = run(sys.executable, "with_accelerate.py", footage).splitlines()
    assert [line.split()[0] for line in lines] == ["loss"] * 3


def test_the_feed_works_in_a_hugging_face_trainer(footage: Path) -> None:
    pytest.importorskip("transformers", reason="transformers is not installed")
    assert "steps 3" in run(sys.executable, "with_trainer.py", footage).splitlines()


def test_frames_of_a_video_can_be_read_with_their_times(footage: Path) -> None:
    lines = run(sys.executable, "read_clip.py", footage / "warm" / "warm0.mp4").splitlines()
    assert lines[0] == "h264 96x64, 60 frames"
    assert lines[2] == "frame 10 at 0.400 s: yuv420p"
    assert len(lines) == 7


def test_a_model_of_ones_own_trains_by_name(footage: Path, tmp_path: Path) -> None:
    short = tmp_path / "own_model.toml"
    text = (EXAMPLES / "own_model.toml").read_text()
    short.write_text(text.replace("steps = 60", "steps = 3"))
    out = tmp_path / "run"
    record = json.loads(run(FILMGATE, "run", footage, "--job", short, "--out", out, "--json"))
    assert record["job"]["model"]["factory"] == "own_model:average_of_frames"
    assert record["steps"] == 3
