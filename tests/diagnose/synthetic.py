"""Telemetry of runs that never happened: a seeded simulation of a trainer, a queue and workers.

The same simulation tells what a change would have done, so that expected gains can be checked.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from pathlib import Path

from filmgate.records import Header
from filmgate.records.telemetry import (
    AnyLine,
    Evaluation,
    FeedSnapshot,
    Finish,
    Save,
    Start,
    Step,
    TelemetryWriter,
)

DECODED_PER_DELIVERED = 6


def _decode_heavy() -> dict[str, float]:
    return {"open": 0.002, "decode": 0.040, "convert": 0.006}


@dataclass(frozen=True, kw_only=True)
class Setup:
    """One attempt: seconds of each part of a step, worker seconds of each stage of a clip."""

    steps: int = 80
    first_step: int = 1
    attempt: int = 0
    batch_size: int = 8
    workers: int = 2
    prefetch_batches: int = 4
    forward: float = 0.020
    backward: float = 0.040
    optimizer: float = 0.004
    transfer: float = 0.002
    other: float = 0.001
    first_step_extra: float = 0.5
    stage_seconds: dict[str, float] = field(default_factory=_decode_heavy)
    jitter: float = 0.1
    """Relative standard deviation of every clip's time."""
    slow_clip_every: int | None = None
    """One clip in so many takes 40 times as long."""
    save_every: int = 25
    save_seconds: float = 0.010
    evaluate_every: int | None = None
    evaluation_seconds: float = 0.5
    snapshot_every: int = 10
    skip_every: int | None = None
    finish: bool = True
    device: str = "NVIDIA H200"
    cores: int | None = 16
    train_threads: int | None = 1
    cpu_share: float | None = 0.97
    seed: int = 0
    begin: float = 1_800_000_000.0


@dataclass
class _Work:
    end: float
    busy: float
    wait: float


class _Feed:
    """Workers that fill slots in order, at most ``prefetch_batches`` ahead of the trainer."""

    def __init__(self, setup: Setup, rng: random.Random) -> None:
        self._setup = setup
        self._rng = rng
        self._free: list[float] = []
        for _ in range(setup.workers):
            heappush(self._free, setup.begin)
        self.work: list[_Work] = []
        self.ready: list[float] = []
        for _ in range(setup.prefetch_batches if setup.workers else 0):
            self._fill(setup.begin)

    def _clip_seconds(self) -> float:
        setup = self._setup
        seconds = sum(setup.stage_seconds.values()) * max(0.2, self._rng.gauss(1, setup.jitter))
        if setup.slow_clip_every and self._rng.randrange(setup.slow_clip_every) == 0:
            return seconds * 40
        return seconds

    def _fill(self, slot_free: float) -> None:
        ends = []
        for _ in range(self._setup.batch_size):
            free = heappop(self._free)
            begin = max(free, slot_free)
            end = begin + self._clip_seconds()
            heappush(self._free, end)
            self.work.append(_Work(end, end - begin, begin - free))
            ends.append(end)
        self.ready.append(max(ends))

    def take(self, batch: int, now: float) -> tuple[float, int]:
        """When the trainer has the batch, and how many lay ready when it asked."""
        if self._setup.workers == 0:
            for _ in range(self._setup.batch_size):
                seconds = self._clip_seconds()
                now += seconds
                self.work.append(_Work(now, seconds, 0.0))
            return now, 0
        queued = 0
        while batch + queued < len(self.ready) and self.ready[batch + queued] <= now:
            queued += 1
        taken = max(now, self.ready[batch])
        self._fill(taken)
        return taken, queued

    def snapshot(self, step: int, now: float, frames: int) -> FeedSnapshot:
        setup = self._setup
        done = [work for work in self.work if work.end <= now]
        busy = sum(work.busy for work in done)
        whole = sum(setup.stage_seconds.values())
        return FeedSnapshot(
            unix_seconds=now,
            attempt=setup.attempt,
            step=step,
            clips=len(done),
            frames_delivered=len(done) * frames,
            frames_decoded=len(done) * frames * DECODED_PER_DELIVERED,
            bytes_read=len(done) * 400_000,
            worker_busy_seconds=busy,
            worker_wait_seconds=sum(work.wait for work in done),
            stage_seconds={
                name: busy * seconds / whole for name, seconds in setup.stage_seconds.items()
            },
            skipped=len(done) // setup.skip_every if setup.skip_every else 0,
            worker_cpu_seconds=None if setup.cpu_share is None else busy * setup.cpu_share,
        )


