"""A soak on one HTML page: the verdict, the curves, every row."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from filmgate import __version__
from filmgate.app.page import page_environment
from filmgate.app.show_soak import is_worth_a_row, load_words
from filmgate.app.svg import Drawing, LegendEntry, Plot, colour, make_plot
from filmgate.machine.soak.result import Soak
from filmgate.machine.soak.series import PROCESSOR_CLOCK, THROUGHPUT
from filmgate.machine.soak.windows import CELSIUS, HERTZ, SHARE, WATTS, Curve, Windows
from filmgate.records import write_file
from filmgate.units import format_seconds

ROLES = ("delivered", "supply", "demand", "save", "transfer", "forward")
DASHES = ("", "7 4", "2.5 3.5")
MAX_LINES = len(ROLES) * len(DASHES)
"""More lines than that cannot be told apart; the record has them all."""
SCALES = {HERTZ: (1e-9, "GHz"), SHARE: (100.0, "%"), CELSIUS: (1.0, "degrees Celsius"),
          WATTS: (1.0, "watts")}  # fmt: skip
GROUPS = {"clock": "Clocks", "temperature": "Temperatures", "power": "Power", "fan": "GPU fans",
          "utilisation": "GPU utilisation"}  # fmt: skip


def write_soak_page(path: Path, soak: Soak) -> None:
    """Write the page, in one step."""
    page = (
        page_environment()
        .get_template("soak.html.jinja")
        .render(
            soak=soak,
            mood={True: "compute", False: "data", None: ""}[soak.is_sustained],
            headline={True: "Held", False: "Fell", None: "Cannot say"}[soak.is_sustained],
            plots=soak_plots(soak),
            curves=[curve for curve in soak.curves if is_worth_a_row(curve)],
            facts=_facts(soak),
            version=__version__,
        )
    )
    write_file(path, page.encode(errors="backslashreplace"))


def soak_plots(soak: Soak) -> list[Plot]:
    """Throughput, then everything else by kind; what never moved above nothing is left out."""
    groups: dict[str, list[Curve]] = {}
    for curve in soak.curves:
        if is_worth_a_row(curve):
            groups.setdefault(_group(curve), []).append(curve)
    return [
        _plot(f"curve{number}", title, curves, soak.windows, soak.seconds)
        for number, (title, curves) in enumerate(groups.items())
    ]


def _group(curve: Curve) -> str:
    """Title of the plot that the curve belongs to; only curves of one unit share a plot."""
    if curve.name.endswith(THROUGHPUT):
        return "Throughput"
    if curve.name == PROCESSOR_CLOCK:
        return "Processor clock"
    if curve.name.startswith("GPU ") and curve.unit in SCALES:
        last = curve.name.split()[-1]
        return GROUPS.get("power" if last == "limit" else last, curve.name)
    if curve.unit == CELSIUS:
        return "Sensors"
    return "Shares of the time" if curve.unit == SHARE else curve.name


def _plot(name: str, title: str, curves: Sequence[Curve], windows: Windows, seconds: float) -> Plot:
    factor, unit = SCALES.get(curves[0].unit, (1.0, curves[0].unit))
    drawn = list(curves[:MAX_LINES])
    looks = [(ROLES[n % len(ROLES)], DASHES[n // len(ROLES)]) for n in range(len(drawn))]

    def draw(axes: Axes) -> None:
        """The lines, and both windows as pale bands."""
        for begin in (0.0, windows.last_begins_seconds):
            axes.axvspan(begin / 60, (begin + windows.seconds) / 60, color=colour("rule"),
                         alpha=0.4, lw=0)  # fmt: skip
        for curve, (role, dash) in zip(drawn, looks, strict=True):
            style: dict[str, Any] = (
                {"dashes": tuple(float(one) / 2 for one in dash.split())} if dash else {}
            )
            axes.plot(
                [point.seconds / 60 for point in curve.points],
                [point.value * factor for point in curve.points],
                color=colour(role), lw=2, **style,
            )  # fmt: skip
        low, high = axes.get_ylim()
        if curves[0].unit not in (CELSIUS,) and low > 0:
            axes.set_ylim(0, high * 1.05)

    caption = "; ".join(f"{curve.name}: {curve.says}" for curve in drawn[:4])
    rest = f"; {len(curves) - 4} more in the table" if len(curves) > 4 else ""
    return make_plot(
        Drawing(
            name=name, title=f"{title} over the soak", y_label=unit, steps=(0.0, seconds / 60),
            x_label="minutes", whole_x=False, draw=draw,
        ),
        f"{caption}{rest}. The pale bands are what is compared.",
        tuple(
            LegendEntry(label=curve.name, role=role, dash=dash)
            for curve, (role, dash) in zip(drawn, looks, strict=True)
        )
        if len(drawn) > 1
        else (),
    )  # fmt: skip


def _facts(soak: Soak) -> list[tuple[str, str]]:
    return [
        ("load", load_words(soak.load)),
        ("time", f"{format_seconds(soak.seconds)} of {format_seconds(soak.planned_seconds)}"),
        ("ended", soak.ended or "not yet"),
        ("samples", str(soak.num_samples)),
        ("compared", soak.windows.says),
        *([("note", soak.note)] if soak.note else []),
    ]
