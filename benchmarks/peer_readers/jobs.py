"""The job of filmgate's feed in the comparison, and the clips that it asks for."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.footage import CLIP_SIZE
from benchmarks.peer_readers.clips import CLIP_FRAMES, STRIDE, Clip
from filmgate.catalog import Catalog
from filmgate.catalog.order_over import order_over
from filmgate.spec import Clip as ClipSpec
from filmgate.spec import Data, Job, Limits, Train

BATCH_CLIPS = 4
CACHE = "4GB"
"""Room for every clip that a look-ahead makes early, and for all frames of the source videos."""


def feed_job(*, workers: int = 0, lookahead: int = 1, cache: str | None = None) -> Job:
    """Whole frames at the clips' size, neither mirrored nor cut at random, as the others do."""
    width, height = CLIP_SIZE
    return Job(
        clip=ClipSpec(
            frames=CLIP_FRAMES,
            stride=STRIDE,
            height=height,
            width=width,
            crop="centre",
            flip=False,
        ),
        data=Data(holdout=0.0, target="source", lookahead=lookahead),
        train=Train(batch_size=BATCH_CLIPS),
        limits=Limits(workers=workers, prefetch_batches=2 * max(1, workers), cache=cache),
    )


def feed_clips(catalog: Catalog, rows: Sequence[int], count: int) -> list[Clip]:
    """The first clips of the feed, in its order, for others to read the same.

    ``rows`` has the catalog's row of each video of the benchmark.
    """
    order = order_over(feed_job(), catalog, "train", catalog.frame_table)
    return [
        Clip(video=rows.index(sample.video), frames=sample.frame_indices_T.tolist())
        for sample in map(order.sample, range(count))
    ]
