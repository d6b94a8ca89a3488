"""What a soak means, and what to try; every finding names the rows that it stands on.

Nothing here changes a setting. Sources: NVIDIA, NVML API reference (clock event reasons) and "Xid
Errors"; the kernel's accounting/psi.rst.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from filmgate.machine.soak.counted import WRONG, XIDS, Count, Event
from filmgate.machine.soak.series import (
    LIMITED,
    OTHERS,
    PER_CPU_SECOND,
    PROCESSOR_CLOCK,
    STOLEN,
    THROUGHPUT,
    waiting_for,
)
from filmgate.machine.soak.windows import Curve
from filmgate.records import Record
from filmgate.units import format_share

Grade = Literal["fault", "slows", "note"]
WORST_FIRST: tuple[Grade, ...] = ("fault", "slows", "note")
FELL = 0.03
"""A loss of throughput or clock from which it is worth a word."""
SEEN_SHARE = 0.01
"""Of the samples, from which a slow-down of a GPU is worth a word."""
CAPPED_SHARE = 0.05
STOLEN_SHARE = 0.02
WAITING_SHARE = 0.10
IDLE_GPU_SHARE = 0.70
REPLAYS_PER_HOUR = 60.0
"""From which replays are a fault of the link, and not a rare bit."""
HEAT = ("thermal, by software", "thermal, by hardware", "hardware slowdown")


class Finding(Record, frozen=True):
    """One thing that the soak shows."""

    kind: str
    """For example ``heat``, ``power cap``, ``link``, ``errors``."""
    subject: str
    """``GPU 0``, ``processor``, ``host``, ``load``."""
    grade: Grade
    """``fault``: something is broken; ``slows``: it costs throughput; ``note``: good to know."""
    says: str
    """In a sentence."""
    because: list[str]
    """Names of the curves, events and counts that it stands on."""
    advice: list[str]
    """What to try, the cheapest first; nothing is changed by filmgate."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """The rows of a soak by name."""

    load_kind: str
    curves: dict[str, Curve] = field(default_factory=dict)
    events: dict[str, Event] = field(default_factory=dict)
    counts: dict[str, Count] = field(default_factory=dict)
    default_watts: dict[int, float] = field(default_factory=dict)
    """GPU -> the power limit that it was sold with."""
    gpus: Sequence[int] = ()

    def fell(self, name: str) -> bool:
        """Whether a curve is lower at the end, by more than chance and by what is worth a word."""
        curve = self.curves.get(name)
        if curve is None or curve.change is None:
            return False
        return bool(curve.is_different) and curve.change <= -FELL

    def last(self, name: str) -> float | None:
        """A curve's value at the end."""
        curve = self.curves.get(name)
        return curve.last if curve else None

    def rows(self, *names: str) -> list[str]:
        """Those of the names that there are."""
        return [
            one for one in names if one in self.curves or one in self.events or one in self.counts
        ]


def findings_of(seen: Seen) -> list[Finding]:
    """All that the rows show, the worst first."""
    rules: list[Callable[[Seen], Iterator[Finding]]] = [
        _errors, _links, _heat, _power, _idle_gpus, _processor, _shares, _others, _pressure,
    ]  # fmt: skip
    found = [finding for rule in rules for finding in rule(seen)]
    if seen.fell(THROUGHPUT) and all(one.grade == "note" for one in found):
        found.append(_unexplained(seen))
    return sorted(found, key=lambda one: WORST_FIRST.index(one.grade))


def _heat(seen: Seen) -> Iterator[Finding]:
    for gpu in seen.gpus:
        names = [f"GPU {gpu}: {reason}" for reason in HEAT]
        hot = [name for name in names if _share(seen, name) >= SEEN_SHARE]
        if not hot:
            continue
        fan = seen.last(f"GPU {gpu} fan")
        cooling = (
            "improve the airflow: clean filters, free slots beside the card, cooler inlet air"
            if fan is None or fan > 0.95
            else f"raise the fan curve: the fan ran at {format_share(fan)} while the GPU was slow"
        )
        share = max(_share(seen, name) for name in hot)
        yield Finding(
            kind="heat", subject=f"GPU {gpu}", grade="slows",
            says=f"GPU {gpu} was slowed down by heat in {format_share(share)} of the time",
            because=seen.rows(*hot, *(f"GPU {gpu} {one}" for one in (
                "temperature", "memory temperature", "fan", "clock", "power"))),
            advice=[
                cooling,
                "lower the power limit or undervolt: a GPU that keeps a lower clock can do more "
                "than one that swings; soak again with --compare",
            ],
        )  # fmt: skip


