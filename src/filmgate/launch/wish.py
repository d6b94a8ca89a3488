"""What is to be started, and on how much; the same for every scheduler."""

from __future__ import annotations

import re

from filmgate.errors import UserError
from filmgate.records import Record

TRY_AGAIN = 75
"""Exit code of a run that was stopped and committed; the same command goes on."""
MEND_FIRST = 2
"""Exit code of a run that the user has to mend; starting it again does not help."""
NOTICE_MARGIN_SECONDS = 15
"""What is left of the notice for launcher and scheduler once the ranks have committed."""


class Launch(Record, frozen=True):
    """One run on one or many nodes."""

    name: str
    """Of the job; letters, digits, dot, dash, underscore."""
    arguments: list[str]
    """Of ``filmgate``, for example ``["run", "videos", "--job", "job.toml", "--out", "run"]``."""
    run_folder: str
    """Folder of the run, on storage that every node sees; ``run.json`` in it means done."""
    nodes: int = 1
    """Machines."""
    gpus_per_node: int = 1
    """GPUs of each; 0: ranks on CPUs."""
    ranks_per_node: int = 1
    """Training processes on each."""
    cpus_per_node: int | None = None
    """Hardware threads of each; None: what the scheduler gives."""
    memory_gb: int | None = None
    """Memory of each, in GB; None: what the scheduler gives."""
    notice_seconds: int = 120
    """From the signal to the kill; the commit has to be done by then."""
    max_restarts: int = 3
    """Starts after a rank that died; stops by the scheduler do not count."""
    port: int = 29400
    """Of the first node, where the ranks find each other."""

    @property
    def num_ranks(self) -> int:
        """Of all nodes."""
        return self.nodes * self.ranks_per_node


def check_launch(launch: Launch, batch_size: int) -> None:
    """Raise UserError where no run can come of it."""
    if launch.gpus_per_node and launch.ranks_per_node != launch.gpus_per_node:
        raise UserError(
            f"{launch.ranks_per_node} ranks on {launch.gpus_per_node} GPUs of a node; "
            "allowed: one rank for each GPU",
            hint="leave --ranks-per-node away, or give --gpus-per-node 0 for ranks on CPUs",
        )
    if batch_size % launch.num_ranks:
        raise UserError(
            f"batch_size is {batch_size} over all ranks, and there are {launch.num_ranks}; "
            "allowed: a multiple of the ranks",
            hint="change batch_size in [train], or --nodes and --gpus-per-node",
        )
    if launch.notice_seconds <= NOTICE_MARGIN_SECONDS:
        raise UserError(
            f"a notice of {launch.notice_seconds} s is too short for a commit; "
            f"allowed: above {NOTICE_MARGIN_SECONDS} s",
            hint="give --notice-seconds 120",
        )


def label_of(name: str) -> str:
    """The name as Kubernetes and clouds take it: lower case, digits, dashes, at most 40.

    Raises UserError when nothing is left.
    """
    label = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40].rstrip("-")
    if not label or not label[0].isalpha():
        raise UserError(
            f"{name!r} is no name for a cluster; allowed: one that begins with a letter",
            hint="set name in [job]",
        )
    return label
