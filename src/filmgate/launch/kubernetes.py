"""A JobSet for Kubernetes, with the labels of Kueue where a queue is named.

Source: the JobSet API v1alpha2 (kubernetes-sigs/jobset, api/jobset/v1alpha2/jobset_types.go), the
Job API batch/v1, and kueue.sigs.k8s.io for the labels.
"""

from __future__ import annotations

import re

from filmgate.errors import UserError
from filmgate.launch.command import node_command
from filmgate.launch.render import render
from filmgate.launch.wish import MEND_FIRST, TRY_AGAIN, Launch, label_of
from filmgate.records import Record

RANKS = "ranks"
"""Name of the replicated job, and of its container."""


class KubernetesPlace(Record, frozen=True, kw_only=True):
    """Where in a Kubernetes cluster."""

    image: str
    """Container image with filmgate in it."""
    namespace: str | None = None
    """None: that of kubectl."""
    queue: str | None = None
    """Kueue's local queue; None: not under Kueue."""
    priority: str | None = None
    """Kueue's workload priority class."""
    claims: list[tuple[str, str]] = []
    """(persistent volume claim, folder it is mounted at)."""
    gpu_resource: str = "nvidia.com/gpu"
    """What a GPU is called there."""


def jobset(launch: Launch, place: KubernetesPlace) -> str:
    """The manifest; ``kubectl apply -f FILE`` starts the run.

    A disruption restarts all ranks without limit, a rank that died up to ``max_restarts``, a run
    that the user has to mend never. Raises UserError for what cannot stand in it.
    """
    if not any(_is_below(launch.run_folder, folder) for _, folder in place.claims):
        raise UserError(
            f"the run folder {launch.run_folder} lies on no volume; allowed: a folder below "
            + (", ".join(folder for _, folder in place.claims) or "a --volume"),
            hint="give --volume CLAIM=/folder and an --out below it, so that commits outlast pods",
        )
    for key in ("namespace", "queue", "priority"):
        value = getattr(place, key)
        if value is not None and not re.fullmatch(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?", value):
            raise UserError(f"{key} {value!r} is no name of Kubernetes", hint=f"check --{key}")
    name = label_of(launch.name)
    command = node_command(
        launch,
        node_rank='"$JOB_COMPLETION_INDEX"',
        address=f"{name}-{RANKS}-0-0.{name}",
        attempt=f'{name}-"$JOBSET_RESTART"',
    )
    return render(
        "kubernetes.jinja",
        name=name,
        ranks=RANKS,
        launch=launch,
        place=place,
        command=f"exec {command}",
        try_again=TRY_AGAIN,
        mend_first=MEND_FIRST,
    )


def _is_below(folder: str, above: str) -> bool:
    return f"{folder.rstrip('/')}/".startswith(f"{above.rstrip('/')}/")
