"""Ranks compare their environments before they train: sums of unlike software are no result."""

from __future__ import annotations

from filmgate.errors import UserError
from filmgate.machine.environment.diff import compare_environments
from filmgate.machine.environment.facts import Environment
from filmgate.machine.environment.grades import is_worse
from filmgate.machine.environment.lock import capture_environment
from filmgate.train.environment import torch_facts
from filmgate.train.ranks import Ranks


def refuse_other_environments(ranks: Ranks) -> None:
    """Raise UserError on all ranks, naming rank and package, where results can differ."""
    if ranks.world_size == 1:
        return
    here = capture_environment(torch_facts(), [], probe=False)
    refuse_differences(ranks.exchange(here))


def refuse_differences(environments: list[Environment]) -> None:
    """Raise UserError where one of them can give other results than the first."""
    for rank, other in enumerate(environments[1:], start=1):
        found = compare_environments(environments[0], other).differences
        graver = [one for one in found if is_worse(one.grade, "performance")]
        if graver:
            listed = "; ".join(
                f"{one.name} {one.here} on rank 0, {one.there} on rank {rank}" for one in graver[:5]
            )
            raise UserError(
                f"rank {rank} has another environment than rank 0, which can change results: "
                f"{listed}",
                hint="install the same environment on every machine; `filmgate env diff` compares",
            )
