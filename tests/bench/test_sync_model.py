"""Laws of the exchange's arithmetic, and DDP's own buckets."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import distributed

from filmgate.bench.sync_model import (
    BUCKET_BYTES,
    FIRST_BUCKET_BYTES,
    Exchange,
    Link,
    bucket_sizes,
    bus_bytes_per_second,
    even_buckets,
    fit_link,
    share_of_step,
)

LATENCY, RATE = 30e-6, 2e9
SIZES = (8, 1 << 10, 1 << 20, 25 << 20, 64 << 20)
GRADIENTS = st.integers(4, 4 << 30)
SECONDS = st.floats(1e-4, 100)


def link(
    *, num_cores: int | None = None, ranks: int = 2, core_share: float = 0.5, copies: float = 1e-10
) -> Link:
    """A made-up one on which t = latency + bytes / rate."""
    seconds = [LATENCY + size / RATE for size in SIZES]
    return Link(
        num_ranks=ranks,
        exchanges=[
            Exchange(num_bytes=size, seconds=t, core_seconds=core_share * t if num_cores else 0.0)
            for size, t in zip(SIZES, seconds, strict=True)
        ],
        copy_seconds_per_byte=copies,
        num_cores=num_cores,
    )


def test_bus_bandwidth_is_that_of_nccl_tests() -> None:
    # 1 GB in 10 ms between 8 ranks: algbw 100 GB/s, busbw 175 GB/s.
    assert bus_bytes_per_second(10**9, 0.01, 8) == pytest.approx(175e9)
    assert bus_bytes_per_second(10**9, 0.01, 2) == pytest.approx(100e9)


def test_the_fit_finds_latency_and_rate_of_an_exact_line() -> None:
    latency, rate, worst = fit_link(link().exchanges)
    assert latency == pytest.approx(LATENCY)
    assert rate == pytest.approx(RATE)
    assert worst < 1e-9


@given(st.lists(st.floats(1e-6, 10), min_size=len(SIZES), max_size=len(SIZES)))
def test_the_fit_never_has_a_latency_below_zero_or_a_rate_that_is_none(times: list[float]) -> None:
    found = [
        Exchange(num_bytes=size, seconds=t, core_seconds=0.0)
        for size, t in zip(SIZES, times, strict=True)
    ]
    latency, rate, worst = fit_link(found)
    assert latency >= 0
    assert rate > 0
    assert worst >= 0


@given(st.floats(1, 1e10))
def test_between_and_beyond_measured_sizes_lies_the_line(num_bytes: float) -> None:
    expected = LATENCY + max(num_bytes, SIZES[0]) / RATE
    assert link().seconds_of(num_bytes) == pytest.approx(expected, rel=1e-6)


@given(GRADIENTS)
def test_even_buckets_hold_the_whole_gradient(gradient_bytes: int) -> None:
    buckets = even_buckets(gradient_bytes)
    assert sum(buckets) == gradient_bytes
    assert all(0 < size <= BUCKET_BYTES for size in buckets)
    assert buckets[0] <= FIRST_BUCKET_BYTES


@given(st.lists(st.integers(1, 3000), min_size=1, max_size=60))
def test_buckets_are_those_that_torch_makes(counts: list[int]) -> None:
    first, cap = 4000, 20_000
    tensors = [torch.zeros(count) for count in reversed(counts)]
    indices, _ = distributed._compute_bucket_assignment_by_size(tensors, [first, cap])
    expected = [sum(tensors[index].numel() * 4 for index in bucket) for bucket in indices]
    assert bucket_sizes([count * 4 for count in counts], first, cap) == expected


def test_the_first_bucket_is_the_size_that_torch_has() -> None:
    assert FIRST_BUCKET_BYTES == distributed._DEFAULT_FIRST_BUCKET_BYTES


@given(GRADIENTS, SECONDS, st.sampled_from([None, 2, 16]))
def test_shares_are_shares_and_overlap_never_costs_more(
    gradient_bytes: int, compute_seconds: float, num_cores: int | None
) -> None:
    found = share_of_step(link(num_cores=num_cores), even_buckets(gradient_bytes), compute_seconds)
    assert 0 <= found.overlapped_share <= found.share < 1
    assert 0 <= found.exposed_seconds <= found.exchange_seconds
    assert (found.core_share is None) == (num_cores is None)


@given(GRADIENTS, SECONDS)
def test_a_larger_gradient_never_takes_a_smaller_share(
    gradient_bytes: int, compute_seconds: float
) -> None:
    one = share_of_step(link(), even_buckets(gradient_bytes), compute_seconds)
    more = share_of_step(link(), even_buckets(gradient_bytes + (1 << 20)), compute_seconds)
    assert more.share >= one.share * (1 - 1e-9)


def test_a_long_backward_pass_hides_all_but_the_last_bucket_and_the_copies() -> None:
    buckets = even_buckets(100 << 20)
    found = share_of_step(link(copies=0.0), buckets, 10.0)
    assert found.exposed_seconds == pytest.approx(LATENCY + buckets[-1] / RATE, rel=1e-6)


def test_a_short_backward_pass_hides_nothing_of_what_comes_after_it() -> None:
    buckets = even_buckets(100 << 20)
    found = share_of_step(link(copies=0.0), buckets, 1e-6)
    assert found.exposed_seconds == pytest.approx(found.exchange_seconds, rel=1e-3)


def test_ranks_that_fill_all_cores_pay_for_every_core_second_of_the_exchange() -> None:
    buckets = even_buckets(77 << 20)
    full = share_of_step(link(num_cores=2, copies=0.0), buckets, 10.0)
    spare = share_of_step(link(num_cores=16, copies=0.0), buckets, 10.0)
    assert full.exposed_seconds == pytest.approx(0.5 * full.exchange_seconds, rel=1e-6)
    assert spare.exposed_seconds < 0.3 * full.exposed_seconds
    assert full.core_share == pytest.approx(
        0.5 * full.exchange_seconds / (10 + 0.5 * full.exchange_seconds)
    )
