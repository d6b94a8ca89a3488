"""The rules: which part holds the run back, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass

from filmgate.diagnose.budget import accelerator_utilisation, training_shares
from filmgate.diagnose.measured import Measured
from filmgate.diagnose.verdict import Bound, Confidence
from filmgate.units import format_seconds, format_share

MIN_STEPS = 20
"""Fewer counted steps say nothing. Source: TraceML 0.5 judges from 20 steps on."""
WASTE_SHARE = 0.10
"""A part other than computing that takes this share of training time holds the run back. Source:
TraceML 0.5 warns at .10 of step time for input wait, transfer and residual."""
CLEAR_WASTE_SHARE = 0.20
"""From here on it is clear. Source: TraceML 0.5, critical at .20."""
CLEAR_COMPUTE_SHARE = 0.90
"""AU from which a run is clearly compute-bound. Source: MLPerf Storage v2.0 passes at 90 % AU
(unet3d, resnet50); TraceML 0.5 says the same of its compute share."""
CLOCK_TOLERANCE = 0.01
"""By how much the parts may exceed the step before the times contradict each other; our choice,
far above the resolution of the clocks and far below any threshold."""
UNEVEN_RATIO = 1.10
"""Supply over demand from which data wait is not a lack of supply; our choice: the repeats of the
design measurements differ by up to 15 %, and this errs towards naming the supply."""
READY_WAIT_SHARE = 0.5
"""Share of data wait at steps whose batch lay ready from which the wait contradicts the queue; our
choice: beyond it, most of the wait cannot be the feed's lateness."""

WASTES: dict[str, Bound] = {"data_wait": "data", "transfer": "transfer", "save": "saving"}
"""Part -> what the run is bound by when this part is the largest waste."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What the rules found."""

    bound: Bound
    confidence: Confidence
    reason: str
    """Why nothing can be said; empty otherwise."""
    what_would_tell: str | None = None


def find_bound(measured: Measured) -> Finding:
    """The largest of data wait, transfer and saving from ``WASTE_SHARE`` on, otherwise compute.

    "cannot say" when too few steps count, when the times contradict each other, or when most of
    what is lost is in none of the measured parts.
    """
    doubt = _doubt(measured)
    if doubt is not None:
        return Finding(
            bound="cannot say", confidence="low", reason=doubt[0], what_would_tell=doubt[1]
        )
    bound = bound_of(measured.shares)
    return Finding(bound=bound, confidence=_confidence(measured, bound), reason="")


def bound_of(shares: dict[str, float]) -> Bound:
    """The rule alone, on shares of training time."""
    name = max(WASTES, key=lambda part: shares[part])
    return WASTES[name] if shares[name] >= WASTE_SHARE else "compute"


def is_uneven(measured: Measured) -> bool:
    """Whether the workers could give more than the trainer takes, and it waits all the same.

    Then single slow clips, or a queue too short to ride over them, make the wait.
    """
    demand = measured.rates.demand_clips_per_second
    supply = measured.rates.supply_clips_per_second
    if demand is None or supply is None or not measured.start or not measured.start.num_workers:
        return False
    return supply > demand * UNEVEN_RATIO


def halves_agree(measured: Measured) -> bool:
    """Whether the first and the second half of the counted steps have the same bound.

    They differ when a cache warms up, a disk fills or another program starts.
    """
    steps, saves = measured.history.steps, measured.history.saves
    middle = steps[len(steps) // 2].step
    bounds = {
        bound_of(
            training_shares(
                [step for step in steps if (step.step < middle) == first],
                [save for save in saves if (save.step < middle) == first],
            )
        )
        for first in (True, False)
    }
    return len(bounds) == 1


def _doubt(measured: Measured) -> tuple[str, str] | None:
    shares = measured.shares
    if measured.num_steps < MIN_STEPS:
        count = measured.num_steps
        return (
            f"{count} {'step counts' if count == 1 else 'steps count'} after warm-up, "
            f"and {MIN_STEPS} are needed",
            f"run at least {MIN_STEPS + 10} steps without a change of settings",
        )
    if measured.step_seconds <= 0 or accelerator_utilisation(shares) <= 0:
        return ("the telemetry shows no time spent computing", "check the trainer's own clock")
    if shares["other"] < -CLOCK_TOLERANCE:
        return (
            f"the parts add up to {format_share(-shares['other'])} more than the steps they are of",
            "check how the trainer takes its times: a part is counted twice",
        )
    if shares["other"] >= CLEAR_WASTE_SHARE and shares["other"] >= max(shares[x] for x in WASTES):
        return (
            f"{format_share(shares['other'])} of training time is in none of the measured parts",
            "profile the training process between the parts, for example with py-spy",
        )
    return _contradiction(measured)


def _contradiction(measured: Measured) -> tuple[str, str] | None:
    """Most of a large data wait fell on batches that lay ready: queue and clock disagree."""
    if bound_of(measured.shares) != "data":
        return None
    ready = ready_wait_share(measured)
    if ready < READY_WAIT_SHARE or not measured.start or not measured.start.num_workers:
        return None
    wait = format_seconds(measured.data_wait_seconds)
    return (
        f"the trainer waited {wait} a step for data, yet {format_share(ready)} of that wait "
        "fell on steps whose batch lay finished in the queue",
        "measure the hand-over itself: run once with workers = 0, or profile the training process",
    )


def ready_wait_share(measured: Measured) -> float:
    """Share of all data wait that fell on steps whose batch was finished when asked for."""
    steps = measured.history.steps
    waited = sum(step.data_wait_seconds for step in steps)
    ready = sum(step.data_wait_seconds for step in steps if step.feed_queue_batches > 0)
    return ready / waited if waited > 0 else 0.0


def _confidence(measured: Measured, bound: Bound) -> Confidence:
    if not halves_agree(measured):
        return "low"
    if bound == "compute":
        clear = accelerator_utilisation(measured.shares) >= CLEAR_COMPUTE_SHARE
        return "high" if clear else "medium"
    part = next(name for name, waste in WASTES.items() if waste == bound)
    if measured.shares[part] < CLEAR_WASTE_SHARE:
        return "medium"
    if bound == "data" and not _data_is_clear(measured):
        return "medium"
    return "high"


def _data_is_clear(measured: Measured) -> bool:
    known = measured.rates.supply_clips_per_second is not None
    return known and not is_uneven(measured) and not measured.is_contended
