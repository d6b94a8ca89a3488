from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filmgate.units import (
    counted,
    format_bytes,
    format_number,
    format_rate,
    format_seconds,
    parse_bytes,
)


@pytest.mark.parametrize(
    ("text", "num_bytes"),
    [("8GB", 8 * 10**9), ("8 GiB", 8 * 2**30), ("1.5kb", 1500), ("12", 12), ("0B", 0)],
)
def test_sizes_are_read_with_decimal_and_binary_units(text: str, num_bytes: int) -> None:
    assert parse_bytes(text) == num_bytes


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "8 gigs", "1e3"])
def test_a_size_that_is_none_is_refused_with_the_allowed_units(text: str) -> None:
    with pytest.raises(ValueError, match="KiB"):
        parse_bytes(text)


@given(st.integers(min_value=0, max_value=10**17))
def test_a_printed_size_reads_back_within_its_three_digits(num_bytes: int) -> None:
    assert parse_bytes(format_bytes(num_bytes)) == pytest.approx(num_bytes, rel=0.006, abs=0.5)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0152, "15.2 ms"), (3.21, "3.2 s"), (59.96, "1 min 00 s"), (72, "1 min 12 s"),
     (7500, "2 h 05 min"), (3599.7, "1 h 00 min")],
)  # fmt: skip
def test_durations_show_the_units_that_matter(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text


def test_an_unknown_rate_says_so() -> None:
    assert format_rate(None, "clips") == "unknown"
    assert format_rate(12.345, "clips") == "12.3 clips/s"


@pytest.mark.parametrize(
    ("value", "text"),
    [(1094.2, "1090"), (999.6, "1000"), (12.345, "12.3"), (0.0081234, "0.00812"), (0, "0"),
     (2.5e7, "25000000"), (8.1e-6, "0.0000081"), (float("inf"), "inf"), (-1500.0, "-1500")],
)  # fmt: skip
def test_a_number_for_people_has_three_digits_and_no_exponent(value: float, text: str) -> None:
    assert format_number(value) == text


@given(st.floats(min_value=1e-9, max_value=1e17))
def test_nothing_written_for_people_has_an_exponent(value: float) -> None:
    written = [format_number(value), format_rate(value, "clips"), format_bytes(value)]
    written.append(format_seconds(value))
    assert not any("e+" in text or "e-" in text for text in written)


@pytest.mark.parametrize(
    ("number", "noun", "said"),
    [(0, "shard", "0 shards"), (1, "shard", "1 shard"), (2, "class", "2 classes"),
     (3, "copy", "3 copies"), (1, "copy", "1 copy"), (2, "day", "2 days")],
)  # fmt: skip
def test_counted_nouns_are_one_or_many(number: int, noun: str, said: str) -> None:
    assert counted(number, noun) == said
