"""The verdict as one sentence a person can act on."""

from __future__ import annotations

from collections.abc import Sequence

from filmgate.diagnose.bound import CLEAR_COMPUTE_SHARE, Finding, is_uneven
from filmgate.diagnose.measured import Measured
from filmgate.diagnose.verdict import Remedy
from filmgate.units import counted, format_rate, format_seconds, format_share


def sentence(measured: Measured, finding: Finding) -> str:
    """One sentence with the numbers that decide."""
    if finding.bound == "cannot say":
        return f"Cannot say what holds this run back: {finding.reason}."
    shown = {"data": _data, "compute": _compute, "saving": _saving, "transfer": _transfer}
    return shown[finding.bound](measured)


def change_first(remedies: Sequence[Remedy], finding: Finding) -> str:
    """The first remedy and its gain, or what to do when there is none."""
    if finding.bound == "cannot say":
        return _capitalised(finding.what_would_tell or "nothing") + "."
    if not remedies:
        return "Nothing that the telemetry can name."
    first = remedies[0]
    return f"{_capitalised(first.action)}. Expected: {format_gain(first)} off each step."


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def format_gain(remedy: Remedy) -> str:
    """``0 to 38 %``."""
    low, high = format_share(remedy.gain_low), format_share(remedy.gain_high)
    if remedy.gain_low <= 0:
        return f"at most {high}"
    return high if low == high else f"{low.removesuffix(' %')} to {high}"


def _data(measured: Measured) -> str:
    rates, start = measured.rates, measured.start
    assert start is not None
    waited = (
        f"Data-bound: the trainer waited for data {format_share(measured.shares['data_wait'])} of "
        f"the time; it would take {format_rate(rates.demand_clips_per_second, 'clips')} and got "
        f"{format_rate(rates.delivered_clips_per_second, 'clips')}"
    )
    return f"{waited}, {_why_late(measured, start.num_workers)}."


def _why_late(measured: Measured, num_workers: int) -> str:
    stage = _stage(measured)
    supply = measured.rates.supply_clips_per_second
    if num_workers == 0:
        return f"because the training process decodes itself, {stage}"
    readers = counted(num_workers, "worker")
    if supply is None:
        return f"and what its {readers} could give is unknown: {measured.rates.supply_reason}"
    if is_uneven(measured):
        return (
            f"although {readers} could give {format_rate(supply, 'clips')}: the queue is "
            "too short for the slowest clips"
        )
    shared = " on cores shared with the trainer" if measured.is_contended else ""
    demand = measured.rates.demand_clips_per_second
    amount = "only " if demand is None or supply < demand else "no more than "
    return f"because {readers} can give {amount}{format_rate(supply, 'clips')}{shared}, {stage}"


def _stage(measured: Measured) -> str:
    if not measured.stages:
        return "in stages that the telemetry does not name"
    largest = measured.stages[0]
    ratio = measured.rates.frames_decoded_per_frame_delivered
    said = f"with {format_share(largest.share)} of the work in {largest.name}"
    if ratio is not None and largest.name == "decode":
        said += f" ({ratio:.1f} frames decoded per frame delivered)"
    return said


def _compute(measured: Measured) -> str:
    rates = measured.rates
    demand = format_rate(rates.demand_clips_per_second, "clips")
    feed = "what the feed could give is unknown"
    if rates.supply_clips_per_second is not None:
        supply = format_rate(rates.supply_clips_per_second, "clips")
        feed = f"the feed could give {supply} and the trainer takes {demand}"
    clear = (measured.utilisation or 0.0) >= CLEAR_COMPUTE_SHARE
    return (
        f"Compute-bound{', as it should be' if clear else ''}: computing is "
        f"{format_share(measured.utilisation)} of training time and "
        f"waiting for data {format_share(measured.shares['data_wait'])}; {feed}, so a faster feed "
        "would gain next to nothing."
    )


def _saving(measured: Measured) -> str:
    saves = measured.history.saves
    mean = sum(save.stall_seconds for save in saves) / len(saves)
    return (
        f"Bound by saving: {len(saves)} saves stopped training for {format_seconds(mean)} each, "
        f"{format_share(measured.shares['save'])} of training time, while waiting for data took "
        f"{format_share(measured.shares['data_wait'])}."
    )


def _transfer(measured: Measured) -> str:
    share = measured.shares["transfer"]
    start = measured.start
    on_cpu = start is not None and start.device == "cpu"
    what = "converting clips to float" if on_cpu else "copying clips to the device"
    return (
        f"Bound by transfer: {what} takes {format_seconds(share * measured.step_seconds)} a step, "
        f"{format_share(share)} of training time, while waiting for data took "
        f"{format_share(measured.shares['data_wait'])}."
    )
