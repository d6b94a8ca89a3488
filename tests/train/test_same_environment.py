from __future__ import annotations

import pytest
from msgspec.structs import replace

from filmgate.errors import UserError
from filmgate.machine.environment.facts import Environment, Package
from filmgate.machine.environment.lock import make_environment
from filmgate.train.same_environment import refuse_differences

TORCH = Package(name="torch", version="2.13.0", digest="blake3:1", is_needed=True)


@pytest.fixture
def here() -> Environment:
    return make_environment([], [TORCH], [])


def test_ranks_with_the_same_software_may_train(here: Environment) -> None:
    refuse_differences([here, here, here])


def test_a_rank_with_another_torch_is_named_with_the_package(here: Environment) -> None:
    package = replace(here.packages[0], version="2.12.1")
    other = make_environment([], [package], [])
    with pytest.raises(UserError, match=r"rank 2 has another .*package.torch 2.13.0.*2.12.1"):
        refuse_differences([here, here, other])
