"""The order that a job gives over a catalog.

V videos.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from filmgate.catalog.clip_frames import ClipFrames, Split
from filmgate.catalog.order import Order
from filmgate.catalog.order_facts import order_facts
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
) -> Order:
    """The order that a job gives over a catalog.

    Clips by ``fps`` need ``frame_table``, and ``duration_seconds_V`` to hold anything out;
    ``weights = "class-balanced"`` needs ``labels``; weights in a CSV file need ``weights``, which
    reads them. ``reference_every`` is the training copies' (``CopyFacts``).

    Raises UserError when the catalog is empty, or when a video is shorter than one clip and
    ``short`` is ``raise``.
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
        weights_V = balanced_weights(labels())
    elif data.weights != "equal" and split == "train":
        assert weights is not None
        weights_V = weights(Path(data.weights))
        weights_digest = digest_bytes(weights_V.astype("<f8").tobytes())
    facts = order_facts(job, split, catalog_digest, weights_digest, reference_every)
    order = Order(facts=facts, clip_frames=clip_frames, weights_V=weights_V)
    order.refuse_short()
    return order
