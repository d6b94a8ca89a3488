"""Four tiny videos of different hue, their catalog, and a job that trains on them in a second."""

from __future__ import annotations

from typing import Any

import pytest

from filmgate.catalog import Catalog, index_videos
from filmgate.spec import Job
from filmgate.spec.load import parse_job
from tests.footage import write_video

TABLES: dict[str, dict[str, Any]] = {
    "clip": {"frames": 4, "stride": 2, "height": 32, "width": 32},
    "data": {"target": "source", "eval_clips_per_video": 4},
    "train": {"steps": 12, "batch_size": 4, "commit_every_steps": 4, "device": "cpu"},
    "limits": {"workers": 0, "train_threads": 1},
}


@pytest.fixture(scope="session")
def hues(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    root = tmp_path_factory.mktemp("hues")
    for hue in (0, 60, 120, 180):
        write_video(root / f"hue{hue}.mp4", num_frames=60, hue=hue)
    return index_videos([root], tmp_path_factory.mktemp("catalog"), workers=1)


def a_job(**tables: dict[str, Any]) -> Job:
    """A small job; ``a_job(train={"steps": 3})`` changes single keys."""
    names = {**TABLES, **tables}
    return parse_job({name: TABLES.get(name, {}) | tables.get(name, {}) for name in names})
