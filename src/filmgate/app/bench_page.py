"""What was measured on a machine, as one HTML page."""

from __future__ import annotations

from pathlib import Path

from filmgate import __version__
from filmgate.app.page import page_environment
from filmgate.app.show_bench import (
    counted_words,
    format_value,
    identity_words,
    part_words,
    spread_words,
)
from filmgate.machine.measured import MachineMeasured
from filmgate.records import write_file


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
        "ended": part_words,
    }  # fmt: skip
    page = environment.get_template("bench.html.jinja").render(
        record=record, machine=identity_words(record), version=__version__
    )
    write_file(path, page.encode(errors="backslashreplace"))
