from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from filmgate.errors import UserError
from filmgate.train.repeatable import (
    choose_device,
    random_state,
    repeatable,
    restore_random_state,
)

CPU = torch.device("cpu")


def draw() -> tuple[float, float, float]:
    return random.random(), float(np.random.random()), float(torch.rand(()))


def test_the_same_seed_gives_the_same_numbers_from_every_generator() -> None:
    drawn = []
    for seed in (3, 3, 4):
        with repeatable(seed, 1, CPU):
            drawn.append(draw())
    assert drawn[0] == drawn[1]
    assert all(a != b for a, b in zip(drawn[0], drawn[2], strict=True))


def test_a_restored_state_goes_on_where_it_was() -> None:
    with repeatable(0, 1, CPU):
        state = random_state()
        first = draw()
        restore_random_state(state)
        assert draw() == first


def test_settings_and_generators_are_put_back() -> None:
    before, threads = random_state(), torch.get_num_threads()
    with repeatable(0, threads + 1, CPU):
        assert torch.are_deterministic_algorithms_enabled()
        assert torch.get_num_threads() == threads + 1
        draw()
    assert not torch.are_deterministic_algorithms_enabled()
    assert torch.get_num_threads() == threads
    after = random_state()
    assert after["python"] == before["python"] and after["numpy"] == before["numpy"]
    assert torch.equal(after["torch"], before["torch"])


def test_auto_takes_what_is_there() -> None:
    wanted = "cuda" if torch.cuda.is_available() else "cpu"
    assert choose_device("auto").type == wanted


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_refused() -> None:
    with pytest.raises(UserError, match=r"train\.device is cuda") as raised:
        choose_device("cuda")
    assert 'device = "auto"' in raised.value.hint
