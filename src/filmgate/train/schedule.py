"""The learning rate of each step: pure functions, so there is no scheduler to lose the state of."""

from __future__ import annotations

import math

from filmgate.spec import Job, Train


def learning_rate_at(step: int, job: Job) -> float:
    """The rate of update ``step``, from 1 to the job's steps."""
    train = job.train
    if train.schedule == "cosine":
        return train.learning_rate * _half_cosine(train, step, first=1)
    warm_up = max(1, round(train.warm_up_share * train.steps))
    if step <= warm_up:
        return train.learning_rate * (step / warm_up)
    if train.schedule == "constant":
        return train.learning_rate
    return train.learning_rate * _half_cosine(train, step, first=warm_up)


def _half_cosine(train: Train, step: int, first: int) -> float:
    """1 at step ``first``, ``final_share`` at the last."""
    if step == first:
        return 1.0
    place = (step - first) / (train.steps - first)
    return train.final_share + (1 - train.final_share) * (1 + math.cos(math.pi * place)) / 2
