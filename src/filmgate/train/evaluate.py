"""The score over the held-out clips.

B clips.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import replace

import torch

from filmgate.feed import Batch
from filmgate.train.inputs import moved
from filmgate.train.learner import Learner
from filmgate.train.task import Score


@torch.no_grad()
def evaluate(
    learner: Learner, batches: Iterable[Batch], *, windows_per_clip: int = 1
) -> Score | None:
    """The score over all usable clips, each counted once; None when there is none.

    A short video has fewer different clips than are asked of it; the list then repeats them, and a
    repeat tells nothing new. With several windows of a clip each window is one.
    """
    learner.model.eval()
    meter = learner.task.meter()
    times_seen: Counter[tuple[int, bytes]] = Counter()
    with learner.average.in_use() if learner.average is not None else nullcontext():
        for batch in batches:
            is_new_B = _is_new(batch, times_seen, windows_per_clip)
            if bool(is_new_B.any()):
                with learner.autocast():
                    new = replace(moved(batch, learner.device), valid_B=is_new_B)
                    meter.add(learner.task.module, new)
    return meter.score([meter.found()])


def _is_new(
    batch: Batch, times_seen: Counter[tuple[int, bytes]], windows_per_clip: int
) -> torch.Tensor:
    """(B,) usable clips whose frames were not scored before in as many windows as there are."""
    is_new_B = batch.valid_B.clone()
    for row in range(len(is_new_B)):
        clip = int(batch.video_B[row]), batch.frame_indices_BT[row].numpy().tobytes()
        times_seen[clip] += 1
        is_new_B[row] &= times_seen[clip] <= windows_per_clip
    return is_new_B
