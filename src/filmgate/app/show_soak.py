"""What `filmgate soak` prints for a person."""

from __future__ import annotations

from pathlib import Path

from filmgate.app.show import print_rows
from filmgate.machine.soak.compare import SoakComparison
from filmgate.machine.soak.lines import Load
from filmgate.machine.soak.result import Soak
from filmgate.machine.soak.windows import Curve
from filmgate.units import format_seconds

RAMP = " .:-=+*#"
"""Low to high, in characters that every terminal has."""
SPARK_WIDTH = 48
ALWAYS_SHOWN = ("throughput", "clock", "temperature", "power", "energy")


def show_soak(soak: Soak, path: Path) -> None:
    """Verdict, curves, what was counted, what to try, what is not known."""
    curves = [curve for curve in soak.curves if is_worth_a_row(curve)]
    rows = [
        ("verdict", soak.verdict),
        ("load", load_words(soak.load)),
        ("time", f"{format_seconds(soak.seconds)} of {format_seconds(soak.planned_seconds)}, "
                 f"{soak.num_samples} samples; {soak.windows.says}"),
        *(row for curve in curves for row in _curve_rows(curve)),
        *((event.name, event.says) for event in soak.events),
        *((count.name, count.says) for count in soak.counts),
    ]  # fmt: skip
    for finding in soak.findings:
        rows.append((finding.grade, finding.says))
        rows += [("try", advice) for advice in finding.advice]
    rows += [("warning", warning) for warning in soak.warnings]
    rows += [(f"unknown: {name}", why) for name, why in soak.unknown.items()]
    rows.append(("kept in", str(path)))
    print_rows(rows)


def show_soak_comparison(found: SoakComparison) -> None:
    """The verdict, what changed, and what weakens it."""
    print_rows(
        [
            ("verdict", found.verdict),
            *((one.name, one.says) for one in found.changes[1:]),
            *(("gone", one) for one in found.gone),
            *(("new", one) for one in found.new),
            *(("changed", f"{one.name}: {one.before} to {one.after}") for one in found.unlike),
            *(("warning", warning) for warning in found.warnings),
        ]
    )


def is_worth_a_row(curve: Curve) -> bool:
    """What did not move at all and stands at nothing is in the record only."""
    words = curve.name.split()
    return any(word in words for word in ALWAYS_SHOWN) or curve.highest > 0


def _curve_rows(curve: Curve) -> list[tuple[str, str]]:
    moved = curve.lowest < curve.highest
    return [(curve.name, curve.says), *([("", sparkline(curve))] if moved else [])]


def load_words(load: Load) -> str:
    """What kept the machine busy, on one line."""
    if load.kind == "none":
        return "none of filmgate's own"
    what = {
        "train": f"training on fixed clips, batches of {load.batch_size}",
        "products": f"products of {load.number_type} matrices, {load.matrix_size} rows",
    }[load.kind]
    return f"{what}, on {', '.join(load.devices)}, {load.threads} threads each ({load.why})"


def sparkline(curve: Curve) -> str:
    """The curve in one line, between its lowest and its highest drawn point."""
    values = [point.value for point in curve.points]
    count = min(SPARK_WIDTH, len(values))
    places = [place * len(values) // count for place in range(count)]
    low, high = min(values), max(values)
    room = high - low
    marks = [
        RAMP[round((values[place] - low) / room * (len(RAMP) - 1))] if room else RAMP[1]
        for place in places
    ]
    return "|" + "".join(marks) + "|"
