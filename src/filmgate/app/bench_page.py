"""What was measured on a machine, as one HTML page."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup, escape

from filmgate import __version__
from filmgate.app.page import page_environment
from filmgate.app.show_bench import (
    counted_words,
    format_value,
    identity_words,
    part_words,
    spread_words,
)
from filmgate.machine.measured import BenchPart, MachineMeasured, Measure
from filmgate.records import write_file

STRIP_WIDTH, STRIP_HEIGHT, MARGIN = 220, 16, 6
"""In CSS pixels."""


def strip(measure: Measure, part: BenchPart) -> Markup:
    """Every repetition as a dot and the median as a line, from 0 to the part's greatest value.

    Figures of one unit in a part have one scale, so that they can be compared by eye.
    """
    top = max(one.high for one in part.measures if one.unit == measure.unit)

    def place(value: float) -> float:
        """Pixels from the left."""
        return MARGIN + (STRIP_WIDTH - 2 * MARGIN) * (value / top if top > 0 else 0.0)

    middle = STRIP_HEIGHT / 2
    ends = [measure.low, measure.high] if measure.repetitions == 1 else measure.values
    dots = "".join(
        f'<circle cx="{place(value):.1f}" cy="{middle:g}" r="3" fill="var(--supply)" '
        'fill-opacity="0.6"/>'
        for value in ends
    )
    said = escape(
        f"{measure.name}: {format_value(measure.median, measure.unit)}, "
        f"{spread_words(measure)}; the scale ends at {format_value(top, measure.unit)}"
    )
    return Markup(
        f'<svg class="strip" viewBox="0 0 {STRIP_WIDTH} {STRIP_HEIGHT}" role="img">'
        f"<title>{said}</title>"
        f'<line x1="{MARGIN}" x2="{STRIP_WIDTH - MARGIN}" y1="{middle:g}" y2="{middle:g}" '
        f'stroke="var(--rule)"/>{dots}'
        f'<line x1="{place(measure.median):.1f}" x2="{place(measure.median):.1f}" y1="1" '
        f'y2="{STRIP_HEIGHT - 1}" stroke="var(--ink)" stroke-width="2"/></svg>'
    )  # fmt: skip


def figure_rows(record: MachineMeasured) -> list[tuple[str, str]]:
    """Part and figure, with median and spread; a part without figures with its reason."""
    rows: list[tuple[str, str]] = []
    for part in record.parts:
        if part.status != "measured":
            rows.append((part.name, part_words(part)))
        rows += [
            (
                f"{part.name}: {one.name}",
                f"{format_value(one.median, one.unit)} ({spread_words(one)})",
            )
            for one in part.measures
        ]
    return [*rows, ("measured", record.header.created_at)]


def write_bench_page(path: Path, record: MachineMeasured) -> None:
    """Write the page, in one step."""
    environment = page_environment()
    environment.filters |= {
        "value": format_value, "spread": spread_words, "counted": counted_words,
        "ended": part_words, "strip": strip,
    }  # fmt: skip
    page = environment.get_template("bench.html.jinja").render(
        record=record, machine=identity_words(record), version=__version__
    )
    write_file(path, page.encode(errors="backslashreplace"))
