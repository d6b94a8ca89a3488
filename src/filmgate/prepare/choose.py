"""From trials to a choice: what the whole set would take, and which layout is the cheapest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from msgspec.structs import replace

from filmgate.prepare.measure import Trial
from filmgate.records import Record
from filmgate.units import format_bytes, format_number

STORAGE_CLASSES: tuple[tuple[str, float], ...] = (
    ("NAS over 10 GbE", 1.25e9),
    ("one NVMe drive", 5e9),
    ("4 NVMe drives in RAID 0", 20e9),
    ("8 NVMe drives in RAID 0", 40e9),
)
"""Class of storage -> bytes per second that it sustains, the lower end of what is usual: 10 Gb/s on
the wire, and 5-7, 20-25 and 40-50 GB/s of sequential reads for 1, 4 and 8 drives."""


Limit = Literal["quality", "size", "space", "cores"]


class Needs(Record, frozen=True, kw_only=True):
    """What a training copy has to be good for. None: no such limit."""

    clips: int | None = None
    """Clips that will be read from it over its life, for what making it pays back."""
    clips_per_second: float | None = None
    """What the trainer takes (demand)."""
    cores: int = 1
    """Cores that may decode."""
    lowest_psnr_db: float = 38.0
    """Closeness to the scaled source, over the sample."""
    largest_size_share: float = 0.7
    """Bytes of the copy over bytes of the source."""
    bytes_free: int | None = None
    """Space for the copy."""


class Outlook(Record, frozen=True, kw_only=True):
    """What one layout would mean for the whole set."""

    trial: Trial
    """What was measured on the sample."""
    bytes: int | None = None
    """The whole set in this layout."""
    encode_core_hours: float | None = None
    """To make it; 0 for the source."""
    cores_for_demand: float | None = None
    """Cores that decode at the demand; None without a demand."""
    read_bytes_per_second: float | None = None
    """What storage has to give at the demand."""
    storage_class: str | None = None
    """The smallest class that gives it; None without a demand, or when none does."""
    pays_from_clips: int | None = None
    """Clips from which on making and reading it takes less CPU time than reading the source; None
    when it never does."""
    broken: list[Limit] = []
    """The limits that it breaks."""
    why_not: str | None = None
    """How it breaks them, or what failed; None when it could be chosen."""


class Choice(Record, frozen=True, kw_only=True):
    """Which layout to use, and why."""

    label: str | None
    """The layout, or ``source``; None when no copy keeps the limits."""
    why: str
    """One sentence."""
    outlooks: list[Outlook]
    """The source first."""

    @property
    def chosen(self) -> Outlook | None:
        """The outlook that ``label`` names."""
        return next((one for one in self.outlooks if one.trial.label == self.label), None)


def choose(
    trials: Sequence[Trial], needs: Needs, *, video_seconds: float, source_bytes: int
) -> Choice:
    """The cheapest copy within the limits, or the source when ``needs.clips`` do not pay for one.

    With a demand: of the copies that meet it on the cores, the smallest. Otherwise the one that
    takes the least CPU time for ``needs.clips``, or for any number when that is not given.
    ``trials`` begins with the source's; ``video_seconds`` and ``source_bytes`` are of the set.
    """
    source, *copies = [
        _outlook(one, trials[0], needs, video_seconds, source_bytes) for one in trials
    ]
    usable = [one for one in copies if one.why_not is None]
    outlooks = [source, *copies]
    if not usable:
        return Choice(label=None, why=_none_keeps(copies), outlooks=outlooks)
    if needs.clips_per_second is not None:
        best = min(usable, key=lambda one: (one.bytes, one.trial.label))
        rate = f"{format_number(needs.clips_per_second, 6)} clips/s on {needs.cores} cores"
        why = f"the smallest copy that gives {rate}"
    elif needs.clips is None:
        best = max(usable, key=lambda one: one.trial.clips_per_cpu_second or 0)
        why = "of the copies within the limits the one whose clips take the least CPU time"
    else:
        best = min(usable, key=lambda one: _core_hours(one, needs.clips or 0))
        why = f"the copy that takes the least CPU time for {needs.clips} clips, making it included"
    if needs.clips is not None and not _pays(best, needs.clips):
        return Choice(label="source", why=_does_not_pay(best, needs.clips), outlooks=outlooks)
    return Choice(
        label=best.trial.label, why=f"{why}: {_in_figures(best, source)}", outlooks=outlooks
    )


def _outlook(
    trial: Trial, source: Trial, needs: Needs, video_seconds: float, source_bytes: int
) -> Outlook:
    speed = trial.clips_per_cpu_second
    if speed is None:
        return Outlook(trial=trial, why_not=trial.why_not)
    hours = video_seconds / 3600
    is_source = trial.recipe is None
    share = trial.size_share
    num_bytes = None if share is None else round(source_bytes * share)
    encode_hours = 0.0 if is_source else (trial.encode_cpu_seconds_per_hour or 0.0) * hours / 3600
    cores, read, storage = None, None, None
    if needs.clips_per_second is not None:
        cores = needs.clips_per_second / speed
        if trial.read_bytes_per_clip is not None:
            read = needs.clips_per_second * trial.read_bytes_per_clip
            storage = next((name for name, rate in STORAGE_CLASSES if rate >= read), None)
    outlook = Outlook(
        trial=trial,
        bytes=num_bytes,
        encode_core_hours=encode_hours,
        cores_for_demand=cores,
        read_bytes_per_second=read,
        storage_class=storage,
        pays_from_clips=None if is_source else _break_even(encode_hours, speed, source),
    )
    return outlook if is_source else _judged(outlook, needs)


def _judged(outlook: Outlook, needs: Needs) -> Outlook:
    whys = dict[Limit, str]()
    likeness, share = outlook.trial.likeness, outlook.trial.size_share
    if likeness and likeness.psnr_db is not None and likeness.psnr_db < needs.lowest_psnr_db:
        whys["quality"] = f"{likeness.psnr_db:.1f} dB is below {needs.lowest_psnr_db:g} dB"
    if share is not None and share > needs.largest_size_share:
        says = f"{share:.2f} times the source's bytes is above {needs.largest_size_share:g}"
        whys["size"] = says
    if needs.bytes_free is not None and (outlook.bytes or 0) > needs.bytes_free:
        free = format_bytes(needs.bytes_free)
        whys["space"] = f"{format_bytes(outlook.bytes or 0)} do not fit into {free}"
    if outlook.cores_for_demand is not None and outlook.cores_for_demand > needs.cores:
        whys["cores"] = f"it takes {outlook.cores_for_demand:.1f} cores of {needs.cores}"
    if not whys:
        return outlook
    return replace(outlook, broken=list(whys), why_not="; ".join(whys.values()))


def _break_even(encode_hours: float, speed: float, source: Trial) -> int | None:
    """c with encode + c / speed = c / source speed."""
    assert source.clips_per_cpu_second is not None
    saved_seconds = 1 / source.clips_per_cpu_second - 1 / speed
    return math.ceil(encode_hours * 3600 / saved_seconds) if saved_seconds > 0 else None


def _core_hours(outlook: Outlook, clips: int) -> float:
    assert outlook.trial.clips_per_cpu_second is not None
    return (outlook.encode_core_hours or 0) + clips / outlook.trial.clips_per_cpu_second / 3600


def _none_keeps(copies: Sequence[Outlook]) -> str:
    """The reason of the copy that comes closest: the fewest limits broken, then the smallest."""
    if not copies:
        return "no copy keeps the limits: none was tried"
    least = min(copies, key=lambda one: (len(one.broken) or 9, one.trial.size_share or math.inf))
    return f"no copy keeps the limits; {least.trial.label} comes closest: {least.why_not}"


def _pays(outlook: Outlook, clips: int) -> bool:
    return outlook.pays_from_clips is not None and clips >= outlook.pays_from_clips


def _does_not_pay(outlook: Outlook, clips: int) -> str:
    if outlook.pays_from_clips is None:
        return "no copy within the limits is read faster than the source"
    return (
        f"{clips} clips do not pay for a copy: {outlook.trial.label} pays from "
        f"{outlook.pays_from_clips} clips on"
    )


def _in_figures(outlook: Outlook, source: Outlook) -> str:
    speed, before = outlook.trial.clips_per_cpu_second, source.trial.clips_per_cpu_second
    assert speed is not None and before is not None
    likeness = outlook.trial.likeness
    closeness = (
        "identical"
        if likeness is None or likeness.psnr_db is None
        else (f"{likeness.psnr_db:.1f} dB")
    )
    return (
        f"{speed:.0f} clips per CPU-second against {before:.1f} from the source, "
        f"{outlook.trial.size_share or 0:.2f} times its bytes, {closeness}"
    )
