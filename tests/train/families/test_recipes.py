"""The recipes of examples/ run as they stand, but for their number of steps and clips."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from filmgate.catalog import Catalog
from filmgate.spec import Job, load_job
from filmgate.train.run import train_run
from tests.train.families.test_detection import marked  # noqa: F401 - a fixture

pytest.importorskip("diffusers", reason="the extra `video` is not installed")
EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def short(name: str, tmp_path: Path) -> Job:
    """Two steps of two clips."""
    job = load_job(EXAMPLES / name)
    return replace(
        job,
        data=replace(job.data, eval_clips_per_video=1, clips_per_video=2),
        train=replace(job.train, steps=2, batch_size=2, device="cpu"),
        limits=replace(job.limits, workers=0, train_threads=1),
        generation=replace(job.generation, latents=str(tmp_path / "latents"), sample_steps=2),
    )


@pytest.mark.parametrize("name", ["videomae.toml", "wan_lora.toml"])
def test_a_recipe_on_videos_runs(name: str, kinds: Catalog, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    assert train_run(short(name, tmp_path), kinds, tmp_path / "run").steps == 2


@pytest.mark.parametrize("name", ["detection.toml", "segmentation.toml"])
def test_a_recipe_on_a_pack_runs(name: str, marked: Catalog, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "run").mkdir()
    assert train_run(short(name, tmp_path), marked, tmp_path / "run").metrics
