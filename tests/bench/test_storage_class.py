from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filmgate.bench.ask import Read, Trace
from filmgate.bench.storage_class import CLASSES, class_words, demand_words
from filmgate.machine.measured import measure_of


@pytest.mark.parametrize(
    ("rate", "words"),
    [
        (6.1e9, "as fast as one NVMe drive (5 to 7 GB/s)"),
        (22e9, "as fast as RAID 0 of 4 NVMe drives (20 to 25 GB/s)"),
        (44e9, "as fast as RAID 0 of 8 NVMe drives (40 to 50 GB/s)"),
        (1.1e9, "as fast as a NAS over 10 GbE (0.9 to 1.25 GB/s)"),
        (12e9, "faster than one NVMe drive (5 to 7 GB/s), slower than RAID 0 of 4 NVMe drives"),
        (0.02e9, "slower than a hard disk"),
        (80e9, "faster than RAID 0 of 8 NVMe drives"),
    ],
)  # fmt: skip
def test_a_rate_is_put_in_its_class_or_between_two(rate: float, words: str) -> None:
    assert class_words(rate).startswith(words)


@given(rate=st.floats(1, 1e12))
def test_every_rate_has_words(rate: float) -> None:
    assert any(name in class_words(rate) for name, _, _ in CLASSES)


def trace(demand: float | None) -> Trace:
    reads = (Read(path="a", offset=0, length=1_000_000), Read(path="b", offset=0, length=3_000_000))
    return Trace(reads=(reads,), num_clips=2, demand_clips_per_second=demand, says="job run")


def said(demand: float | None, rate: float) -> str:
    replayed = measure_of("loader-read", "bytes/s", [rate], definition="bytes over time")
    return "; ".join(demand_words(trace(demand), replayed))


def test_a_demand_is_held_against_what_the_loaders_reads_reach() -> None:
    assert "training takes 100 clips/s, that is 200 MB/s" in said(100, 1e9)
    assert said(100, 1e9).endswith("the storage gives 5 times that: enough")
    assert said(100, 0.1e9).endswith("gives 0.5 times that: too little")
    assert "just enough" in said(100, 0.22e9)


def test_without_a_demand_the_clips_that_storage_allows_are_said() -> None:
    assert "enough for 500 clips/s" in said(None, 1e9)
    assert said(None, 1e9).endswith("give --step-ms")
