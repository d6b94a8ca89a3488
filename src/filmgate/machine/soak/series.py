"""Every curve that the samples of a soak hold, raw; counters become rates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from filmgate.machine.soak.lines import Load, Sample
from filmgate.machine.soak.windows import CELSIUS, HERTZ, SHARE, WATTS, Series

THROUGHPUT = "throughput"
PER_CPU_SECOND = "throughput per CPU second"
OTHERS = "used by other programs"
STOLEN = "taken by the hypervisor"
LIMITED = "held back by the quota"
PROCESSOR_CLOCK = "processor clock"
GPU_FIELDS = {
    "clock": ("clock_hertz", HERTZ),
    "memory clock": ("memory_clock_hertz", HERTZ),
    "temperature": ("temperature_degrees", CELSIUS),
    "memory temperature": ("memory_temperature_degrees", CELSIUS),
    "power": ("power_watts", WATTS),
    "power limit": ("power_limit_watts", WATTS),
    "fan": ("fan_share", SHARE),
    "utilisation": ("utilisation_share", SHARE),
}
"""Name of a GPU's curve -> its field and unit."""


def all_series(load: Load, samples: Sequence[Sample]) -> list[Series]:
    """Throughput first; what was never known is not there."""
    found = [
        _throughput(load, samples),
        *(_device_throughput(load, samples) if len(load.devices) > 1 else ()),
        _per_cpu_second(load, samples),
        *_gpu_series(samples),
        _energy(load, samples),
        _gauge(PROCESSOR_CLOCK, HERTZ, samples, lambda one: one.host.clock_hertz),
        *_host_shares(samples),
        *_sensors(samples),
    ]
    return [series for series in found if series.values]


def waiting_for(resource: str) -> str:
    """Name of the curve of a resource's pressure."""
    return f"waiting for {resource}"


def _gauge(
    name: str, unit: str, samples: Sequence[Sample], read: Callable[[Sample], float | None]
) -> Series:
    told = [(one.seconds, value) for one in samples if (value := read(one)) is not None]
    return _series(name, unit, told)


def _series(name: str, unit: str, told: Sequence[tuple[float, float]]) -> Series:
    return Series(
        name=name, unit=unit, seconds=[at for at, _ in told], values=[value for _, value in told]
    )


def _rate(
    name: str, unit: str, samples: Sequence[Sample], read: Callable[[Sample], float | None]
) -> Series:
    """Of a counter: what was added, each second; a counter that went back begins anew."""
    told = []
    for before, after in pairwise(samples):
        first, last = read(before), read(after)
        seconds = after.seconds - before.seconds
        if first is not None and last is not None and last >= first and seconds > 0:
            told.append((after.seconds, (last - first) / seconds))
    return _series(name, unit, told)


def _throughput(load: Load, samples: Sequence[Sample]) -> Series:
    """Of all devices together: at each sample, the sum of their latest rates."""
    latest: dict[str, float] = {}
    told = []
    steps = {device: iter(_steps(load, samples, device)) for device in load.devices}
    pending = {device: next(some, None) for device, some in steps.items()}
    for sample in samples:
        moved = False
        for device in load.devices:
            while (one := pending[device]) is not None and one[0] <= sample.seconds:
                latest[device], moved = one[1], True
                pending[device] = next(steps[device], None)
        if moved and len(latest) == len(load.devices):
            told.append((sample.seconds, sum(latest.values())))
    return _series(THROUGHPUT, f"{load.unit}/s", told)


def _device_throughput(load: Load, samples: Sequence[Sample]) -> Iterator[Series]:
    for device in load.devices:
        told = list(_steps(load, samples, device))
        yield _series(f"{device} {THROUGHPUT}", f"{load.unit}/s", told)


def _steps(load: Load, samples: Sequence[Sample], device: str) -> Iterator[tuple[float, float]]:
    """(when, rate) between the steps that two samples saw as the last; exact, however the samples
    fall. A sample that saw no new step gives nothing, and the next one the slower rate."""
    before: tuple[float, int] | None = None
    for sample in samples:
        for pulse in sample.load:
            if pulse.device != device:
                continue
            if before is None:
                before = (pulse.at_seconds, pulse.steps)
            elif pulse.steps > before[1] and pulse.at_seconds > before[0]:
                work = (pulse.steps - before[1]) * load.work_per_step
                yield pulse.at_seconds, work / (pulse.at_seconds - before[0])
                before = (pulse.at_seconds, pulse.steps)


