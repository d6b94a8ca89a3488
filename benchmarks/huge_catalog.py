"""A catalog of a million videos that all lie in a few files, and what opening it costs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.machine import ROOT
from filmgate.catalog import Catalog
from filmgate.records import write_record

NUM_VIDEOS = 1_000_000
GROUP = 2000
"""Videos of one row group: the same few, again and again."""
DEADLINE_SECONDS = 300

_PROGRAM = """
import json, sys, time
import numpy, torch, psutil, pyarrow.parquet
import filmgate.feed.open, filmgate.feed.batch
from filmgate.catalog import open_catalog
from filmgate.feed import open_feed
from filmgate.spec import Clip, Data, Job, Limits, Train

job = Job(
    clip=Clip(frames=4, stride=2, height=48, width=64),
    data=Data(target="label"),
    train=Train(batch_size=4),
    limits=Limits(workers={workers}, prefetch_batches=3),
)
process = psutil.Process()
before = process.memory_info().rss
began, cpu_began = time.monotonic(), time.process_time()
catalog = open_catalog({catalog!r})
opened = time.monotonic() - began
with open_feed(job, catalog, start_sample={start}) as feed:
    next(feed)
    first = time.monotonic() - began
    next(feed)
    own = process.memory_info().rss - before
    workers = [psutil.Process(p).memory_info().rss for p in feed.worker_process_ids]
    cpu = time.process_time() - cpu_began
print(json.dumps([opened, first, own, max(workers, default=0), cpu]))
"""


@dataclass(frozen=True, kw_only=True)
class OpeningCost:
    """What it takes to open a catalog and to start at a sample."""

    open_seconds: float
    first_batch_seconds: float
    """From before the catalog is opened; a worker starts meanwhile."""
    own_bytes: int
    """Memory that the training process has more than before."""
    worker_bytes: int
    """All memory of the largest worker, Python itself included."""
    own_cpu_seconds: float
    """Processor time of the training process, up to the second batch."""


def write_huge_catalog(catalog: Catalog, folder: Path, num_videos: int = NUM_VIDEOS) -> Path:
    """A catalog whose rows are those of a small one, over and over; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("videos", "frames"):
        table = pq.read_table(catalog.path / f"{name}.parquet")
        copies = [table] * (GROUP // catalog.num_videos)
        group = pa.concat_tables(copies).combine_chunks()
        path = folder / f"{name}.parquet"
        with pq.ParquetWriter(path, table.schema, compression="zstd") as writer:
            for _ in range(num_videos // GROUP):
                writer.write_table(group)
    shutil.copy(catalog.path / "left_out.parquet", folder)
    header = msgspec.structs.replace(catalog.header, num_videos=num_videos)
    write_record(folder / "catalog.json", header)
    return folder


def opening_cost(catalog: Path, *, start_sample: int, workers: int = 1) -> OpeningCost:
    """Open it in a fresh process and take two batches from a sample on."""
    text = _PROGRAM.format(catalog=str(catalog), start=start_sample, workers=workers)
    done = subprocess.run(
        [sys.executable, "-c", text],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    opened, first, own, worker, cpu = json.loads(done.stdout)
    return OpeningCost(
        open_seconds=opened,
        first_batch_seconds=first,
        own_bytes=own,
        worker_bytes=worker,
        own_cpu_seconds=cpu,
    )
