"""Measures one reader, in a process that does nothing else.

    python -m benchmarks.peer_readers.sessions

The first line of stdin is a Setup, every further one an Ask; each gets one line of answer on
stdout. Before the first sample the reader has warmed up: it has opened every video, a feed or a
loader has delivered some batches, a cache is full. ``clips``, ``visits`` and ``cache`` count the
processor time of this process; ``loader`` and ``feed`` look at the clock between two deliveries in
the middle of a list without end. Between samples the caller stands the process still, so a sample
begins where the last one ended.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import msgspec
import numpy as np

from benchmarks.footage import NUM_VIDEOS
from benchmarks.peer_readers.clips import VISIT_CLIPS, Clip
from benchmarks.peer_readers.jobs import BATCH_CLIPS, CACHE, feed_job
from benchmarks.peer_readers.readers import make_reader, versions_for
from benchmarks.peer_readers.task import Answer, Ask, Setup

WARM_FRAMES = [0, 4]
"""Of every video, before the first sample."""
QUIET_CLIPS = 240
"""A cache is full once so many clips in a row needed no decoding."""
MOST_FILL_CLIPS = 20_000
DEMAND_SHARE = 0.85
"""Of the supply just measured, for AU."""


class Session(Protocol):
    """One reader, ready to be measured."""

    def sample(self, ask: Ask) -> Answer:
        """Clips, and the time for them."""


class Clips:
    """One thread, processor time."""

    def __init__(self, setup: Setup) -> None:
        self._reader = make_reader(setup)
        self._size = VISIT_CLIPS if setup.entry.mode == "visits" else 1
        if not hasattr(self._reader, "prepare"):
            for video in range(NUM_VIDEOS):
                self._reader.read(Clip(video=video, frames=WARM_FRAMES))

    def sample(self, ask: Ask) -> Answer:
        reader, size = self._reader, self._size
        groups = [ask.clips[at : at + size] for at in range(0, len(ask.clips), size)]
        read = reader.read_visit if size > 1 else lambda group: reader.read(group[0])
        if hasattr(reader, "prepare"):
            reader.prepare(ask.clips)
        decoded = getattr(reader, "num_decoded", None)
        wall, cpu = time.perf_counter(), time.process_time()
        for group in groups:
            read(group)
        cpu_seconds = time.process_time() - cpu
        return Answer(
            clips=len(ask.clips),
            wall_seconds=time.perf_counter() - wall,
            cpu_seconds=cpu_seconds,
            frames_decoded=None if decoded is None else reader.num_decoded - decoded,
        )


class Stream:
    """A map-style data set over a list without end; its reader is made in the worker."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.reader: Any = None

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, place: int) -> Any:
        import torch

        torch.set_num_threads(1)
        if self.reader is None:
            self.reader = make_reader(self.setup)
        clip = self.setup.stream[place % len(self.setup.stream)]
        return torch.from_numpy(np.ascontiguousarray(self.reader.read(clip)))


class Loader:
    """``torch.utils.data.DataLoader`` with spawned workers, wall time."""

    def __init__(self, setup: Setup) -> None:
        from torch.utils.data import DataLoader

        make_reader(setup)  # what is missing is told here and not in a worker
        loader: Any = DataLoader(
            Stream(setup),  # type: ignore[arg-type]
            batch_size=BATCH_CLIPS,
            num_workers=setup.entry.workers,
            multiprocessing_context="spawn",
        )
        self._batches = iter(loader)
        _skip(self._batches, 2 * setup.entry.workers)

    def sample(self, ask: Ask) -> Answer:
        return _windowed(ask, self._batches)


