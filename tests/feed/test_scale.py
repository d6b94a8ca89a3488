"""A million videos, ten thousand opens, few file descriptors."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from filmgate.catalog import Catalog, index_videos
from filmgate.feed import open_feed
from filmgate.records import write_record
from tests.feed.conftest import job_of

NUM_VIDEOS = 1_000_000
GROUP = 2000
"""Videos of one row group: the same few, again and again."""

PROGRAM = """
import json, resource, sys, time
sys.path.insert(0, {root!r})
import numpy, torch, filmgate.feed.open, filmgate.feed.batch, tests.feed.conftest
import psutil
before = psutil.Process().memory_info().rss
began = time.monotonic()
from filmgate.catalog import open_catalog
from filmgate.feed import open_feed
from tests.feed.conftest import job_of
catalog = open_catalog({catalog!r})
opened = time.monotonic() - began
with open_feed(job_of({workers}, target="label"), catalog, start_sample={start}) as feed:
    next(feed)
    first = time.monotonic() - began
    next(feed)
    own = psutil.Process().memory_info().rss - before
    workers = [psutil.Process(p).memory_info().rss for p in feed.worker_process_ids]
print(json.dumps([opened, first, own, workers]))
"""


@pytest.fixture(scope="module")
def huge(catalog: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A catalog of a million rows that all point at the four videos of the footage."""
    folder = tmp_path_factory.mktemp("huge")
    for name in ("videos", "frames"):
        table = pq.read_table(catalog.path / f"{name}.parquet")
        group = pa.concat_tables([table] * (GROUP // 4)).combine_chunks()
        with pq.ParquetWriter(
            folder / f"{name}.parquet", table.schema, compression="zstd"
        ) as writer:
            for _ in range(NUM_VIDEOS // GROUP):
                writer.write_table(group)
    shutil.copy(catalog.path / "left_out.parquet", folder)
    header = msgspec.structs.replace(catalog.header, num_videos=NUM_VIDEOS)
    write_record(folder / "catalog.json", header)
    return folder


@pytest.mark.parametrize("start", [0, 4 * 10**9])
def test_a_million_videos_open_at_once_and_resume_anywhere(huge, start):
    root = str(Path(__file__).resolve().parents[2])
    text = PROGRAM.format(root=root, catalog=str(huge), start=start, workers=1)
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=100, check=True
    )
    opened, first, own_bytes, worker_bytes = json.loads(done.stdout)
    assert opened < 1.0
    assert first < 3.0 * slowness()
    assert own_bytes < 300_000_000
    assert all(num_bytes < 300_000_000 for num_bytes in worker_bytes)


def slowness() -> float:
    """How much longer things take because others use the cores as well; at least 1."""
    return max(1.0, psutil.getloadavg()[0] / psutil.cpu_count())


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_memory_is_flat_over_ten_thousand_opens(footage, tmp_path):
    for number in range(80):
        shutil.copy(footage / "cold" / "cold0.mp4", tmp_path / f"{number:02}.mp4")
    catalog = index_videos([tmp_path], tmp_path / "catalog", workers=0)
    process, sizes = psutil.Process(), []
    job = job_of(0, frames=1, height=16, width=16, target="source")
    with open_feed(job, catalog) as feed:
        for number in range(28_000 // 4):
            next(feed)
            if number % 500 == 499:
                sizes.append(process.memory_info().rss)
    # With 32 decoders open at random the allocator's heap settles after some 16 000 opens.
    assert sizes[-1] - sizes[8] < 10_000_000
