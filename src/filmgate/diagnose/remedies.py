"""What to change, cheapest first, each with the gain to expect as an interval."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, inf

from filmgate.diagnose.bound import WASTE_SHARE, Finding
from filmgate.diagnose.feed_remedies import COPY_COMMAND, data_remedies, reads_copies
from filmgate.diagnose.gains import (
    gain_of_faster_computing,
    gain_of_rarer_saves,
    gain_of_removing,
)
from filmgate.diagnose.measured import Measured
from filmgate.diagnose.verdict import Remedy
from filmgate.units import format_bytes, format_rate, format_seconds, format_share

KINDS = ("setting", "copy", "hardware")
"""Cheapest first."""
WORTH_A_COPY_SHARE = 0.05
"""A copy that saves less of a step is not proposed; our choice."""
SAVE_SHARE_WANTED = 0.05
"""Saves may take this share of training time; our choice, half of what counts as waste."""
MOST_TIMES_RARER = 100
"""Saves are not proposed to be rarer than this at once: each factor is as much lost work."""


def find_remedies(measured: Measured, finding: Finding) -> list[Remedy]:
    """The remedies for the bound that was found; none when nothing can be said."""
    rules: dict[str, Callable[[Measured], list[Remedy]]] = {
        "data": data_remedies,
        "compute": _compute_remedies,
        "saving": _saving_remedies,
        "transfer": _transfer_remedies,
    }
    if finding.bound not in rules:
        return []
    found = rules[finding.bound](measured)
    return sorted(found, key=lambda remedy: KINDS.index(remedy.kind))


def _compute_remedies(measured: Measured) -> list[Remedy]:
    start = measured.start
    assert start is not None
    found = [_more_training_threads(measured), _larger_batch(measured), _free_cores(measured)]
    supply = measured.rates.supply_clips_per_second
    limit = (
        "the feed's supply is unknown"
        if supply is None
        else f"from {format_rate(supply, 'clips')} on the feed is the limit"
    )
    on_cpu = start.device == "cpu"
    faster = Remedy(
        kind="hardware",
        action="train on a GPU" if on_cpu else "take a faster GPU, or more of them",
        why=f"computing is {format_share(measured.utilisation)} of training time; {limit}",
        gain_low=0.0,
        gain_high=gain_of_faster_computing(measured),
        assumes="at most: computing takes no time, and the feed works as it does now",
    )
    return [remedy for remedy in (*found, faster) if remedy is not None]


def _more_training_threads(measured: Measured) -> Remedy | None:
    start, free = measured.start, measured.free_cores
    if start is None or start.device != "cpu" or not start.train_threads or free is None:
        return None
    threads = start.train_threads + int(free)
    if threads == start.train_threads:
        return None
    computing = gain_of_removing(measured, "forward", "backward", "optimizer")
    return Remedy(
        kind="setting",
        action=f"set limits.train_threads = {threads} (now {start.train_threads})",
        why=f"{int(free)} of {start.cores} cores are idle while the trainer computes",
        gain_low=0.0,
        gain_high=computing * (1 - start.train_threads / threads),
        assumes="at most: computing scales with its threads",
    )


def _larger_batch(measured: Measured) -> Remedy | None:
    start = measured.start
    fixed = gain_of_removing(measured, "optimizer", "other")
    if start is None or fixed < WASTE_SHARE:
        return None
    return Remedy(
        kind="setting",
        action=f"double train.batch_size to {2 * start.batch_size} and halve train.steps",
        why=f"optimizer and unaccounted time are {format_share(fixed)} of training time, "
        "and are paid per step, not per clip",
        gain_low=0.0,
        gain_high=fixed / 2,
        assumes="at most: that time stays the same per step; the gain is per clip",
        costs="learning changes with the batch size: compare the held-out score",
    )


def _free_cores(measured: Measured) -> Remedy | None:
    """On a CPU that trainer and workers share, less decoding leaves more for computing."""
    wanted, cores, start = measured.rates.cores_wanted, measured.rates.cores, measured.start
    if not measured.is_contended or wanted is None or cores is None or start is None:
        return None
    if start.device != "cpu" or reads_copies(measured):
        return None
    taken = measured.rates.worker_cpu_cores
    high = gain_of_removing(measured, "forward", "backward", "optimizer")
    high *= (1 - cores / wanted) if taken is None else min(1.0, taken / cores)
    if high < WORTH_A_COPY_SHARE:
        return None
    used = "" if taken is None else f", and the workers compute on {taken:.1f} of them"
    return Remedy(
        kind="copy",
        action=f"make a training copy at the training size {COPY_COMMAND}, so that decoding "
        "leaves the cores free",
        why=f"trainer and workers want {wanted:.1f} cores and have {cores}{used}",
        gain_low=0.0,
        gain_high=high,
        assumes="at most: the workers need no core at all, and computing gets theirs",
        costs="disk space, and one pass over the videos",
    )


def _saving_remedies(measured: Measured) -> list[Remedy]:
    saves = measured.history.saves
    share = measured.shares["save"]
    wanted = SAVE_SHARE_WANTED / (1 - SAVE_SHARE_WANTED)
    over = share / (1 - share) / wanted if share < 1 else inf
    times = min(MOST_TIMES_RARER, max(2, ceil(over))) if over < inf else MOST_TIMES_RARER
    stalls = [save.stall_seconds for save in saves]
    mean = sum(stalls) / len(stalls)
    high = gain_of_rarer_saves(measured, times)
    return [
        Remedy(
            kind="setting",
            action=f"set train.commit_every_steps to {times} times what it is",
            why=f"each save stops training for {format_seconds(mean)}, in all "
            f"{format_share(share)} of training time",
            gain_low=high * min(stalls) / mean,
            gain_high=high,
            assumes=f"share of saves x (1 - 1 / {times}); at least: every stall as short as the "
            "shortest seen",
            costs=f"a kill loses up to {times} times as much work",
        ),
        Remedy(
            kind="hardware",
            action="put the run folder on a faster disk",
            why=f"a save of {_mean_save_bytes(measured)} takes {format_seconds(mean)}",
            gain_low=0.0,
            gain_high=gain_of_removing(measured, "save"),
            assumes="at most: saves take no time",
        ),
    ]


def _mean_save_bytes(measured: Measured) -> str:
    saves = measured.history.saves
    return format_bytes(sum(save.bytes for save in saves) / len(saves))


def _transfer_remedies(measured: Measured) -> list[Remedy]:
    start = measured.start
    assert start is not None
    share = measured.shares["transfer"]
    seconds = format_seconds(share * measured.step_seconds)
    if start.device == "cpu":
        action = "train on a GPU, which converts clips to float as it computes"
        why = f"converting clips to float takes {seconds} a step, {format_share(share)}"
    else:
        action = "check the GPU's link: generation and width now against what it can do"
        bytes_per_step = start.batch_size * start.clip_bytes / start.world_size
        rate = format_bytes(bytes_per_step / (share * measured.step_seconds))
        why = f"{format_bytes(bytes_per_step)} a step take {seconds}, that is {rate}/s"
    return [
        Remedy(
            kind="hardware",
            action=action,
            why=why,
            gain_low=0.0,
            gain_high=gain_of_removing(measured, "transfer"),
            assumes="at most: transfer takes no time",
        )
    ]
