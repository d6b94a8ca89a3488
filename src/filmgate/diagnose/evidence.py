"""What speaks for the verdict and what against it, one sentence each."""

from __future__ import annotations

from filmgate.diagnose.bound import (
    CLEAR_COMPUTE_SHARE,
    WASTE_SHARE,
    WASTES,
    Finding,
    halves_agree,
    is_uneven,
)
from filmgate.diagnose.feed_remedies import CPU_LIMITED_SHARE
from filmgate.diagnose.measured import Measured
from filmgate.diagnose.verdict import Evidence
from filmgate.units import format_rate, format_seconds, format_share


def gather_evidence(measured: Measured, finding: Finding) -> list[Evidence]:
    """Every observation the rules looked at, in the order in which they weigh."""
    rows: list[Evidence | None] = [_counted(measured), _videos(measured)]
    if measured.num_steps:
        rows += [
            _wastes(measured, finding),
            _utilisation(measured, finding),
            _supply(measured, finding),
            _queue(measured, finding),
            _workers(measured, finding),
            _cores(measured),
            _processor(measured),
            _halves(measured, finding),
            _evaluation(measured),
        ]
    return [row for row in rows if row is not None]


def _counted(measured: Measured) -> Evidence:
    left_out = [f"{some.steps} ({some.reason})" for some in measured.history.left_out]
    return Evidence(
        name="steps counted",
        says=f"{measured.num_steps} steps count"
        + (f"; left out: {', '.join(left_out)}" if left_out else ""),
        supports=None,
    )


def _wastes(measured: Measured, finding: Finding) -> Evidence:
    wastes = ", ".join(
        f"{name.replace('_', ' ')} {format_share(measured.shares[name])}" for name in WASTES
    )
    return Evidence(
        name="what is not computing",
        says=f"of training time: {wastes}, unaccounted {format_share(measured.shares['other'])}; "
        f"from {format_share(WASTE_SHARE)} on a part holds the run back",
        supports=None if finding.bound == "cannot say" else True,
    )


def _utilisation(measured: Measured, finding: Finding) -> Evidence:
    share = measured.utilisation or 0.0
    is_high = share >= CLEAR_COMPUTE_SHARE
    return Evidence(
        name="accelerator utilisation",
        says=f"AU is {format_share(share)}, "
        f"{'at or above' if is_high else 'below'} the {format_share(CLEAR_COMPUTE_SHARE)} "
        "that MLPerf Storage asks for",
        supports=_supports(finding, compute=is_high, other=not is_high),
    )


def _supply(measured: Measured, finding: Finding) -> Evidence:
    rates = measured.rates
    demand = format_rate(rates.demand_clips_per_second, "clips")
    delivered = format_rate(rates.delivered_clips_per_second, "clips")
    note = f" ({rates.supply_reason})" if rates.supply_reason else ""
    says = (
        f"the trainer would take {demand} and got {delivered}; "
        f"the feed could give {format_rate(rates.supply_clips_per_second, 'clips')}{note}"
    )
    supports = None
    if rates.supply_clips_per_second is not None and rates.demand_clips_per_second is not None:
        enough = rates.supply_clips_per_second >= rates.demand_clips_per_second
        serial = measured.start is not None and measured.start.num_workers == 0
        supports = _supports(finding, compute=enough, data=serial or not enough)
    if is_uneven(measured) and finding.bound == "data":
        says += ": it waits for the slowest clips, not for want of supply"
    return Evidence(name="demand and supply", says=says, supports=supports)


def _queue(measured: Measured, finding: Finding) -> Evidence | None:
    if measured.start is None or measured.start.num_workers == 0:
        return None
    fills = [step.feed_queue_batches for step in measured.history.steps]
    empty = sum(fill == 0 for fill in fills) / len(fills)
    return Evidence(
        name="queue",
        says=f"a finished batch lay ready at {format_share(1 - empty)} of the steps; "
        f"on average there were {sum(fills) / len(fills):.1f}",
        supports=_supports(finding, compute=empty < 0.5, data=empty >= 0.5),
    )


def _workers(measured: Measured, finding: Finding) -> Evidence | None:
    busy = measured.rates.worker_busy_share
    if busy is None or not measured.stages:
        return None
    largest = measured.stages[0]
    ratio = measured.rates.frames_decoded_per_frame_delivered
    return Evidence(
        name="workers",
        says=f"the workers were busy {format_share(busy)} of their time, "
        f"{format_share(largest.share)} of it in {largest.name}"
        + ("" if ratio is None else f"; {ratio:.1f} frames were decoded per frame delivered"),
        supports=_supports(finding, compute=busy < CPU_LIMITED_SHARE, data=busy >= 0.9),
    )


def _cores(measured: Measured) -> Evidence | None:
    wanted, cores, start = measured.rates.cores_wanted, measured.rates.cores, measured.start
    if start is None:
        return None
    if wanted is None or cores is None:
        says = "whether trainer and workers get in each other's way is unknown: the telemetry does "
        return Evidence(name="cores", says=says + "not tell cores and threads", supports=None)
    if measured.is_contended:
        says = (
            f"trainer and workers want {wanted:.1f} cores and have {cores}: they slow each other "
        )
        says += "down, so every time above is longer than it would be alone"
    else:
        says = f"trainer and workers keep {wanted:.1f} of {cores} cores busy"
    return Evidence(name="cores", says=says, supports=None)


def _processor(measured: Measured) -> Evidence | None:
    share = measured.rates.worker_cpu_share
    if share is None:
        return None
    limit = "the processor is their limit"
    if share < CPU_LIMITED_SHARE:
        limit = "the rest they waited for " + (
            "a core or for storage" if measured.is_contended else "storage"
        )
    return Evidence(
        name="disk or processor",
        says=f"the workers computed for {format_share(share)} of their busy time: {limit}",
        supports=None,
    )


def _videos(measured: Measured) -> Evidence | None:
    if measured.start is None:
        return None
    layout = measured.start.copy_layout
    says = "clips were read from the videos as they are, not from a training copy"
    if layout is not None:
        says = f"clips were read from a training copy, {layout}"
    return Evidence(name="videos", says=says, supports=None)


def _halves(measured: Measured, finding: Finding) -> Evidence | None:
    if finding.bound == "cannot say":
        return None
    agree = halves_agree(measured)
    return Evidence(
        name="steady",
        says="the first and the second half of the steps say the same"
        if agree
        else "the first and the second half of the steps disagree: something changed during the "
        "run, such as a cache filling",
        supports=agree,
    )


def _evaluation(measured: Measured) -> Evidence | None:
    part = next(part for part in measured.budget if part.name == "evaluation")
    if part.share < WASTE_SHARE:
        return None
    return Evidence(
        name="evaluation",
        says=f"evaluation took {format_seconds(part.total_seconds)}, {format_share(part.share)} of "
        "all counted time, on top of training",
        supports=None,
    )


def _supports(finding: Finding, **when: bool) -> bool | None:
    """What the observation says about the bound found; ``other`` is any but compute."""
    if finding.bound == "cannot say":
        return None
    if finding.bound in when:
        return when[finding.bound]
    return None if finding.bound == "compute" else when.get("other")
