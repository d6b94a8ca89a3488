"""What a change can gain at most: Amdahl's bound and the feed's period.

Every gain is a share of the mean step time with saves in it (``Measured.step_seconds``). In the
steady state a step takes the longer of two times: the trainer's own (step without data wait) and
the feed's period (clips per step / supply). Source: Amdahl 1967 for the bound; the pipeline model
is DS-Analyzer's (Mohan et al., VLDB 2021), where the stall is what the slower side adds. Known
error: a change on the feed's side that frees cores can speed up training on the same cores too,
which is not counted.
"""

from __future__ import annotations

from filmgate.diagnose.measured import Measured


def gain_of_removing(measured: Measured, *parts: str) -> float:
    """All time of the parts gone: their share."""
    return sum(max(0.0, measured.shares[part]) for part in parts)


def gain_of_faster_feed(measured: Measured, times: float) -> float:
    """Supply multiplied by ``times`` (>= 1): at most the share of data wait.

    New step = max(own time, step / times): a data-bound step takes as long as the feed's period.
    Without workers the two follow each other: new step = own time + data wait / times.
    """
    step = measured.step_seconds * (1 - measured.shares["save"])
    own = step - measured.data_wait_seconds
    serial = measured.start is not None and measured.start.num_workers == 0
    new = own + measured.data_wait_seconds / times if serial else max(own, step / times)
    return _within((step - new) / measured.step_seconds, measured.shares["data_wait"])


def gain_of_overlap(measured: Measured, num_workers: int) -> float:
    """Decoding moved from the training process to ``num_workers`` workers: at most the data wait.

    New step = max(own time, data wait / workers): the two run at the same time, on free cores.
    """
    step = measured.step_seconds * (1 - measured.shares["save"])
    own = step - measured.data_wait_seconds
    new = max(own, measured.data_wait_seconds / num_workers)
    return _within((step - new) / measured.step_seconds, measured.shares["data_wait"])


def gain_of_faster_computing(measured: Measured) -> float:
    """Computing in no time: its share, but a step never gets shorter than the feed's period."""
    computing = gain_of_removing(measured, "forward", "backward", "optimizer")
    supply, start = measured.rates.supply_clips_per_second, measured.start
    if supply is None or start is None:
        return computing
    step = measured.step_seconds * (1 - measured.shares["save"])
    period = start.batch_size / supply
    return _within((step - period) / measured.step_seconds, computing)


def gain_of_rarer_saves(measured: Measured, times: float) -> float:
    """A save every ``times`` as many steps: its share x (1 - 1 / times)."""
    return gain_of_removing(measured, "save") * (1 - 1 / times)


def _within(gain: float, bound: float) -> float:
    """A gain is never negative and never more than the part that shrinks."""
    return min(max(0.0, gain), max(0.0, bound))
