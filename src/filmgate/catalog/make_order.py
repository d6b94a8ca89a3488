"""The order that a job gives over a catalog.

V videos.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from filmgate.catalog.clip_frames import ClipFrames, Split
from filmgate.catalog.held_out import RowDivision
from filmgate.catalog.order import Order
from filmgate.catalog.order_facts import OrderFacts, order_facts
from filmgate.catalog.turns import balanced_weights
from filmgate.errors import UserError
from filmgate.records import digest_bytes
from filmgate.spec import Job
from filmgate.video import FrameTable


def make_order(
    job: Job,
    split: Split,
    *,
    catalog_digest: str,
    num_frames_V: NDArray[np.int64],
    duration_seconds_V: NDArray[np.float64] | None = None,
    frame_table: Callable[[int], FrameTable] | None = None,
    labels: Callable[[], list[str | None]] | None = None,
    weights: Callable[[Path], NDArray[np.float64]] | None = None,
    reference_every: int = 1,
    rows: RowDivision | None = None,
) -> Order:
    """The order that a job gives over a catalog.

    Clips by ``fps`` need ``frame_table``, and ``duration_seconds_V`` to hold anything out;
    ``weights = "class-balanced"`` needs ``labels``; weights in a CSV file need ``weights``, which
    reads them. ``reference_every`` is the training copies' (``CopyFacts``). ``rows`` holds out
    whole rows, in place of the end of each.

    Raises UserError when the catalog is empty, when a video is shorter than one clip and ``short``
    is ``raise``, and when all that may be trained on weighs nothing.
    """
    if len(num_frames_V) == 0:
        raise UserError("the catalog holds no video", hint="index a folder that holds videos")
    clip, data = job.clip, job.data
    clip_frames = ClipFrames(
        num_frames_V=num_frames_V,
        frames=clip.frames,
        stride=clip.stride,
        fps=clip.fps,
        holdout=data.holdout,
        short=data.short,
        duration_seconds_V=duration_seconds_V,
        frame_table=frame_table,
    )
    weights_V, weights_digest = None, None
    if data.weights == "class-balanced" and split == "train":
        assert labels is not None
        weights_V = _balanced(labels(), rows)
    elif data.weights != "equal" and split == "train":
        assert weights is not None
        weights_V = weights(Path(data.weights))
        weights_digest = digest_bytes(weights_V.astype("<f8").tobytes())
        weights_V = _of_trained(weights_V, rows)
    facts = order_facts(job, split, catalog_digest, weights_digest, reference_every)
    if rows is not None:
        facts = _with_rows(facts, rows, num_frames_V)
    order = Order(facts=facts, clip_frames=clip_frames, weights_V=weights_V, rows=rows)
    order.refuse_short()
    return order


def _with_rows(facts: OrderFacts, rows: RowDivision, num_frames_V: NDArray[np.int64]) -> OrderFacts:
    """Facts that say what divides the rows. An image has one clip, however many are asked."""
    are_stills = int(num_frames_V.max()) == 1
    num_clips = 1 if are_stills else facts.eval_clips_per_video
    return msgspec.structs.replace(facts, held_out_by=rows.by, eval_clips_per_video=num_clips)


def _balanced(labels: list[str | None], rows: RowDivision | None) -> NDArray[np.float64]:
    """Weights that balance the labels of what is trained on."""
    if rows is None:
        return balanced_weights(labels)
    weights_V = np.zeros(len(labels))
    trained = rows.trained_rows
    weights_V[trained] = balanced_weights([labels[row] for row in trained.tolist()])
    return weights_V


def _of_trained(weights_V: NDArray[np.float64], rows: RowDivision | None) -> NDArray[np.float64]:
    """Weights without those of rows that are not trained on."""
    if rows is None:
        return weights_V
    weights_V = np.where(rows.is_trained_V, weights_V, 0.0)
    if not weights_V.any():
        raise UserError(
            f"all {len(rows.trained_rows)} videos that are not held out have weight 0",
            hint="give some of them a weight above 0",
        )
    return weights_V
