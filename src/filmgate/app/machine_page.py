"""A machine on one HTML page: the drawing and the facts."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from filmgate import __version__
from filmgate.app.bench_page import figure_rows
from filmgate.app.machine_facts import machine_rows
from filmgate.app.page import page_environment
from filmgate.machine import Machine
from filmgate.machine.measured import MachineMeasured
from filmgate.machine.topology import topology_of
from filmgate.machine.topology_svg import topology_svg
from filmgate.records import write_file


def write_machine_page(
    path: Path, machine: Machine, measured: MachineMeasured | None = None
) -> None:
    """Write the page, in one step; what was measured on that machine stands below its facts."""
    page = (
        page_environment()
        .get_template("machine.html.jinja")
        .render(
            machine=machine,
            # Every text of the drawing is escaped where it is drawn.
            drawing=Markup(topology_svg(topology_of(machine))),
            rows=machine_rows(machine),
            figures=[] if measured is None else figure_rows(measured),
            version=__version__,
        )
    )
    write_file(path, page.encode(errors="backslashreplace"))
