"""An index on a Ray cluster is the index of one machine, also when a node is lost."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from filmgate.catalog import index_videos
from filmgate.catalog.read_new import READING
from filmgate.work import Progress
from filmgate.work.lines import Finished, read_lines
from filmgate.work.on_ray import RayExecutor
from tests.ray_nodes import lose_a_node

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
NUM_FILES = 300
FILES = ("videos.parquet", "frames.parquet", "left_out.parquet")


def test_a_lost_node_changes_nothing_and_each_file_is_read_once(
    cluster: Any, footage: Path, tmp_path: Path
) -> None:
    cluster.add_node(num_cpus=1)
    root, out = tmp_path / "videos", tmp_path / "ray"
    root.mkdir()
    sources = sorted(footage.rglob("*.mp4"))
    for number in range(NUM_FILES):
        os.link(sources[number % len(sources)], root / f"{number}.mp4")
    (root / "broken.mp4").write_text("<html>")
    reads: Counter[str] = Counter()
    lost_at: list[int] = []

    def tell(at: Progress) -> None:
        if not lost_at:
            lose_a_node(cluster)
            lost_at.append(at.done)
        if at.done == at.total:
            lines = [line for _, _, line in read_lines(out / READING / ".work" / "journal.jsonl")]
            reads.update(line.name for line in lines if isinstance(line, Finished))

    here = index_videos(root, tmp_path / "here", workers=0)
    there = index_videos(root, out, executor=RayExecutor(cluster.address), on_progress=tell)
    assert lost_at[0] < NUM_FILES
    assert len(reads) == NUM_FILES + 1
    assert set(reads.values()) == {1}
    assert there.digest == here.digest
    for name in FILES:
        assert (out / name).read_bytes() == (tmp_path / "here" / name).read_bytes()
    assert not (out / READING).exists()
