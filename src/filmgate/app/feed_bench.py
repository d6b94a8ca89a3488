"""``filmgate feed bench``: supply against demand, on a catalog, on videos, or on the demo clips."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import torch

from filmgate.app.footage import demo_videos
from filmgate.app.index import index_with_progress
from filmgate.app.terminal import Talk
from filmgate.catalog import Catalog, open_catalog
from filmgate.errors import UserError
from filmgate.feed.bench import FeedBench, bench_feed
from filmgate.feed.bench_windows import Consumer, sleeping_consumer
from filmgate.feed.targets import choose_targets
from filmgate.spec import Job, load_job
from filmgate.train.learner import make_learner
from filmgate.train.loop import Stopwatch, update
from filmgate.train.repeatable import choose_device, device_name
from filmgate.work.cores import num_usable_cores

if TYPE_CHECKING:
    from filmgate.feed.batch import Batch

CATALOG_FILE = "catalog.json"


def measure_feed(
    paths: Sequence[Path],
    job_file: Path | None,
    *,
    seconds: float,
    step_seconds: float | None,
    workers: int | None,
    talk: Talk,
) -> FeedBench:
    """Bench the job's feed over one catalog, over videos, or with no path over the demo clips.

    Without ``step_seconds`` the demand is that of the job's model, trained for a few steps and
    thrown away. Raises UserError for input that cannot be used, and what the feed raises.
    """
    job = load_job(job_file) if job_file else Job()
    if workers is not None:
        limits = msgspec.structs.replace(job.limits, workers=workers)
        job = msgspec.structs.replace(job, limits=limits)
    with _catalog_of(paths, talk) as catalog:
        if step_seconds is None:
            consumer = _training_consumer(job, catalog)
        else:
            consumer = sleeping_consumer(step_seconds)
        talk.note(f"feed bench: two to three windows of {seconds:g} s; demand: {consumer.says}")
        return bench_feed(job, catalog, seconds=seconds, consumer=consumer)


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
