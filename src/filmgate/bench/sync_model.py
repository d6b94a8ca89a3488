"""What a step of data-parallel training pays for summing its gradients, from measured all-reduces.

Sources: performance notes of nccl-tests (github.com/NVIDIA/nccl-tests/blob/master/doc/
PERFORMANCE.md) for bus bandwidth; S. Li et al., "PyTorch Distributed", VLDB 2020, section 3.2, and
torch's reducer.cpp for buckets and the order of work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

FIRST_BUCKET_BYTES = 1 << 20
"""Where DDP closes its first bucket, so that the exchange starts early."""
BUCKET_BYTES = 25 << 20
"""Where it closes the others: ``bucket_cap_mb``."""
BACKWARD_SHARE = 2 / 3
"""Of a step's computing; a backward pass is twice the work of a forward pass."""


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """One all-reduce of a size."""

    num_bytes: int
    """On each rank."""
    seconds: float
    """From the call until the slowest rank has the sum."""
    core_seconds: float
    """CPU time of one rank meanwhile, all its threads; 0 where no CPU does the work."""


@dataclass(frozen=True, kw_only=True)
class Link:
    """Measured all-reduces of rising sizes, and what lies around them on each rank."""

    num_ranks: int
    exchanges: Sequence[Exchange]
    """Of rising size, two at least."""
    copy_seconds_per_byte: float
    """Into the bucket, divided by the number of ranks, and back."""
    num_cores: int | None
    """Cores that all ranks share for computing and for the exchange; None: they compute on
    GPUs."""
    threads: int = 1
    """That each rank computes with on these cores."""

    def seconds_of(self, num_bytes: float) -> float:
        """An all-reduce: measured, on a line between two sizes, or beyond the last two."""
        return self._on_line(num_bytes, [one.seconds for one in self.exchanges])

    def core_seconds_of(self, num_bytes: float) -> float:
        """Likewise, of the CPU time of one rank."""
        return self._on_line(num_bytes, [one.core_seconds for one in self.exchanges])

    def _on_line(self, num_bytes: float, values: Sequence[float]) -> float:
        sizes = [one.num_bytes for one in self.exchanges]
        if num_bytes <= sizes[0]:
            return values[0]
        pairs = list(zip(pairwise(sizes), pairwise(values), strict=True))
        ends, points = next((pair for pair in pairs if num_bytes <= pair[0][1]), pairs[-1])
        place = (num_bytes - ends[0]) / (ends[1] - ends[0])
        # Two noisy points may fall; beyond the last, more bytes never take less time.
        return max(points[0] + place * (points[1] - points[0]), min(points))


@dataclass(frozen=True, kw_only=True)
class StepShare:
    """What summing gradients adds to a step."""

    buckets: list[int]
    """Bytes of each, in the order in which they are sent."""
    exchange_seconds: float
    """All buckets one after another, copies included."""
    exposed_seconds: float
    """What is left of it where the exchange runs beside the backward pass."""
    share: float
    """Of the step when nothing is hidden: exchange over computing and exchange."""
    overlapped_share: float
    """Of the step when it runs beside the backward pass, as DDP does it."""
    core_share: float | None
    """Of the step's core time; None where ranks compute on GPUs."""


def bus_bytes_per_second(num_bytes: float, seconds: float, num_ranks: int) -> float:
    """Bus bandwidth of an all-reduce: S / t * 2 (n - 1) / n, as nccl-tests counts it."""
    return num_bytes / seconds * 2 * (num_ranks - 1) / num_ranks


def fit_link(exchanges: Sequence[Exchange]) -> tuple[float, float, float]:
    """Latency in s, bytes/s of S / t, and the largest relative miss of t = latency + S / rate.

    The line with the least sum of squared relative errors; a latency below 0 is taken as 0.
    """
    rows = [(1 / one.seconds, one.num_bytes / one.seconds) for one in exchanges]
    aa = sum(a * a for a, _ in rows)
    ab = sum(a * b for a, b in rows)
    bb = sum(b * b for _, b in rows)
    a1, b1 = sum(a for a, _ in rows), sum(b for _, b in rows)
    determinant = aa * bb - ab * ab
    latency = (a1 * bb - b1 * ab) / determinant if determinant else 0.0
    per_byte = (b1 * aa - a1 * ab) / determinant if determinant else 0.0
    if latency < 0:
        latency, per_byte = 0.0, b1 / bb
    if per_byte <= 0:
        latency, per_byte = 0.0, b1 / bb
    misses = [abs(latency + per_byte * one.num_bytes - one.seconds) / one.seconds
              for one in exchanges]  # fmt: skip
    return latency, 1 / per_byte, max(misses)


def bucket_sizes(
    parameter_bytes: Sequence[int], first: int = FIRST_BUCKET_BYTES, cap: int = BUCKET_BYTES
) -> list[int]:
    """Bytes of DDP's buckets for the gradients of parameters in the model's order.

    They are filled from the last parameter on; one is closed as soon as it reaches its limit, so
    that a large parameter makes a large bucket.
    """
    buckets, filled, limit = [], 0, first
    for num_bytes in reversed(parameter_bytes):
        filled += num_bytes
        if filled >= limit:
            buckets.append(filled)
            filled, limit = 0, cap
    return [*buckets, filled] if filled else buckets


def even_buckets(gradient_bytes: int) -> list[int]:
    """Buckets of a gradient of which only the size is known: as if of many small parameters."""
    rest = max(0, gradient_bytes - FIRST_BUCKET_BYTES)
    sizes = [min(gradient_bytes, FIRST_BUCKET_BYTES), *[BUCKET_BYTES] * (rest // BUCKET_BYTES)]
    return [size for size in (*sizes, rest % BUCKET_BYTES) if size]


def share_of_step(link: Link, buckets: Sequence[int], compute_seconds: float) -> StepShare:
    """What a step of ``compute_seconds`` without exchange becomes with these buckets.

    With overlap: gradients come evenly over the last two thirds of the computing, buckets are sent
    one at a time, and a GPU computes as fast as without. Ranks that compute on the same cores as
    the exchange cannot be faster than all their core time over the cores.
    """
    copies = link.copy_seconds_per_byte * sum(buckets)
    whole = sum(map(link.seconds_of, buckets)) + copies
    step = _overlapped(link, buckets, compute_seconds, copies)
    core_share = None
    if link.num_cores is not None:
        extra = sum(map(link.core_seconds_of, buckets)) + copies
        own = compute_seconds * link.threads
        core_share = extra / (own + extra)
        step = max(step, link.num_ranks * (own + extra) / link.num_cores)
    exposed = min(whole, max(0.0, step - compute_seconds))
    return StepShare(
        buckets=list(buckets),
        exchange_seconds=whole,
        exposed_seconds=exposed,
        share=whole / (compute_seconds + whole),
        overlapped_share=exposed / (compute_seconds + exposed),
        core_share=core_share,
    )


def _overlapped(link: Link, buckets: Sequence[int], compute_seconds: float, copies: float) -> float:
    """Seconds of a step in which every bucket is sent as soon as its last gradient is there."""
    computed = compute_seconds + copies / 2
    begins = compute_seconds * (1 - BACKWARD_SHARE)
    total, ready, sent = sum(buckets), 0, 0.0
    for num_bytes in buckets:
        ready += num_bytes
        is_there = begins + (computed - begins) * ready / total
        sent = max(sent, is_there) + link.seconds_of(num_bytes)
    return max(computed, sent) + copies / 2
