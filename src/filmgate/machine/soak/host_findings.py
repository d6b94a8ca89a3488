"""What a soak shows of the host: clocks, stolen time, other programs, pressure."""

from __future__ import annotations

from collections.abc import Iterator

from filmgate.machine.soak.rows import FELL, Finding, Seen
from filmgate.machine.soak.series import (
    LIMITED,
    OTHERS,
    PER_CPU_SECOND,
    PROCESSOR_CLOCK,
    STOLEN,
    THROUGHPUT,
    waiting_for,
)
from filmgate.units import format_share

STOLEN_SHARE = 0.02
WAITING_SHARE = 0.10


def host_findings(seen: Seen) -> Iterator[Finding]:
    """All of them."""
    yield from _processor(seen)
    yield from _shares(seen)
    yield from _others(seen)
    yield from _pressure(seen)


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
        share = seen.worse(name)
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
        share = seen.worse(name)
        if share >= WAITING_SHARE:
            yield Finding(
                kind=name, subject="host", grade="note",
                says=f"something waited for {resource} in {format_share(share)} of the time",
                because=seen.rows(name), advice=[words],
            )  # fmt: skip
