"""Commands with ``--ray``: the same files as without it, also when a node is lost."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.footage import write_video
from tests.patience import PATIENT_SECONDS
from tests.ray_nodes import lose_a_node

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
NUM_VIDEOS = 12


def filmgate(cluster: Any, cwd: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "filmgate", *words], cwd=cwd, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, env=os.environ | {"RAY_ADDRESS": cluster.address},
    )  # fmt: skip


def end_well(process: subprocess.Popen[str]) -> None:
    talk = process.communicate(timeout=3 * PATIENT_SECONDS)[0]
    assert process.returncode == 0, talk


def files_of(folder: Path) -> dict[str, bytes]:
    """Videos and tables; JSON files tell when they were written."""
    paths = [path for path in folder.rglob("*") if path.suffix in (".mp4", ".parquet")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def test_index_and_prepare_on_ray_make_the_files_of_local_ones_though_a_node_is_lost(
    cluster: Any, tmp_path: Path
) -> None:
    cluster.add_node(num_cpus=1)
    (tmp_path / "videos").mkdir()
    for number in range(NUM_VIDEOS):
        write_video(
            tmp_path / "videos" / f"{number}.mp4", num_frames=150, width=192, height=128,
            hue=number * 9,
        )  # fmt: skip
    here, ray = tmp_path / "here", tmp_path / "ray"
    recipe = ("--layout", "temporal", "--codec", "h264", "--short-side", "96")
    end_well(filmgate(cluster, tmp_path, "index", "videos", "--out", str(here / "catalog")))
    end_well(filmgate(cluster, tmp_path, "index", "videos", "--out", str(ray / "catalog"), "--ray"))
    assert files_of(ray) == files_of(here)
    end_well(
        filmgate(
            cluster, tmp_path, "prepare", str(here / "catalog"), "--out", str(here / "copies"),
            *recipe,
        )
    )  # fmt: skip
    preparing = filmgate(
        cluster, tmp_path, "prepare", str(here / "catalog"), "--out", str(ray / "copies"), *recipe,
        "--ray",
    )  # fmt: skip
    while preparing.poll() is None and len(list(ray.rglob("copies/**/*.mp4"))) < 2:
        time.sleep(0.02)
    lose_a_node(cluster)
    end_well(preparing)
    made, wanted = files_of(ray / "copies"), files_of(here / "copies")
    copies = {name for name in wanted if name.endswith(".mp4")}
    assert len(copies) == NUM_VIDEOS
    assert {name: made[name] for name in copies} == {name: wanted[name] for name in copies}
    assert set(made) == set(wanted)
