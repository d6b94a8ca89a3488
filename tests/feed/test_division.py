from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from filmgate.feed.division import Division


def lines(
    first: int, num_samples: int | None, per_rank: int, world_size: int, num_batches: int
) -> list[list[int]]:
    """The samples of every rank, up to the end or for some batches."""
    found = []
    for rank in range(world_size):
        division = Division(
            first=first,
            num_samples=num_samples,
            batch_size=per_rank * world_size,
            rank=rank,
            world_size=world_size,
        )
        positions = range(num_batches * per_rank)
        found.append([division.number(p) for p in positions if not division.is_past_end(p)])
    return found


@given(st.integers(0, 10**9), st.integers(1, 5), st.integers(1, 6), st.integers(1, 5))
def test_ranks_take_every_sample_once_and_batch_by_batch(first, per_rank, ranks, num_batches):
    by_rank = lines(first, None, per_rank, ranks, num_batches)
    batch_size = per_rank * ranks
    for batch in range(num_batches):
        parts = [line[batch * per_rank : (batch + 1) * per_rank] for line in by_rank]
        start = first + batch * batch_size
        assert [number for part in parts for number in part] == list(
            range(start, start + batch_size)
        )


@given(st.integers(0, 60), st.integers(0, 60), st.integers(1, 5), st.integers(1, 6))
def test_all_ranks_have_the_same_number_of_whole_batches_of_a_finite_list(
    first, num_samples, per_rank, ranks
):
    by_rank = lines(first, num_samples, per_rank, ranks, 100)
    assert len({len(line) for line in by_rank}) == 1
    assert len(by_rank[0]) % per_rank == 0
    real = sorted(number for line in by_rank for number in line if number < num_samples)
    assert real == list(range(first, num_samples))


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 4), st.integers(1, 20))
def test_a_resume_with_another_world_size_takes_the_rest(first, ranks, other_ranks, batches):
    before = sorted(n for line in lines(first, None, 2, ranks, batches) for n in line)
    stopped_at = first + len(before)
    after = sorted(n for line in lines(stopped_at, None, 3, other_ranks, 2) for n in line)
    assert before + after == list(range(first, stopped_at + 6 * other_ranks))


@given(
    st.integers(0, 10**6),
    st.integers(1, 4),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(0, 200),
)
def test_every_sample_is_found_in_the_line_of_one_rank(first, per_rank, ranks, step, ahead):
    found = []
    if step > 1:
        ahead %= per_rank * ranks
    for rank in range(ranks):
        division = Division(
            first=first,
            num_samples=None,
            batch_size=per_rank * ranks,
            rank=rank,
            world_size=ranks,
            batch_step=step,
        )
        position = division.position_of(first + ahead)
        between = division.position_of(first + per_rank * ranks)
        assert step == 1 or between is None
        if position is not None:
            found.append(division.number(position))
        assert division.position_of(first - 1) is None
    assert found == [first + ahead]
