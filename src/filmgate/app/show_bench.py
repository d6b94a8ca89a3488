"""What `filmgate bench` prints for a person."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from filmgate.app.output import print_text
from filmgate.app.show import print_rows, print_table
from filmgate.machine.measured import BenchPart, MachineMeasured, Measure
from filmgate.units import format_bytes, format_seconds, format_share

_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def format_value(value: float, unit: str) -> str:
    """Three significant digits with the unit: ``1.2 GB/s``, ``312 TFLOP/s``, ``84 frames/s``."""
    if unit == "bytes/s":
        return f"{format_bytes(value)}/s"
    if unit == "s":
        return format_seconds(value)
    if unit == "share":
        return format_share(value) if value == 0 or value >= 0.001 else f"{value:.2g}"
    if unit == "FLOP/s":
        for size, prefix in _PREFIXES:
            if value >= size:
                return f"{value / size:.3g} {prefix}FLOP/s"
    return f"{value:.3g} {unit}" if value < 1000 else f"{value:.0f} {unit}"


def spread_words(measure: Measure) -> str:
    """``5 of 980 MB/s to 1.1 GB/s``; ``parts`` where the one value is that of a whole window."""
    if measure.low == measure.high:
        return "measured once" if measure.repetitions == 1 else f"{measure.repetitions} alike"
    low, high = (format_value(end, measure.unit) for end in (measure.low, measure.high))
    count = "parts" if measure.repetitions == 1 else str(measure.repetitions)
    return f"{count} of {low} to {high}"


def show_bench(record: MachineMeasured) -> None:
    """A table for each part, then what it means and what is not known."""
    identity = record.identity
    print_rows([("machine", identity_words(record)), ("date", record.header.created_at)])
    if identity.gpus:
        print_rows([("GPUs", ", ".join(identity.gpus))])
    for part in record.parts:
        print_text(f"\n{part.name}: {part_words(part)}\n")
        _show_part(part)


def identity_words(record: MachineMeasured) -> str:
    """Product, processor and cores on one line."""
    one = record.identity
    cores = "cores unknown" if one.usable_cores is None else f"{one.usable_cores} usable cores"
    memory = "" if one.memory_bytes is None else f"{format_bytes(one.memory_bytes)} memory"
    return ", ".join(word for word in (one.product, one.cpu, cores, memory) if word)


def part_words(part: BenchPart) -> str:
    """How the part ended."""
    took = f"{format_seconds(part.seconds)}"
    return f"measured in {took}" if part.status == "measured" else f"{part.status}: {part.why}"


def _show_part(part: BenchPart) -> None:
    if part.measures:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for column in ("", "median", "spread", "counted"):
            table.add_column(column, overflow="fold")
        for measure in part.measures:
            table.add_row(
                measure.name, Text(format_value(measure.median, measure.unit)),
                Text(spread_words(measure)), Text(counted_words(measure)),
            )  # fmt: skip
        print_table(table)
    rows = [("", said) for said in part.says]
    rows += [(name, said) for name, said in part.facts.items()]
    rows += [("weakness", f"{one.name}: {note}") for one in part.measures for note in one.notes]
    rows += [(name, f"unknown: {why}") for name, why in part.unknown.items()]
    if rows:
        print_rows(rows)


def counted_words(measure: Measure) -> str:
    """What was counted, under which conditions, after which anchor."""
    said = measure.definition
    if measure.conditions:
        said += f" ({', '.join(f'{name} {value}' for name, value in measure.conditions.items())})"
    return said + (f"; as {measure.anchor}" if measure.anchor else "; filmgate's own measure")