def _power(seen: Seen) -> Iterator[Finding]:
    for gpu in seen.gpus:
        capped, brake = f"GPU {gpu}: power cap", f"GPU {gpu}: power brake"
        if _share(seen, brake) >= SEEN_SHARE:
            yield Finding(
                kind="power brake", subject=f"GPU {gpu}", grade="slows",
                says=f"the machine's power supply slowed GPU {gpu} down",
                because=seen.rows(brake, f"GPU {gpu} power", f"GPU {gpu} clock"),
                advice=["look at power supplies, their redundancy and the cables to the card",
                        "lower the power limits until the brake is seen no more"],
            )  # fmt: skip
        if _share(seen, capped) < CAPPED_SHARE:
            continue
        limit, sold = seen.last(f"GPU {gpu} power limit"), seen.default_watts.get(gpu)
        lowered = limit is not None and sold is not None and limit < 0.99 * sold
        raising = (
            [f"raise the power limit, {limit:.0f} W of {sold:.0f} W as sold, where cooling allows"]
            if lowered
            else []
        )
        yield Finding(
            kind="power cap", subject=f"GPU {gpu}",
            grade="slows" if seen.fell(f"GPU {gpu} clock") else "note",
            says=f"GPU {gpu} was at its power limit in "
            f"{format_share(_share(seen, capped))} of the time",
            because=seen.rows(capped, *(
                f"GPU {gpu} {one}" for one in ("power", "power limit", "clock"))),
            advice=[*raising, "undervolt: more clock for the same watts; soak again with "
                    "--compare"],
        )  # fmt: skip


def _links(seen: Seen) -> Iterator[Finding]:
    for gpu in seen.gpus:
        names = seen.rows(*(f"GPU {gpu}: PCIe {one} dropped" for one in ("width", "generation")))
        replays = seen.counts.get(f"GPU {gpu} PCIe replays")
        many = replays is not None and replays.per_hour >= REPLAYS_PER_HOUR
        if not names and not (replays and replays.added):
            continue
        says = (
            f"the PCIe link of GPU {gpu} dropped: {seen.events[names[0]].says}"
            if names
            else f"GPU {gpu} sent {replays.added if replays else 0} packets again over PCIe"
        )
        yield Finding(
            kind="link", subject=f"GPU {gpu}", grade="fault" if names or many else "note",
            says=says, because=[*names, *seen.rows(f"GPU {gpu} PCIe replays")],
            advice=["seat the card, its riser and its cable anew, or try another slot",
                    "look for a newer BIOS, and set the slot's generation in it"],
        )  # fmt: skip


def _errors(seen: Seen) -> Iterator[Finding]:
    for name, count in seen.counts.items():
        if not count.added or name.endswith("PCIe replays"):
            continue
        for ending, (grade, says, advice) in ERRORS.items():
            if name.endswith(ending):
                yield Finding(
                    kind="errors", subject=name.removesuffix(ending).strip() or "driver",
                    grade=grade, says=f"{name}: {count.says}; {says}", because=[name],
                    advice=[advice],
                )  # fmt: skip
                break
    for gpu in seen.gpus:
        silent = f"GPU {gpu}: no answer"
        if silent in seen.events:
            yield Finding(
                kind="errors", subject=f"GPU {gpu}", grade="fault",
                says=f"GPU {gpu} answered no more, {seen.events[silent].says}", because=[silent],
                advice=["read the kernel's log for Xid 79 (fell off the bus); check power cables, "
                        "riser and temperature"],
            )  # fmt: skip


ERRORS: dict[str, tuple[Grade, str, str]] = {
    "ECC errors, not corrected": (
        "fault", "results computed meanwhile cannot be trusted",
        "reset the GPU, run its maker's diagnosis, and have it replaced when they come again"),
    "ECC errors, corrected": (
        "note", "none of them reached a result",
        "watch whether they grow: many an hour foretell ones that cannot be corrected"),
    "memory errors, not corrected": (
        "fault", "results computed meanwhile cannot be trusted",
        "find the module with `edac-util -v` or the management controller, and replace it"),
    "memory errors, corrected": (
        "note", "none of them reached a result",
        "find the module with `edac-util -v` or the management controller, and watch it"),
    "PCIe errors, corrected": (
        "note", "a link had to repeat what it sent",
        "`lspci -vv` names the device; seat its card, riser and cable anew"),
    "processor slow-downs by heat": (
        "slows", "cores were too hot",
        "clean and mount the cooler anew, and raise the fan curve of the processor"),
    WRONG: (
        "fault", "the same product came out otherwise",
        "undo overclocking and undervolting first; then run the maker's diagnosis"),
    XIDS: (
        "fault", "the NVIDIA driver reported a fault",
        "look the number up in NVIDIA's list of Xid errors"),
}  # fmt: skip
"""End of a counter's name -> how bad it is, what it means, what to do."""