def _per_cpu_second(load: Load, samples: Sequence[Sample]) -> Series:
    """Work for each second of CPU time, of a load on processors: other programs change it little,
    slower clocks change it as they are."""
    told = []
    if load.devices == ["cpu"]:
        for before, after in pairwise(samples):
            if before.load and after.load:
                steps = after.load[0].steps - before.load[0].steps
                seconds = after.load[0].cpu_seconds - before.load[0].cpu_seconds
                if steps > 0 and seconds > 0:
                    told.append((after.seconds, steps * load.work_per_step / seconds))
    return _series(PER_CPU_SECOND, f"{load.unit}/CPU s", told)


def _gpu_series(samples: Sequence[Sample]) -> Iterator[Series]:
    indices = sorted({gpu.index for sample in samples for gpu in sample.gpus})
    for index in indices:
        for name, (field, unit) in GPU_FIELDS.items():
            yield _gauge(f"GPU {index} {name}", unit, samples, _reader(index, field))


def _reader(index: int, field: str) -> Callable[[Sample], float | None]:
    def read(sample: Sample) -> float | None:
        """The field of one GPU."""
        found = [gpu for gpu in sample.gpus if gpu.index == index]
        return getattr(found[0], field) if found else None

    return read


def _energy(load: Load, samples: Sequence[Sample]) -> Series:
    """Joules of all GPUs for one unit of work, where every GPU counts them."""
    told = []
    for before, after in pairwise(samples):
        joules, steps = _joules(after), _all_steps(after) - _all_steps(before)
        first = _joules(before)
        if joules is not None and first is not None and steps > 0 and joules >= first:
            told.append((after.seconds, (joules - first) / (steps * load.work_per_step)))
    return _series("GPU energy", f"J per {load.unit.removesuffix('s')}", told)


def _joules(sample: Sample) -> float | None:
    known = [gpu.energy_joules for gpu in sample.gpus if gpu.energy_joules is not None]
    return sum(known) if known and len(known) == len(sample.gpus) else None


def _all_steps(sample: Sample) -> int:
    return sum(pulse.steps for pulse in sample.load)


def _host_shares(samples: Sequence[Sample]) -> Iterator[Series]:
    yield _rate(STOLEN, SHARE, samples, lambda one: _each(one, one.host.stolen_seconds))
    yield _others(samples)
    yield _rate(LIMITED, SHARE, samples, lambda one: one.host.limited_seconds)
    for resource in ("cpu", "io", "memory"):
        yield _rate(
            waiting_for(resource), SHARE, samples,
            _of(lambda one: one.host.stalled_seconds, resource),
        )  # fmt: skip


def _each(sample: Sample, seconds: float | None) -> float | None:
    """CPU seconds for each hardware thread."""
    cpus = sample.host.num_cpus
    return seconds / cpus if cpus and seconds is not None else None


def _others(samples: Sequence[Sample]) -> Series:
    """Share of the hardware threads that neither the load nor idleness had; 0 at least, because
    the two clocks tick apart."""
    told = []
    for before, after in pairwise(samples):
        busy = [one.host.busy_seconds for one in (before, after)]
        own = [sum(pulse.cpu_seconds for pulse in one.load) for one in (before, after)]
        room = (after.seconds - before.seconds) * (after.host.num_cpus or 0)
        if busy[0] is not None and busy[1] is not None and room > 0:
            others = busy[1] - busy[0] - (own[1] - own[0])
            told.append((after.seconds, min(1.0, max(0.0, others / room))))
    return _series(OTHERS, SHARE, told)


def _sensors(samples: Sequence[Sample]) -> Iterator[Series]:
    heats = sorted({name for one in samples for name in one.host.temperatures or {}})
    fans = sorted({name for one in samples for name in one.host.fans or {}})
    for name in heats:
        yield _gauge(
            f"sensor {name}", CELSIUS, samples,
            _of(lambda one: one.host.temperatures, name),
        )  # fmt: skip
    for name in fans:
        yield _gauge(
            f"fan {name}", "turns/min", samples,
            _of(lambda one: one.host.fans, name),
        )  # fmt: skip


def _of(
    read: Callable[[Sample], dict[str, float] | None], name: str
) -> Callable[[Sample], float | None]:
    def one(sample: Sample) -> float | None:
        """The named value of a table."""
        return (read(sample) or {}).get(name)

    return one
