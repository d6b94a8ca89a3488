"""What `filmgate machine` and `filmgate audit` print for a person."""

from __future__ import annotations

from pathlib import Path

from rich.table import Table
from rich.text import Text

from filmgate.app.machine_facts import machine_rows
from filmgate.app.output import print_text
from filmgate.app.show import print_rows, print_table
from filmgate.machine import Audit, Machine
from filmgate.machine.capture import Capture
from filmgate.machine.item import WORST_FIRST, Item
from filmgate.machine.topology import topology_of
from filmgate.machine.topology_text import topology_text

STYLES = {"fail": "red", "warn": "yellow", "ok": "green", "attested": "green"}


def show_machine(machine: Machine) -> None:
    """The tree of what hangs where, then facts a line each."""
    print_text(topology_text(topology_of(machine)) + "\n")
    print_rows(machine_rows(machine))


def show_capture(capture: Capture, out: Path) -> None:
    """What was written."""
    asked = "asked" if capture.nvml and capture.nvml.gpus else "no answer"
    print_rows(
        [
            ("capture", str(out)),
            ("size", f"{out.stat().st_size / 1000:.0f} kB"),
            ("NVIDIA driver", asked),
            ("could not be read", str(len(capture.errors))),
        ]
    )


def show_audit(audit: Audit) -> None:
    """Every line with its verdict, and the count of them."""
    table = Table(box=None, pad_edge=False)
    for column in ("", "line", "evidence, bar and next step"):
        table.add_column(column, overflow="fold")
    for item in audit.items:
        table.add_row(Text(item.status, STYLES.get(item.status, "")), item.name, Text(_said(item)))
    print_table(table)
    counts = [f"{audit.count(status)} {status}" for status in WORST_FIRST if audit.count(status)]
    basis = f"job {audit.needs.job}" if audit.needs.job else "the rules of the field"
    print_text(f"\n{', '.join(counts)}; held against {basis}\n")


def _said(item: Item) -> str:
    said = item.evidence
    if item.bar:
        said += f"\nasked: {item.bar}, from the {item.bar_from}"
    if item.next_step:
        said += f"\nnext: {item.next_step}"
    return said