class FeedBatches:
    """``open_feed`` with workers, wall time, and the workers' processor time."""

    def __init__(self, setup: Setup) -> None:
        from filmgate.catalog import open_catalog
        from filmgate.feed import open_feed

        entry = setup.entry
        cache = CACHE if entry.lookahead > 1 else None
        job = feed_job(workers=entry.workers, lookahead=entry.lookahead, cache=cache)
        self._feed = open_feed(job, open_catalog(setup.catalog))
        # With a look-ahead the first epochs fill the cache.
        epochs = entry.lookahead if entry.lookahead > 1 else 0
        _skip(self._feed, 2 * entry.workers + epochs * self._feed.epoch_size // BATCH_CLIPS)

    def sample(self, ask: Ask) -> Answer:
        return _windowed(ask, self._feed, self._cpu_seconds)

    def _cpu_seconds(self) -> float:
        return time.process_time() + self._feed.stats().worker_cpu_seconds


class Cache:
    """A feed without workers whose frames are all kept, processor time."""

    def __init__(self, setup: Setup) -> None:
        from filmgate.catalog import open_catalog
        from filmgate.feed import open_feed

        self._feed = open_feed(feed_job(workers=0, cache=CACHE), open_catalog(setup.catalog))
        quiet = served = 0
        while quiet < QUIET_CLIPS:
            before = self._feed.stats().frames_decoded
            next(self._feed)
            served += BATCH_CLIPS
            quiet = quiet + BATCH_CLIPS if self._feed.stats().frames_decoded == before else 0
            if served > MOST_FILL_CLIPS:
                raise RuntimeError(f"the cache is not full after {served} clips")

    def sample(self, ask: Ask) -> Answer:
        before, num_batches = self._feed.stats(), ask.num_clips // BATCH_CLIPS
        wall, cpu = time.perf_counter(), time.process_time()
        _skip(self._feed, num_batches)
        cpu_seconds = time.process_time() - cpu
        after = self._feed.stats()
        if after.frames_decoded != before.frames_decoded:
            raise RuntimeError("frames were decoded although the cache was full")
        return Answer(
            clips=num_batches * BATCH_CLIPS,
            wall_seconds=time.perf_counter() - wall,
            cpu_seconds=cpu_seconds,
            frames_decoded=0,
        )


def _windowed(
    ask: Ask, batches: Iterator[Any], cpu_seconds: Callable[[], float] | None = None
) -> Answer:
    """From one delivery to another."""
    num_batches = ask.num_clips // BATCH_CLIPS
    next(batches)
    began, cpu = time.perf_counter(), cpu_seconds() if cpu_seconds else None
    _skip(batches, num_batches)
    return Answer(
        clips=num_batches * BATCH_CLIPS,
        wall_seconds=time.perf_counter() - began,
        cpu_seconds=cpu_seconds() - cpu if cpu_seconds and cpu is not None else None,
    )


def _skip(batches: Iterator[Any], count: int) -> None:
    for _ in range(count):
        next(batches)


class Utilisation:
    """``bench_feed`` with a consumer that asks for a share of what it just measured."""

    def __init__(self, setup: Setup) -> None:
        from filmgate.catalog import open_catalog

        self._catalog = open_catalog(setup.catalog)
        self._job = feed_job(workers=setup.entry.workers)

    def sample(self, ask: Ask) -> Answer:
        from filmgate.feed.bench import bench_feed
        from filmgate.feed.bench_windows import share_of_supply

        consumer = share_of_supply(DEMAND_SHARE)
        bench = bench_feed(self._job, self._catalog, seconds=ask.seconds, consumer=consumer)
        return Answer(share=bench.au, clips=bench.clips, wall_seconds=bench.seconds)


def frames(setup: Setup, ask: Ask) -> Answer:
    """Write the pixels of some clips, read by a reader that is new."""
    assert ask.out is not None
    reader = make_reader(setup)
    np.save(Path(ask.out), np.stack([np.asarray(reader.read(clip)) for clip in ask.clips]))
    return Answer()


SESSIONS: dict[str, Callable[[Setup], Session]] = {
    "clips": Clips,
    "visits": Clips,
    "singly": Clips,
    "loader": Loader,
    "feed": FeedBatches,
    "cache": Cache,
    "au": Utilisation,
}


def main() -> int:
    """Exit code 0 at the end of stdin."""
    # Whatever a library prints goes to stderr, so that stdout has answers only.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    setup = msgspec.json.decode(sys.stdin.buffer.readline(), type=Setup)
    session: Session | None = None
    for line in iter(sys.stdin.buffer.readline, b""):
        ask = msgspec.json.decode(line, type=Ask)
        try:
            if ask.out is not None:
                answer = frames(setup, ask)
            else:
                session = session or SESSIONS[setup.entry.mode](setup)
                answer = _with_facts(session.sample(ask), setup)
        except ModuleNotFoundError as error:
            answer = Answer(missing=f"not installed: no module {error.name}")
        except Exception as error:  # noqa: BLE001 - a reader that raises is a row that says so
            answer = Answer(error=f"{type(error).__name__}: {error}"[:500])
        out.write(msgspec.json.encode(answer) + b"\n")
        out.flush()
    return 0


def _with_facts(answer: Answer, setup: Setup) -> Answer:
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    versions = versions_for(setup.entry.reader)
    return msgspec.structs.replace(answer, peak_rss_bytes=memory, versions=versions)


if __name__ == "__main__":
    sys.exit(main())
