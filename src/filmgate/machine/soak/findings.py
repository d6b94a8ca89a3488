"""What a soak means, and what to try; every finding names the rows that it stands on.

Nothing here changes a setting. Sources: NVIDIA, NVML API reference (clock event reasons) and "Xid
Errors"; the kernel's accounting/psi.rst.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from filmgate.machine.soak.counted import WRONG, XIDS
from filmgate.machine.soak.host_findings import host_findings
from filmgate.machine.soak.rows import WORST_FIRST, Finding, Grade, Seen
from filmgate.machine.soak.series import THROUGHPUT
from filmgate.units import format_share

SEEN_SHARE = 0.01
"""Of the samples, from which a slow-down of a GPU is worth a word."""
CAPPED_SHARE = 0.05
IDLE_GPU_SHARE = 0.70
REPLAYS_PER_HOUR = 60.0
"""From which replays are a fault of the link, and not a rare bit."""
HEAT = ("thermal, by software", "thermal, by hardware", "hardware slowdown")


def findings_of(seen: Seen) -> list[Finding]:
    """All that the rows show, the worst first."""
    rules: list[Callable[[Seen], Iterator[Finding]]] = [
        _errors, _links, _heat, _power, _idle_gpus, host_findings,
    ]  # fmt: skip
    found = [finding for rule in rules for finding in rule(seen)]
    if seen.fell(THROUGHPUT) and all(one.grade == "note" for one in found):
        found.append(_unexplained(seen))
    return sorted(found, key=lambda one: WORST_FIRST.index(one.grade))


def _heat(seen: Seen) -> Iterator[Finding]:
    for gpu in seen.gpus:
        names = [f"GPU {gpu}: {reason}" for reason in HEAT]
        hot = [name for name in names if seen.share(name) >= SEEN_SHARE]
        if not hot:
            continue
        fan = seen.last(f"GPU {gpu} fan")
        cooling = (
            "improve the airflow: clean filters, free slots beside the card, cooler inlet air"
            if fan is None or fan > 0.95
            else f"raise the fan curve: the fan ran at {format_share(fan)} while the GPU was slow"
        )
        share = max(seen.share(name) for name in hot)
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
        if seen.share(brake) >= SEEN_SHARE:
            yield Finding(
                kind="power brake", subject=f"GPU {gpu}", grade="slows",
                says=f"the machine's power supply slowed GPU {gpu} down",
                because=seen.rows(brake, f"GPU {gpu} power", f"GPU {gpu} clock"),
                advice=["look at power supplies, their redundancy and the cables to the card",
                        "lower the power limits until the brake is seen no more"],
            )  # fmt: skip
        if seen.share(capped) < CAPPED_SHARE:
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
            f"{format_share(seen.share(capped))} of the time",
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