def _processor(seen: Seen) -> Iterator[Finding]:
    if seen.fell(PROCESSOR_CLOCK):
        yield Finding(
            kind="processor clock", subject="processor", grade="slows",
            says="the processor's clock fell: " + seen.curves[PROCESSOR_CLOCK].says,
            because=seen.rows(PROCESSOR_CLOCK, *(
                name for name in seen.curves if name.startswith("sensor "))),
            advice=["look at its temperature and its power limits (BIOS, RAPL); raise its fan "
                    "curve", "set the governor to performance and soak again with --compare"],
        )  # fmt: skip


def _shares(seen: Seen) -> Iterator[Finding]:
    told = {
        STOLEN: ("the hypervisor gave {} of the processors' time to others",
                 "take an instance with processors of its own, or another host"),
        LIMITED: ("the cgroup's quota held the processes back in {} of the time",
                  "raise the quota of the container, or run fewer threads"),
    }  # fmt: skip
    for name, (says, advice) in told.items():
        share = _worse(seen, name)
        if share >= STOLEN_SHARE:
            yield Finding(
                kind=name, subject="host", grade="slows", says=says.format(format_share(share)),
                because=seen.rows(name), advice=[advice],
            )  # fmt: skip


def _others(seen: Seen) -> Iterator[Finding]:
    """Only where the load's own CPU time was worth as much as before."""
    others, own = seen.curves.get(OTHERS), seen.curves.get(PER_CPU_SECOND)
    if others is None or own is None or others.change is None or not seen.fell(THROUGHPUT):
        return
    if others.is_different and others.change > FELL and not seen.fell(PER_CPU_SECOND):
        yield Finding(
            kind=OTHERS, subject="host", grade="slows",
            says=f"other programs used more of the processors: {others.says}",
            because=seen.rows(OTHERS, PER_CPU_SECOND, THROUGHPUT),
            advice=["end them, or keep processors free for training; soak again"],
        )  # fmt: skip


def _pressure(seen: Seen) -> Iterator[Finding]:
    advice = {
        "io": "lay the clips on a faster scratch drive: `filmgate stage` copies them; soak again "
        "with --compare",
        "memory": "give the job more memory, or less to it: a smaller cache, fewer workers",
    }
    for resource, words in advice.items():
        name = waiting_for(resource)
        share = _worse(seen, name)
        if share >= WAITING_SHARE:
            yield Finding(
                kind=name, subject="host", grade="note",
                says=f"something waited for {resource} in {format_share(share)} of the time",
                because=seen.rows(name), advice=[words],
            )  # fmt: skip


def _idle_gpus(seen: Seen) -> Iterator[Finding]:
    for gpu in seen.gpus:
        name = f"GPU {gpu} utilisation"
        share = seen.last(name)
        if seen.load_kind == "train" and share is not None and share < IDLE_GPU_SHARE:
            yield Finding(
                kind="idle", subject=f"GPU {gpu}", grade="note",
                says=f"GPU {gpu} had work in {format_share(share)} of the time only, so that this "
                "soak tests its cooling little",
                because=seen.rows(name, f"GPU {gpu} power"),
                advice=["raise --batch-size, or soak with --load products",
                        "`filmgate run` on your own job says what its GPU waits for"],
            )  # fmt: skip


def _unexplained(seen: Seen) -> Finding:
    return Finding(
        kind="unexplained", subject="load", grade="slows",
        says="throughput fell, and nothing that could be read explains it",
        because=seen.rows(THROUGHPUT),
        advice=["look at what is unknown below: as root, or on the host instead of in a "
                "container, more can be read", "soak again with nothing else running"],
    )  # fmt: skip


def _share(seen: Seen, name: str) -> float:
    return seen.events[name].share if name in seen.events else 0.0


def _worse(seen: Seen, name: str) -> float:
    """The larger one of both windows."""
    curve = seen.curves.get(name)
    windows = (curve.first, curve.last) if curve else ()
    return max((one for one in windows if one is not None), default=0.0)