def simulate(setup: Setup) -> list[AnyLine]:
    """The lines of one attempt."""
    rng = random.Random(setup.seed)
    feed = _Feed(setup, rng)
    lines: list[AnyLine] = [start_line(setup)]
    now = setup.begin
    for place in range(setup.steps):
        number = setup.first_step + place
        began = now
        taken, queued = feed.take(place, now)
        extra = setup.first_step_extra if place == 0 else 0.0
        parts = {
            "transfer": setup.transfer,
            "forward": setup.forward * rng.uniform(0.95, 1.05) + extra,
            "backward": setup.backward * rng.uniform(0.95, 1.05),
            "optimizer": setup.optimizer,
        }
        now = taken + sum(parts.values()) + setup.other
        lines.append(_step_line(setup, number, now, began, taken, queued, parts))
        if number % setup.snapshot_every == 0 or place == setup.steps - 1:
            lines.append(feed.snapshot(number, now, 8))
        now = _pauses(setup, lines, number, now)
    if setup.finish:
        last = setup.first_step + setup.steps - 1
        lines.append(Finish(unix_seconds=now, attempt=setup.attempt, step=last))
    return lines


def start_line(setup: Setup) -> Start:
    return Start(
        unix_seconds=setup.begin,
        attempt=setup.attempt,
        header=Header(schema="filmgate.telemetry", schema_version=1),
        step=setup.first_step - 1,
        device=setup.device,
        world_size=1,
        num_workers=setup.workers,
        batch_size=setup.batch_size,
        clip_frames=8,
        clip_bytes=8 * 3 * 112 * 112,
        cores=setup.cores,
        train_threads=setup.train_threads,
    )


def _step_line(
    setup: Setup,
    number: int,
    now: float,
    began: float,
    taken: float,
    queued: int,
    parts: dict[str, float],
) -> Step:
    return Step(
        unix_seconds=now,
        attempt=setup.attempt,
        step=number,
        epoch=number / 20,
        loss=2.0 * 0.98**number + 0.05 * (number * 7 % 11) / 11,
        learning_rate=1e-3,
        samples_digest="blake3:00",
        total_seconds=now - began,
        data_wait_seconds=taken - began,
        transfer_seconds=parts["transfer"],
        forward_seconds=parts["forward"],
        backward_seconds=parts["backward"],
        optimizer_seconds=parts["optimizer"],
        feed_queue_batches=queued,
    )


def _pauses(setup: Setup, lines: list[AnyLine], number: int, now: float) -> float:
    if number % setup.save_every == 0:
        now += setup.save_seconds
        lines.append(
            Save(
                unix_seconds=now,
                attempt=setup.attempt,
                step=number,
                stall_seconds=setup.save_seconds,
                bytes=3_000_000,
            )
        )
    if setup.evaluate_every and number % setup.evaluate_every == 0:
        now += setup.evaluation_seconds
        lines.append(
            Evaluation(
                unix_seconds=now,
                attempt=setup.attempt,
                step=number,
                seconds=setup.evaluation_seconds,
                loss=1.0,
                accuracy=min(0.9, number / 100),
                num_clips=32,
            )
        )
    return now


def with_each_step(lines: list[AnyLine], change: Callable[[Step], Step]) -> list[AnyLine]:
    """The lines with every step changed."""
    return [change(line) if isinstance(line, Step) else line for line in lines]


def resumed(setup: Setup, *, killed_after: int, resumed_from: int) -> list[AnyLine]:
    """A run killed after one step and resumed from an earlier commit."""
    first = simulate(replace(setup, steps=killed_after, finish=False))
    begin = first[-1].unix_seconds + 60
    second = replace(
        setup,
        attempt=1,
        first_step=resumed_from + 1,
        steps=setup.steps - resumed_from,
        begin=begin,
        seed=setup.seed + 1,
    )
    return first + simulate(second)


def write_run(folder: Path, lines: list[AnyLine]) -> Path:
    """A run folder that holds the telemetry alone."""
    folder.mkdir(parents=True, exist_ok=True)
    writer = TelemetryWriter(folder / "telemetry.jsonl")
    for line in lines:
        writer.write(line)
    writer.close()
    return folder


DATA_BOUND = Setup()
CONVERT_BOUND = Setup(stage_seconds={"open": 0.001, "decode": 0.010, "convert": 0.050})
COMPUTE_BOUND = Setup(workers=8, forward=0.080, backward=0.160, prefetch_batches=4)
SAVE_BOUND = Setup(
    workers=8, forward=0.080, backward=0.160, save_every=5, save_seconds=0.5, prefetch_batches=4
)
