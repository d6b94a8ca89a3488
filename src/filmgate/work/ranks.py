"""How many training processes share this machine, as their launcher says it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

COUNTS = (
    ("LOCAL_WORLD_SIZE", "torchrun"),
    ("OMPI_COMM_WORLD_LOCAL_SIZE", "Open MPI"),
    ("MPI_LOCALNRANKS", "MPICH"),
    ("SLURM_NTASKS_PER_NODE", "Slurm"),
)
"""Environment variable -> the launcher that sets it."""


def num_local_ranks(
    world_size: int, environment: Mapping[str, str] = os.environ
) -> tuple[int, str]:
    """The ranks on this machine, and who says so.

    Where no launcher says it, all ranks count as being here: too few workers are better than
    eight times too many.
    """
    for name, launcher in COUNTS:
        found = re.fullmatch(r"[0-9]+", environment.get(name, ""))
        if found and 0 < int(found[0]) <= world_size:
            return int(found[0]), f"{name} of {launcher}"
    return world_size, "no launcher says how many ranks are on this machine"
