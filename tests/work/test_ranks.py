from __future__ import annotations

from filmgate.work.ranks import num_local_ranks


def test_the_launcher_tells_how_many_ranks_are_on_this_machine():
    assert num_local_ranks(16, {"LOCAL_WORLD_SIZE": "8"}) == (8, "LOCAL_WORLD_SIZE of torchrun")
    assert num_local_ranks(16, {"OMPI_COMM_WORLD_LOCAL_SIZE": "4"})[0] == 4


def test_without_a_word_of_the_launcher_all_ranks_count_as_here():
    assert num_local_ranks(1, {}) == (1, "no launcher says how many ranks are on this machine")
    assert num_local_ranks(16, {})[0] == 16


def test_a_number_that_cannot_be_is_not_believed():
    for value in ("0", "many", "99", "8(x2)", ""):
        assert num_local_ranks(16, {"LOCAL_WORLD_SIZE": value})[0] == 16
