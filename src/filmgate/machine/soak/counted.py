"""What a soak counted: slow-downs and their reasons, links that dropped, errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from filmgate.machine.soak.gpu_pulse import GpuPulse
from filmgate.machine.soak.lines import Sample, SoakStart
from filmgate.records import Record
from filmgate.units import format_seconds, format_share

AT_WORK_SHARE = 0.5
"""An idle GPU turns its link down; one that is this much used does not."""
GPU_COUNTERS = {
    "ECC errors, not corrected": "uncorrected_errors",
    "ECC errors, corrected": "corrected_errors",
    "PCIe replays": "pcie_replays",
}
HOST_COUNTERS = {
    "memory errors, not corrected": "uncorrected_errors",
    "memory errors, corrected": "corrected_errors",
    "PCIe errors, corrected": "pcie_errors",
    "processor slow-downs by heat": "throttles",
}
WRONG = "wrong products"
XIDS = "Xid faults"


class Event(Record, frozen=True):
    """Something that was so at some of the samples."""

    name: str
    """For example ``GPU 0: thermal, by software``."""
    share: float
    """Of the samples in which it is known, 0 to 1."""
    first_seconds: float
    """When it was first seen."""
    says: str
    """In words."""


class Count(Record, frozen=True):
    """A counter, from the first sample to the last."""

    name: str
    """For example ``GPU 0 PCIe replays``."""
    added: int
    """How many came meanwhile; what came before a reset in between is lost."""
    per_hour: float
    """The same, an hour."""
    says: str
    """In words."""


def events_of(samples: Sequence[Sample]) -> list[Event]:
    """Reasons why GPUs were slowed down, and links that dropped; by GPU."""
    indices = sorted({gpu.index for sample in samples for gpu in sample.gpus})
    found: list[Event] = []
    for index in indices:
        told = [(one.seconds, gpu) for one in samples for gpu in one.gpus if gpu.index == index]
        found += _reasons(index, told)
        found += _drops(index, told)
        found += _silences(index, told)
    return found


def counts_of(start: SoakStart, samples: Sequence[Sample]) -> list[Count]:
    """Every counter that was known at least twice, those without errors too."""
    seconds = samples[-1].seconds - samples[0].seconds
    found = []
    for name, values in _counters(start, samples):
        known = [value for value in values if value is not None]
        if len(known) >= 2:
            # A counter that went back was reset: the driver was loaded anew.
            added = sum(max(0, b - a) for a, b in pairwise(known))
            found.append(_count(name, added, seconds))
    xids = [one for sample in samples for one in sample.xids or []]
    if any(sample.xids is not None for sample in samples):
        told = f"{len(xids)}: {', '.join(sorted(set(xids)))}" if xids else "none"
        found.append(Count(name=XIDS, added=len(xids), per_hour=_hourly(len(xids), seconds),
                           says=told))  # fmt: skip
    return found


def _counters(
    start: SoakStart, samples: Sequence[Sample]
) -> Iterator[tuple[str, list[int | None]]]:
    for told in start.gpus:
        for name, field in GPU_COUNTERS.items():
            yield f"GPU {told.index} {name}", [
                getattr(gpu, field) for one in samples for gpu in one.gpus
                if gpu.index == told.index
            ]  # fmt: skip
    for name, field in HOST_COUNTERS.items():
        yield f"host {name}", [getattr(one.host, field) for one in samples]
    for device in start.load.devices:
        yield (
            f"{device} {WRONG}",
            [pulse.wrong for one in samples for pulse in one.load if pulse.device == device],
        )


def _count(name: str, added: int, seconds: float) -> Count:
    hourly = _hourly(added, seconds)
    says = f"{added} more, {hourly:.3g} an hour" if added else "none"
    return Count(name=name, added=added, per_hour=hourly, says=says)


def _hourly(added: int, seconds: float) -> float:
    return added * 3600 / seconds if seconds > 0 else 0.0


def _reasons(index: int, told: Sequence[tuple[float, GpuPulse]]) -> list[Event]:
    known = [(at, gpu.throttle_reasons) for at, gpu in told if gpu.throttle_reasons is not None]
    words = sorted({reason for _, reasons in known for reason in reasons})
    found = []
    for reason in words:
        at = [second for second, reasons in known if reason in reasons]
        share = len(at) / len(known)
        found.append(
            Event(
                name=f"GPU {index}: {reason}", share=share, first_seconds=at[0],
                says=f"{format_share(share)} of the time, first after {format_seconds(at[0])}",
            )
        )  # fmt: skip
    return found


def _drops(index: int, told: Sequence[tuple[float, GpuPulse]]) -> list[Event]:
    """Fewer lanes than there were, at any time; a lower generation only while it works."""
    found = []
    checks: list[tuple[str, Callable[[GpuPulse], int | None], bool]] = [
        ("width", lambda gpu: gpu.pcie_width, False),
        ("generation", lambda gpu: gpu.pcie_generation, True),
    ]
    for name, read, only_at_work in checks:
        known = [
            (at, value) for at, gpu in told
            if (value := read(gpu)) is not None and (not only_at_work or _works(gpu))
        ]  # fmt: skip
        most = max((value for _, value in known), default=0)
        reached = next((place for place, (_, value) in enumerate(known) if value == most), 0)
        low = [(at, value) for at, value in known[reached:] if value < most]
        if low:
            at, value = low[0]
            share = len(low) / len(known)
            found.append(
                Event(
                    name=f"GPU {index}: PCIe {name} dropped", share=share, first_seconds=at,
                    says=f"from {most} to {value} after {format_seconds(at)}; lower in "
                    f"{format_share(share)} of the samples",
                )
            )  # fmt: skip
    return found


def _works(gpu: GpuPulse) -> bool:
    return gpu.utilisation_share is not None and gpu.utilisation_share >= AT_WORK_SHARE


def _silences(index: int, told: Sequence[tuple[float, GpuPulse]]) -> list[Event]:
    """A GPU that told its temperature and then tells it no more."""
    heard = [gpu.temperature_degrees is not None for _, gpu in told]
    if True not in heard or all(heard[heard.index(True) :]):
        return []
    place = heard.index(False, heard.index(True))
    share = heard[place:].count(False) / len(heard)
    at, gpu = told[place]
    return [
        Event(
            name=f"GPU {index}: no answer", share=share, first_seconds=at,
            says=f"after {format_seconds(at)}: {gpu.why('temperature_degrees')}",
        )
    ]  # fmt: skip
