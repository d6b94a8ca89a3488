"""The feed inside other people's loops: a dataset for ``torch.utils.data.DataLoader``.

What it yields are whole batches, so the loader is made with ``batch_size=None``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import msgspec
import torch
from torch.utils.data import IterableDataset, get_worker_info

from filmgate.catalog import Catalog
from filmgate.catalog.augmentation import changes_pixels
from filmgate.catalog.clip_frames import Split
from filmgate.errors import UserError
from filmgate.feed.batch import Batch
from filmgate.feed.open import open_feed
from filmgate.spec import Job

Row = dict[str, torch.Tensor]


class ClipDataset(IterableDataset[Row]):
    """Batches of a job as dicts of tensors, for ``DataLoader(dataset, batch_size=None)``.

    ``pixel_values`` uint8 (B, T, C, H, W) and ``labels`` int64 (B,): the names that Hugging Face's
    video models take. A masked clip has the label that losses leave out, -100.

    Without loader workers the feed's own do the work. Each of N loader workers decodes in its own
    process and yields every N-th batch; the loader takes them in turn, so the batches come in the
    same order for any N. ``num_batches`` ends the training stream; the held-out split ends by
    itself. ``start_sample`` counts over all ranks.
    """

    def __init__(
        self,
        job: Job,
        catalog: Catalog,
        *,
        split: Split = "train",
        num_batches: int | None = None,
        start_sample: int = 0,
        rank: int = 0,
        world_size: int = 1,
    ) -> None:
        if split == "train" and num_batches is None:
            raise UserError(
                "the training stream never ends", hint="say how much of it: num_batches=1000"
            )
        if split == "train" and changes_pixels(job.augment):
            raise UserError(
                "a ClipDataset gives frames as they are decoded, but [augment] asks for colour, "
                "erasing or mixing",
                hint="go over open_feed and call filmgate.feed.augment, or leave those keys out",
            )
        self.job = job
        self.catalog = catalog
        self.split: Split = split
        self.num_batches = num_batches
        self.start_sample = start_sample
        self.rank = rank
        self.world_size = world_size

    def __len__(self) -> int:
        """Batches; raises TypeError for the held-out split, which only opening tells."""
        if self.num_batches is None:
            raise TypeError("the number of held-out batches is known when the feed is open")
        return self.num_batches

    def __iter__(self) -> Iterator[Row]:
        worker = get_worker_info()
        if worker is None:
            yield from self._rows(self.job, part=0, num_parts=1)
            return
        limits = msgspec.structs.replace(self.job.limits, workers=0)
        job = msgspec.structs.replace(self.job, limits=limits)
        yield from self._rows(job, part=worker.id, num_parts=worker.num_workers)

    def _rows(self, job: Job, *, part: int, num_parts: int) -> Iterator[Row]:
        """Every ``num_parts``-th batch, from batch ``part`` on."""
        last = self.num_batches
        count = None if last is None else len(range(part, last, num_parts))
        with open_feed(
            job,
            self.catalog,
            split=self.split,
            start_sample=self.start_sample + part * job.train.batch_size,
            rank=self.rank,
            world_size=self.world_size,
            batch_step=num_parts,
        ) as feed:
            yield from map(as_row, islice(feed, count))


def as_row(batch: Batch) -> Row:
    """A batch under the names of Hugging Face's video models."""
    return {
        "pixel_values": batch.frames_BTCHW,
        "labels": batch.labels_B,
    }
