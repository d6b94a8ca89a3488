"""``filmgate feed bench``: supply against demand, on a catalog, on videos, or on the demo clips."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import torch

from filmgate.app.footage import demo_videos
from filmgate.app.index import index_with_progress
from filmgate.app.step_function import load_step
from filmgate.app.terminal import Talk
from filmgate.catalog import Catalog, open_catalog
from filmgate.errors import UserError
from filmgate.feed.bench import FeedBench, bench_feed, check_window
from filmgate.feed.bench_windows import (
    Consumer,
    SupplyShare,
    share_of_supply,
    sleeping_consumer,
)
from filmgate.feed.targets import choose_targets
from filmgate.spec import Job, load_job
from filmgate.train.learner import make_learner
from filmgate.train.repeatable import choose_device, device_name
from filmgate.train.update import Stopwatch, update
from filmgate.work.cores import num_usable_cores

if TYPE_CHECKING:
    from filmgate.feed.batch import Batch

CATALOG_FILE = "catalog.json"


@dataclass(frozen=True, kw_only=True)
class Demand:
    """What stands for training; at most one is told. With none it is the job's model, trained for
    a few steps and thrown away."""

    step_seconds: float | None = None
    """How long a step computes."""
    supply_share: float | None = None
    """Clips it takes, as a share of the supply that is measured first."""
    step: str | None = None
    """``module:function`` that is called with each batch."""


def measure_feed(
    paths: Sequence[Path],
    job_file: Path | None,
    *,
    seconds: float,
    demand: Demand,
    workers: int | None,
    talk: Talk,
) -> FeedBench:
    """Bench the job's feed over one catalog, over videos, or with no path over the demo clips.

    Raises UserError for input that cannot be used, and what the feed raises.
    """
    job = load_job(job_file) if job_file else Job()
    if workers is not None:
        limits = msgspec.structs.replace(job.limits, workers=workers)
        job = msgspec.structs.replace(job, limits=limits)
    check_window(seconds)
    told = _told_consumer(demand)
    with _catalog_of(paths, talk) as catalog:
        consumer = told or _training_consumer(job, catalog)
        talk.note(f"feed bench: two to three windows of {seconds:g} s; demand: {consumer.says}")
        with talk.job("feed bench", "windows") as progress:
            return bench_feed(job, catalog, seconds=seconds, consumer=consumer, on_window=progress)


@contextmanager
def _catalog_of(paths: Sequence[Path], talk: Talk) -> Iterator[Catalog]:
    for path in paths:
        if not path.exists():
            raise UserError(
                f"{path} does not exist", hint="name a catalog, a folder of videos, or a video"
            )
    if len(paths) == 1 and (paths[0] / CATALOG_FILE).exists():
        yield open_catalog(paths[0])
        return
    with tempfile.TemporaryDirectory(prefix="filmgate-feed-bench-") as folder:
        out = Path(folder) / "catalog"
        yield index_with_progress(list(paths) or demo_videos(), out, "folder", talk)


def _told_consumer(demand: Demand) -> Consumer | SupplyShare | None:
    told = [demand.step_seconds, demand.supply_share, demand.step]
    if sum(one is not None for one in told) > 1:
        raise UserError(
            "demand was told in more than one way",
            hint="give one of --step-ms, --demand-share and --step, or none for the job's model",
        )
    if demand.step_seconds is not None:
        return sleeping_consumer(demand.step_seconds)
    if demand.supply_share is not None:
        return share_of_supply(demand.supply_share)
    if demand.step is not None:
        return Consumer(step=load_step(demand.step), says=f"the step function {demand.step}")
    return None


def _training_consumer(job: Job, catalog: Catalog) -> Consumer:
    device = choose_device(job.train.device)
    torch.set_num_threads(job.limits.train_threads or num_usable_cores())
    num_classes = len(choose_targets(job.data.target, catalog).class_names)
    return Consumer(
        step=_training_step(job, num_classes, device),
        says=f"the model {job.model.factory} on {device_name(device)}",
    )


def _training_step(job: Job, num_classes: int, device: torch.device) -> Callable[[Batch], None]:
    learner = make_learner(job, num_classes, device)
    watch = Stopwatch(device)

    def step(batch: Batch) -> None:
        """Train on a batch as far as the time it takes goes."""
        # A rate of 0 leaves the weights alone: this measures, it does not train.
        update(learner, batch, 0.0, 1, watch)

    return step
