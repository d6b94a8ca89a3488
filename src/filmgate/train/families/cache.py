"""Latents and text embeddings of a job, made before it trains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch

from filmgate.catalog import Catalog
from filmgate.errors import UserError
from filmgate.feed import open_feed
from filmgate.records import Record
from filmgate.spec import Job
from filmgate.train.families.generation import GenerationTask
from filmgate.train.inputs import moved
from filmgate.train.learner import make_task
from filmgate.train.repeatable import choose_device


class Cached(Record, frozen=True):
    """What a step of caching did."""

    folder: str
    """Where latents and embeddings lie."""
    num_clips: int
    """Clips that were asked for."""
    num_found: int
    """Tensors that were there already."""
    num_made: int
    """Tensors that were made now, texts among them."""


def cache_latents(
    job: Job,
    catalog: Catalog,
    *,
    epochs: int = 1,
    on_progress: Callable[[int, int], None] | None = None,
) -> Cached:
    """Fill the job's folder of latents with those of its held-out clips and of some epochs.

    Stopped at any time it goes on from there. With random clips every epoch shows other ones;
    with ``sampling = "uniform"``, a centred crop and no flip one epoch is all there is.
    ``on_progress`` hears (clips done, clips in all). Raises UserError for a job without such a
    folder, and as the feed.
    """
    if job.generation.latents is None:
        raise UserError(
            "the job has no folder for latents", hint="name one as latents in [generation]"
        )
    device = choose_device(job.train.device)
    task: GenerationTask | None = None
    done = 0
    splits: tuple[Literal["train", "holdout"], ...] = ("train", "holdout")
    for split in splits:
        with open_feed(job, catalog, split=split, device=device) as feed, torch.no_grad():
            if task is None:
                task = _task(job, catalog, len(feed.class_names))
            wanted = feed.epoch_size * (epochs if split == "train" else 1)
            start = done
            for batch in feed:
                if bool(batch.valid_B.any()):
                    task.encoded(moved(batch, device))
                done = min(done + len(batch.valid_B), start + wanted)
                if on_progress is not None:
                    on_progress(done - start, wanted)
                if done == start + wanted:
                    break
    assert task is not None and task.store is not None
    return Cached(
        folder=job.generation.latents,
        num_clips=done,
        num_found=task.store.num_found,
        num_made=task.store.num_made,
    )


def _task(job: Job, catalog: Catalog, num_classes: int) -> GenerationTask:
    task = make_task(job, num_classes)
    if not isinstance(task, GenerationTask):
        raise UserError(
            f"{job.model.factory} has no latents",
            hint="only generators have: factories of filmgate.train.families.generation",
        )
    task.begin(catalog)
    return task
