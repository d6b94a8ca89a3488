"""A soak summed up: a pure function of its lines, whether it has come to its end or not."""

from __future__ import annotations

from pathlib import Path

from filmgate.errors import UserError
from filmgate.machine.soak.counted import Count, Event, counts_of, events_of
from filmgate.machine.soak.findings import findings_of
from filmgate.machine.soak.lines import DONE, Load, Sample, SoakEnd, SoakStart, read_lines
from filmgate.machine.soak.rows import FELL, Finding, Seen
from filmgate.machine.soak.series import OTHERS, THROUGHPUT, all_series
from filmgate.machine.soak.windows import Curve, Windows, curve_of, windows_of
from filmgate.records import Header, Record
from filmgate.units import format_seconds, format_share

CONVENTION_SECONDS = 1800.0
BUSY_SHARE = 0.10
LEAST_SAMPLES = 4


class Soak(Record, frozen=True):
    """What ``filmgate soak`` found."""

    header: Header
    """Its input is the digest of the environment."""
    note: str
    """What the user says of it."""
    load: Load
    """What kept the machine busy."""
    seconds: float
    """From the load's first step to the last sample."""
    planned_seconds: float
    """How long it was to go on."""
    ended: str | None
    """``done``, or what ended it before its time; null while it goes on."""
    num_samples: int
    """Moments that were looked at."""
    windows: Windows
    """What is compared."""
    verdict: str
    """The sentence to read."""
    is_sustained: bool | None
    """Whether throughput held; null where the soak cannot tell, or drew no load."""
    findings: list[Finding]
    """The worst first."""
    curves: list[Curve]
    """Everything that moved, throughput first."""
    events: list[Event]
    """Slow-downs and links that dropped."""
    counts: list[Count]
    """Errors."""
    warnings: list[str]
    """What makes the figures weak."""
    unknown: dict[str, str]
    """What could not be read -> why."""


def read_soak(path: Path) -> Soak:
    """The soak in a file so far. Raises UserError for a file that holds none, or too little yet."""
    return summed_up(*read_lines(path))


def summed_up(start: SoakStart, samples: list[Sample], end: SoakEnd | None) -> Soak:
    """Raises UserError for fewer than four samples."""
    if len(samples) < LEAST_SAMPLES:
        raise UserError(
            f"the soak has {len(samples)} samples, and {LEAST_SAMPLES} are the least"
            + (f"; it ended: {end.why}" if end and end.why != DONE else ""),
            hint="let it run longer, or sample more often with --every",
        )
    seconds = samples[-1].seconds
    windows = windows_of(seconds)
    curves = [curve_of(series, windows) for series in all_series(start.load, samples)]
    events, counts = events_of(samples), counts_of(start, samples)
    by_name = {curve.name: curve for curve in curves}
    seen = Seen(
        load_kind=start.load.kind,
        curves=by_name,
        events={one.name: one for one in events},
        counts={one.name: one for one in counts},
        default_watts={
            gpu.index: gpu.power_limit_default_watts
            for gpu in start.gpus if gpu.power_limit_default_watts is not None
        },
        gpus=[gpu.index for gpu in start.gpus],
    )  # fmt: skip
    findings = findings_of(seen)
    sustained = _sustained(by_name.get(THROUGHPUT))
    return Soak(
        header=_header(start),
        note=start.note, load=start.load, seconds=seconds, planned_seconds=start.planned_seconds,
        ended=end.why if end else None, num_samples=len(samples), windows=windows,
        verdict=_verdict(start.load, by_name.get(THROUGHPUT), sustained, findings),
        is_sustained=sustained, findings=findings, curves=curves, events=events, counts=counts,
        warnings=_warnings(start, seconds, end, by_name.get(OTHERS)), unknown=start.unknown,
    )  # fmt: skip


def _header(start: SoakStart) -> Header:
    return Header(
        schema="filmgate.soak",
        schema_version=1,
        inputs={"environment": start.environment.header.inputs["environment"]},
    )


def _sustained(curve: Curve | None) -> bool | None:
    """Lost less than is worth a word, or more; None where the interval holds both."""
    if curve is None or curve.change is None or curve.low is None:
        return None
    if curve.is_different and curve.change <= -FELL:
        return False
    return True if curve.low > -FELL else None


def _verdict(
    load: Load, curve: Curve | None, sustained: bool | None, findings: list[Finding]
) -> str:
    if load.kind == "none":
        said = "what ran meanwhile is not counted here"
    elif curve is None or curve.low is None or curve.change is None:
        said = "whether throughput held cannot be said: too few steps"
    elif sustained is False:
        said = f"throughput fell: {curve.says}"
    elif sustained:
        said = f"throughput held: {curve.says}"
    else:
        lost = format_share(max(0.0, -curve.low))
        said = f"whether throughput held cannot be said: up to {lost} may be lost"
    weighty = [one.says for one in findings if one.grade != "note" and one.kind != "unexplained"]
    return "; ".join([said, *weighty])


def _warnings(
    start: SoakStart, seconds: float, end: SoakEnd | None, others: Curve | None
) -> list[str]:
    told = []
    if seconds < CONVENTION_SECONDS * 0.99:
        told.append(
            f"{format_seconds(seconds)} is short: what warms up slowly needs 30 minutes and more"
        )
    if end is None:
        told.append("it has not come to its end: it goes on, or was killed")
    elif end.why != DONE:
        told.append(f"it ended before its time: {end.why}")
    windows = (others.first, others.last) if others else ()
    busy = max((one for one in windows if one is not None), default=0.0)
    if start.load.kind != "none" and busy > BUSY_SHARE:
        told.append(
            f"other programs used {format_share(busy)} of the processors, so that throughput is "
            "theirs as well"
        )
    return told
