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
from filmgate.train.update import stand_in

Clip = tuple[int, bytes]
"""Row of the catalog and frames."""


@torch.no_grad()
def evaluate(
    learner: Learner, batches: Iterable[Batch], *, windows_per_clip: int = 1
) -> Score | None:
    """The score over all usable clips, each counted once; None when there is none.

    A short video has fewer different clips than are asked of it; the list then repeats them, and a
    repeat tells nothing new. With several windows of a clip each window is one.
    """
    learner.model.eval()
    ranks, meter, unused = learner.ranks, learner.task.meter(), learner.task.meter()
    times_seen: Counter[Clip] = Counter()
    with learner.average.in_use() if learner.average is not None else nullcontext():
        for batch in batches:
            everyone = ranks.exchange(_clips(batch))
            new = [_new_of(clips, times_seen, windows_per_clip) for clips in everyone]
            is_new_B = torch.tensor(new[ranks.rank])
            with learner.autocast():
                if bool(is_new_B.any()):
                    given = replace(moved(batch, learner.device), valid_B=is_new_B)
                    meter.add(learner.task.module, given)
                elif learner.engine == "fsdp2" and any(map(any, new)):
                    # A pass brings the divided weights together, so that all ranks make it.
                    unused.add(learner.task.module, moved(stand_in(batch), learner.device))
    return meter.score(ranks.exchange(meter.found()))


def _clips(batch: Batch) -> list[Clip | None]:
    """(B,) what tells a clip from others; None for a masked one."""
    return [
        (int(batch.video_B[row]), batch.frame_indices_BT[row].numpy().tobytes()) if valid else None
        for row, valid in enumerate(batch.valid_B.tolist())
    ]


def _new_of(
    clips: list[Clip | None], times_seen: Counter[Clip], windows_per_clip: int
) -> list[bool]:
    """(B,) usable clips whose frames were not scored before in as many windows as there are."""
    is_new = []
    for clip in clips:
        if clip is not None:
            times_seen[clip] += 1
        is_new.append(clip is not None and times_seen[clip] <= windows_per_clip)
    return is_new
