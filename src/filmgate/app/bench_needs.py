"""What a bench tells an audit: what the storage gives, and what the loader asks of it."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from filmgate.app.bench import read_bench
from filmgate.machine import Machine, Needs
from filmgate.machine.measured import MachineMeasured, Measure

MOST_TELLING = ("loader-read", "whole-file-read", "sequential-read")
"""Measures of storage by how like the loader's reads they are."""


def with_bench(needs: Needs, path: Path, machine: Machine) -> Needs:
    """The needs with the figures of a ``bench.json``; what the command line tells stands above.

    Raises UserError for another machine's, and for a file that is no bench.
    """
    record = read_bench(path, machine)
    read, need = _storage(record), _need(record)
    if read is not None and needs.measured_read_bytes_per_second is None:
        needs = replace(
            needs,
            measured_read_bytes_per_second=read.median,
            measured_read_from=f"by {read.name} of the bench of {_date(record)}{_where(record)}",
        )
    if need is not None and needs.read_bytes_per_second is None:
        needs = replace(
            needs,
            read_bytes_per_second=need,
            read_from=f"the demand in the bench of {_date(record)}",
        )
    return needs


def _storage(record: MachineMeasured) -> Measure | None:
    found = [record.measure("storage", name) for name in MOST_TELLING]
    return next((one for one in found if one is not None), None)


def _need(record: MachineMeasured) -> float | None:
    """Bytes a second that the loader reads at the rate at which training takes clips."""
    supply, demand, read = (
        record.measure("feed", name) for name in ("supply", "demand", "read")
    )  # fmt: skip
    if supply is None or demand is None or read is None:
        return None
    return read.median / supply.median * demand.median


def _where(record: MachineMeasured) -> str:
    part = record.part("storage")
    place = part.facts.get("filesystem") if part else None
    return f", on {place}" if place else ""


def _date(record: MachineMeasured) -> str:
    return record.header.created_at[:10]
