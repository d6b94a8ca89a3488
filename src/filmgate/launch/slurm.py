"""A batch script for Slurm.

Source: sbatch(1) for --signal, --requeue and --open-mode; srun(1) for signals.
"""

from __future__ import annotations

import re
import shlex

from filmgate.errors import UserError
from filmgate.launch.command import node_command
from filmgate.launch.render import render
from filmgate.launch.wish import TRY_AGAIN, Launch
from filmgate.records import Record


class SlurmPlace(Record, frozen=True):
    """Where in a Slurm cluster."""

    partition: str | None = None
    """None: the cluster's default, as for all of these."""
    account: str | None = None
    """Who is charged."""
    qos: str | None = None
    """Quality of service."""
    hours: float | None = None
    """Time limit of one start; a run that is not done by then is queued again."""
    setup: str | None = None
    """A line of shell before the run, for example ``source /shared/venv/bin/activate``."""


def sbatch(launch: Launch, place: SlurmPlace) -> str:
    """The script; ``sbatch FILE`` starts the run and goes on with it.

    Raises UserError for a name that cannot stand in it.
    """
    for key in ("partition", "account", "qos"):
        value = getattr(place, key)
        if value is not None and not re.fullmatch(r"[\w.,@+-]+", value):
            raise UserError(f"{key} {value!r} is no name of Slurm", hint=f"check --{key}")
    command = node_command(
        launch,
        node_rank='"$SLURM_NODEID"',
        address='"$first_node"',
        attempt='"$SLURM_JOB_ID.${SLURM_RESTART_COUNT:-0}"',
    )
    return render(
        "slurm.jinja",
        launch=launch,
        place=place,
        limit=_limit(place.hours),
        command=command,
        task=shlex.quote(f"exec {command}"),
        run_folder=shlex.quote(launch.run_folder),
        try_again=TRY_AGAIN,
    )


def _limit(hours: float | None) -> str | None:
    """As ``--time`` takes it: hours, minutes, seconds."""
    if hours is None:
        return None
    minutes = max(1, round(hours * 60))
    return f"{minutes // 60}:{minutes % 60:02d}:00"
