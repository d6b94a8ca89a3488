from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from filmgate.plan.memory.allocator import CachingAllocator

MIB = 2**20


def reserved(events: list[int]) -> int:
    allocator = CachingAllocator()
    allocator.replay(events)
    return allocator.reserved_bytes


def test_small_allocations_share_a_segment_of_2_mib() -> None:
    assert reserved([512, 512, 1024]) == 2 * MIB


def test_middling_allocations_share_a_segment_of_20_mib() -> None:
    assert reserved([2 * MIB, 3 * MIB]) == 20 * MIB


def test_a_large_allocation_takes_a_segment_of_its_size_in_2_mib() -> None:
    assert reserved([33 * MIB]) == 34 * MIB


def test_a_freed_block_is_used_again() -> None:
    assert reserved([64 * MIB, -1, 64 * MIB]) == 64 * MIB


def test_freed_neighbours_become_one_block() -> None:
    assert reserved([64 * MIB, -1, 32 * MIB, 32 * MIB, -2, -3, 64 * MIB]) == 64 * MIB


def test_a_hole_that_is_too_small_stays_empty() -> None:
    assert reserved([64 * MIB, -1, 40 * MIB, 64 * MIB]) == 128 * MIB


@given(st.lists(st.tuples(st.integers(0, 64 * MIB), st.integers(0, 30)), max_size=60))
def test_what_is_reserved_holds_what_is_live(pairs: list[tuple[int, int]]) -> None:
    events: list[int] = []
    live: dict[int, int] = {}
    most = 0
    for size, choice in pairs:
        live[sum(event >= 0 for event in events)] = -(-size // 512) * 512
        events.append(-(-size // 512) * 512)
        most = max(most, sum(live.values()))
        if choice % 2 and live:
            number = list(live)[choice % len(live)]
            del live[number]
            events.append(-1 - number)
    assert reserved(events) >= most
