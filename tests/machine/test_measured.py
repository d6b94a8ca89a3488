from __future__ import annotations

import statistics
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from filmgate.machine.measured import (
    BenchPart,
    MachineMeasured,
    identity_of,
    measure_of,
)
from filmgate.records import Header, read_record, write_record
from tests.machine.made import made_server

RATES = st.lists(st.floats(1e-3, 1e12), min_size=1, max_size=20)


@given(values=RATES)
def test_a_measure_keeps_every_value_and_its_median_and_ends(values: list[float]) -> None:
    measure = measure_of("read", "bytes/s", values, definition="bytes over time")
    assert measure.values == values
    assert measure.low <= measure.median <= measure.high
    assert measure.median == statistics.median(values)
    assert measure.repetitions == len(values)


def measured(*parts: BenchPart) -> MachineMeasured:
    machine = made_server().machine()
    return MachineMeasured(
        header=Header(schema="filmgate.bench", schema_version=1),
        identity=identity_of(machine, {"fio": "3.33"}),
        is_quick=False,
        parts=list(parts),
    )


def test_a_part_and_its_measure_are_found_by_name() -> None:
    read = measure_of("read", "bytes/s", [2.0], definition="bytes over time")
    record = measured(BenchPart(name="storage", status="measured", measures=[read]))
    assert record.measure("storage", "read") == read
    assert record.measure("storage", "write") is None
    assert record.part("sync") is None
    assert record.measure("sync", "read") is None


def test_the_record_reads_back_as_it_was_written(tmp_path: Path) -> None:
    record = measured(BenchPart(name="sync", status="not present", why="one GPU"))
    write_record(tmp_path / "bench.json", record)
    assert read_record(tmp_path / "bench.json", MachineMeasured) == record


def test_every_null_of_an_identity_has_a_reason() -> None:
    identity = measured().identity
    for field in identity.__struct_fields__:
        assert getattr(identity, field) is not None or identity.why(field) != "not told"
    assert identity.versions["fio"] == "3.33"
