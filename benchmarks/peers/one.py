"""Measures one reader, in a process that has done nothing else.

    python -m benchmarks.peers.one < task.json

The answer is the last line of stdout. ``clips`` and ``visits`` count the processor time of this
process between the end of the warm-up and the last clip. ``loader`` and ``feed`` look at the clock
between two deliveries in the middle of a longer list, so that as much lies ready at the stop as lay
ready at the start.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from benchmarks.footage import CLIP_SIZE
from benchmarks.peers.clips import CLIP_FRAMES, STRIDE, VISIT_CLIPS
from benchmarks.peers.ours import NotYet
from benchmarks.peers.readers import make_reader, versions_for
from benchmarks.peers.task import Answer, Task

BATCH_CLIPS = 4
CACHE = "4GB"
"""Room for every clip that a look-ahead makes early."""


def main() -> int:
    """Exit code 0 with an answer, whatever it is."""
    task = msgspec.json.decode(sys.stdin.buffer.read(), type=Task)
    try:
        answer = measure(task)
    except ModuleNotFoundError as error:
        answer = Answer(missing=f"not installed: no module {error.name}")
    except NotYet as error:
        answer = Answer(missing=f"not yet: {error}")
    except Exception as error:  # noqa: BLE001 - a reader that raises is a row that says so
        answer = Answer(error=f"{type(error).__name__}: {error}"[:500])
    print(msgspec.json.encode(answer).decode())
    return 0


def measure(task: Task) -> Answer:
    """What ``task.mode`` asks for."""
    modes = {
        "clips": _clips,
        "visits": _clips,
        "loader": _loader,
        "feed": _feed,
        "frames": _frames,
    }
    answer = modes[task.mode](task)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return msgspec.structs.replace(
        answer, peak_rss_bytes=memory, versions=versions_for(task.reader)
    )


def _clips(task: Task) -> Answer:
    reader = make_reader(task)
    size = VISIT_CLIPS if task.mode == "visits" else 1
    starts = range(0, len(task.clips), size)
    groups = [task.clips[start : start + size] for start in starts]
    read = reader.read_visit if size > 1 else lambda group: reader.read(group[0])
    num_warm = task.warm_up // size
    for group in groups[:num_warm]:
        read(group)
    decoded = getattr(reader, "num_decoded", None)
    wall, cpu = time.perf_counter(), _cpu_seconds(resource.RUSAGE_SELF)
    for group in groups[num_warm:]:
        read(group)
    cpu = _cpu_seconds(resource.RUSAGE_SELF) - cpu
    return Answer(
        clips=(len(groups) - num_warm) * size,
        wall_seconds=time.perf_counter() - wall,
        cpu_seconds=cpu,
        frames_decoded=None if decoded is None else reader.num_decoded - decoded,
    )


class ClipSet:
    """A map-style data set; its reader is made in the worker at the first clip."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.reader: Any = None

    def __len__(self) -> int:
        return len(self.task.clips)

    def __getitem__(self, place: int) -> Any:
        import torch

        torch.set_num_threads(1)
        if self.reader is None:
            self.reader = make_reader(self.task)
        return torch.from_numpy(np.ascontiguousarray(self.reader.read(self.task.clips[place])))


def _loader(task: Task) -> Answer:
    from torch.utils.data import DataLoader

    make_reader(task)  # what is missing is told here and not in a worker
    loader: Any = DataLoader(
        ClipSet(task),  # type: ignore[arg-type]
        batch_size=BATCH_CLIPS,
        num_workers=task.workers,
        multiprocessing_context="spawn",
    )
    return _windowed(task, iter(loader))


def _feed(task: Task) -> Answer:
    from filmgate.catalog import open_catalog
    from filmgate.feed import open_feed

    catalog = open_catalog(task.catalog)
    with open_feed(feed_job(task), catalog) as feed:

        def cpu_seconds() -> float:
            workers = feed.stats().worker_cpu_seconds if feed.num_workers else 0.0
            return workers + _cpu_seconds(resource.RUSAGE_SELF)

        return _windowed(task, iter(feed), cpu_seconds)


def feed_job(task: Task) -> Any:
    """Whole frames at the clips' size, neither mirrored nor cut at random, as the others do."""
    from filmgate.spec import Clip, Data, Job, Limits, Train

    width, height = CLIP_SIZE
    return Job(
        clip=Clip(
            frames=CLIP_FRAMES,
            stride=STRIDE,
            height=height,
            width=width,
            crop="centre",
            flip=False,
        ),
        data=Data(holdout=0.0, target="source", lookahead=task.lookahead),
        train=Train(batch_size=BATCH_CLIPS),
        limits=Limits(
            workers=task.workers,
            prefetch_batches=2 * max(1, task.workers),
            cache=None if task.lookahead == 1 else CACHE,
        ),
    )


def _windowed(
    task: Task, batches: Iterator[Any], cpu_seconds: Callable[[], float] | None = None
) -> Answer:
    """From the delivery of the last warm-up batch on, as long as clips beyond the end are due."""
    tail = 2 * max(1, task.workers) * BATCH_CLIPS
    num_timed = (len(task.clips) - task.warm_up - tail) // BATCH_CLIPS
    for _ in range(task.warm_up // BATCH_CLIPS):
        next(batches)
    began, cpu = time.perf_counter(), cpu_seconds() if cpu_seconds else None
    for _ in range(num_timed):
        next(batches)
    return Answer(
        clips=num_timed * BATCH_CLIPS,
        wall_seconds=time.perf_counter() - began,
        cpu_seconds=cpu_seconds() - cpu if cpu_seconds and cpu is not None else None,
    )


def _frames(task: Task) -> Answer:
    reader = make_reader(task)
    assert task.out is not None
    np.save(Path(task.out), np.stack([np.asarray(reader.read(clip)) for clip in task.clips]))
    return Answer(clips=len(task.clips))


def _cpu_seconds(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
