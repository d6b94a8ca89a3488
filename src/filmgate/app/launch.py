"""``filmgate launch``: a launch file of a job, checked against the job first."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from filmgate.errors import UserError
from filmgate.launch import Launch
from filmgate.launch.kubernetes import KubernetesPlace, jobset
from filmgate.launch.skypilot import SkyPlace, task
from filmgate.launch.slurm import SlurmPlace, sbatch
from filmgate.launch.wish import check_launch
from filmgate.records import Header, Record, digest_file
from filmgate.spec import load_job


class LaunchFile(Record, frozen=True):
    """A launch file, as the commands of ``filmgate launch`` print it with ``--json``."""

    header: Header
    """Its input is the digest of the job file."""
    scheduler: str
    """``slurm``, ``kubernetes`` or ``skypilot``."""
    start_with: str
    """The command that starts the run and goes on with it, FILE standing for the text's file."""
    launch: Launch
    """What is started, and on how much."""
    text: str
    """The file."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What the command line says of any scheduler; the fields of ``Launch``, unset ones open."""

    job: Path
    videos: list[Path]
    out: Path
    nodes: int
    gpus_per_node: int
    ranks_per_node: int | None
    cpus_per_node: int | None
    memory_gb: int | None
    notice_seconds: int
    max_restarts: int


def slurm_file(
    wanted: Wanted,
    partition: str | None,
    account: str | None,
    qos: str | None,
    hours: float | None,
    setup: str | None,
) -> LaunchFile:
    """A batch script. Raises UserError for what the user can mend, as do the others."""
    launch = _launch(wanted)
    place = SlurmPlace(partition=partition, account=account, qos=qos, hours=hours, setup=setup)
    return _file(wanted, "slurm", "sbatch FILE", launch, sbatch(launch, place))


def kubernetes_file(
    wanted: Wanted,
    image: str,
    volumes: list[str],
    namespace: str | None,
    queue: str | None,
    priority: str | None,
) -> LaunchFile:
    """A JobSet."""
    launch = _launch(wanted)
    place = KubernetesPlace(
        image=image,
        namespace=namespace,
        queue=queue,
        priority=priority,
        claims=[_pair(one, "--volume CLAIM=/folder") for one in volumes],
    )
    return _file(wanted, "kubernetes", "kubectl apply -f FILE", launch, jobset(launch, place))


def skypilot_file(
    wanted: Wanted,
    accelerator: str | None,
    infra: str | None,
    is_spot: bool,
    mounts: list[str],
    setup: str | None,
    workdir: Path | None,
) -> LaunchFile:
    """A SkyPilot task."""
    launch = _launch(wanted)
    place = SkyPlace(
        accelerator=accelerator,
        infra=infra,
        is_spot=is_spot,
        mounts=[_pair(one, "--mount BUCKET-URL=/folder") for one in mounts],
        workdir=None if workdir is None else str(workdir),
        **({} if setup is None else {"setup": setup}),
    )
    return _file(wanted, "skypilot", "sky jobs launch FILE", launch, task(launch, place))


def _launch(wanted: Wanted) -> Launch:
    job = load_job(wanted.job)
    launch = Launch(
        name=job.job.name,
        arguments=[
            "run",
            *map(str, wanted.videos),
            "--job",
            str(wanted.job),
            "--out",
            str(wanted.out),
        ],
        run_folder=str(wanted.out),
        nodes=wanted.nodes,
        gpus_per_node=wanted.gpus_per_node,
        ranks_per_node=wanted.ranks_per_node or max(1, wanted.gpus_per_node),
        cpus_per_node=wanted.cpus_per_node,
        memory_gb=wanted.memory_gb,
        notice_seconds=wanted.notice_seconds,
        max_restarts=wanted.max_restarts,
    )
    check_launch(launch, job.train.batch_size)
    return launch


def _pair(text: str, form: str) -> tuple[str, str]:
    """What is before and after the last ``=``. Raises UserError."""
    before, equals, folder = text.rpartition("=")
    if not equals or not before or not folder.startswith("/"):
        raise UserError(f"{text!r} is no volume", hint=f"write {form}")
    return before, folder


def _file(wanted: Wanted, scheduler: str, start_with: str, launch: Launch, text: str) -> LaunchFile:
    return LaunchFile(
        header=Header(
            schema="filmgate.launch", schema_version=1, inputs={"job": digest_file(wanted.job)}
        ),
        scheduler=scheduler,
        start_with=start_with,
        launch=launch,
        text=text,
    )
