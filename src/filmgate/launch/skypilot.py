"""A SkyPilot task, for bursts on rented machines.

Source: skypilot-org/skypilot, sky/utils/schemas.py (get_task_schema, resources), and its
documentation of SKYPILOT_NODE_RANK and SKYPILOT_NODE_IPS.
"""

from __future__ import annotations

import re

from filmgate import __version__
from filmgate.errors import UserError
from filmgate.launch.command import node_command
from filmgate.launch.render import render
from filmgate.launch.wish import TRY_AGAIN, Launch, label_of
from filmgate.records import Record


class SkyPlace(Record, frozen=True):
    """What to rent."""

    accelerator: str | None = None
    """Name of the GPU, for example ``H200``; needed where there are GPUs."""
    infra: str | None = None
    """Cloud, region and zone, for example ``aws/us-east-1``; None: the cheapest."""
    is_spot: bool = True
    """Machines that can be taken back at any time; the run goes on elsewhere."""
    mounts: list[tuple[str, str]] = []
    """(bucket URL, folder it is mounted at)."""
    setup: str = f'pip install "filmgate[train]=={__version__}"'
    """Shell that installs filmgate on a fresh machine."""
    workdir: str | None = None
    """Local folder that is copied there; None: nothing."""


def task(launch: Launch, place: SkyPlace) -> str:
    """The task; ``sky jobs launch FILE`` starts the run, and recovers it.

    Raises UserError for what cannot stand in it.
    """
    if launch.gpus_per_node and not re.fullmatch(r"[\w.-]+", place.accelerator or ""):
        raise UserError(
            f"the GPU to rent is {place.accelerator!r}; allowed: a name that SkyPilot knows",
            hint="give --accelerator, one of `sky gpus list`, or --gpus-per-node 0",
        )
    if not any(launch.run_folder.startswith(folder) for _, folder in place.mounts):
        raise UserError(
            f"the run folder {launch.run_folder} goes with the rented machine",
            hint="give --mount BUCKET-URL=/folder and an --out below it",
        )
    command = node_command(
        launch,
        node_rank='"$SKYPILOT_NODE_RANK"',
        address='"$first_node"',
        attempt='"$SKYPILOT_TASK_ID"',
    )
    return render(
        "skypilot.jinja",
        name=label_of(launch.name),
        launch=launch,
        place=place,
        command=command,
        try_again=TRY_AGAIN,
    )
