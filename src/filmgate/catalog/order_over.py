"""The order of a job over a catalog: what is held out, and which columns it takes."""

from __future__ import annotations

from collections.abc import Callable

from filmgate.catalog.catalog import Catalog
from filmgate.catalog.clip_frames import Split
from filmgate.catalog.held_out import RowDivision, divide_by_sample, divide_by_split
from filmgate.catalog.make_order import make_order
from filmgate.catalog.order import Order
from filmgate.catalog.rows import PACK_CONTAINER
from filmgate.catalog.weights import read_weights
from filmgate.spec import Job
from filmgate.video import FrameTable


def order_over(
    job: Job, catalog: Catalog, split: Split, frame_table: Callable[[int], FrameTable]
) -> Order:
    """The order of a job's clips over a catalog. Raises UserError as ``make_order``."""
    rows = _row_division(job, catalog)
    needs_durations = job.clip.fps is not None and job.data.holdout > 0 and rows is None
    return make_order(
        job,
        split,
        catalog_digest=catalog.digest,
        num_frames_V=catalog.num_frames,
        duration_seconds_V=(
            catalog.column("duration_seconds").to_numpy() if needs_durations else None
        ),
        frame_table=frame_table,
        labels=lambda: catalog.labels,
        weights=lambda file: read_weights(file, catalog),
        reference_every=catalog.header.copy.reference_every if catalog.header.copy else 1,
        rows=rows,
    )


def _row_division(job: Job, catalog: Catalog) -> RowDivision | None:
    """By split where rows carry one, by sample where all are images; None: by time."""
    if catalog.column("split").null_count < catalog.num_videos:
        divided = divide_by_split(catalog.splits)
        if divided is not None:
            return divided
    if not job.data.holdout or not _are_stills(catalog):
        return None
    digests = catalog.column("content_digest").to_pylist()
    return divide_by_sample(digests, catalog.labels, job.data.holdout)


def _are_stills(catalog: Catalog) -> bool:
    """Whether every row is an image of a pack: an end of it that could be held out has none."""
    if catalog.num_videos == 0 or int(catalog.num_frames.max()) > 1:
        return False
    containers: list[str] = catalog.column("container").unique().to_pylist()
    return containers == [PACK_CONTAINER]
