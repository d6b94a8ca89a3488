"""Why a run has no held-out score."""

from __future__ import annotations

from filmgate.catalog import Catalog
from filmgate.catalog.order_over import order_over
from filmgate.feed.targets import choose_targets
from filmgate.spec import Job

ALL_FAILED = "every held-out clip failed"
NO_CLASSES = "the model does not sort clips into classes"


def why_unscored(job: Job, catalog: Catalog) -> str | None:
    """One clause; None where there are held-out clips of classes that were trained on."""
    order = order_over(job, catalog, "holdout", catalog.frame_table)
    if order.rows is not None and choose_targets(job.data.target, catalog).kind == "source":
        return "the classes are the videos, and those that are held out were not trained on"
    if order.num_held_out:
        return None
    if order.rows is not None:
        return "there are too few images to hold one out"
    if job.data.holdout == 0:
        return "data.holdout is 0"
    return "no video is long enough to give a whole clip on both sides of the held-out border"
