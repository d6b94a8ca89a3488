"""``filmgate launch`` on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from filmgate.app.cli_options import Json
from filmgate.app.output import print_record, print_text

if TYPE_CHECKING:
    from filmgate.app.launch import LaunchFile

launch_app = typer.Typer(
    no_args_is_help=True, help="Write what a scheduler needs to start a run and go on with it."
)

JobFile = Annotated[Path, typer.Argument(help="Job file (TOML).")]
Videos = Annotated[
    list[Path] | None, typer.Argument(help="A catalog, or folders of video, as the nodes see them.")
]
Out = Annotated[Path, typer.Option(help="Run folder, on storage that every node sees.")]
Nodes = Annotated[int, typer.Option(min=1, help="Machines.")]
Gpus = Annotated[int, typer.Option(min=0, help="GPUs of each; 0: ranks on CPUs.")]
Ranks = Annotated[
    int | None, typer.Option(min=1, help="Processes on each; none: one for each GPU.")
]
Cpus = Annotated[int | None, typer.Option(min=1, help="Hardware threads of each node.")]
Memory = Annotated[int | None, typer.Option(min=1, help="Memory of each node, in GB.")]
Notice = Annotated[int, typer.Option(help="From the scheduler's signal to its kill.")]
Restarts = Annotated[int, typer.Option(min=0, help="Starts after a rank that died.")]


@launch_app.command()
def slurm(
    job: JobFile,
    videos: Videos = None,
    out: Out = Path("run"),
    nodes: Nodes = 1,
    gpus_per_node: Gpus = 1,
    ranks_per_node: Ranks = None,
    cpus_per_node: Cpus = None,
    memory_gb: Memory = None,
    notice_seconds: Notice = 120,
    max_restarts: Restarts = 3,
    partition: Annotated[str | None, typer.Option(help="None: the cluster's default.")] = None,
    account: Annotated[str | None, typer.Option(help="None: your default.")] = None,
    qos: Annotated[str | None, typer.Option(help="None: your default.")] = None,
    hours: Annotated[
        float | None, typer.Option(min=0.02, help="Time limit of one start; then it is requeued.")
    ] = None,
    setup: Annotated[
        str | None, typer.Option(help="A line of shell before the run, for example an activate.")
    ] = None,
    json: Json = False,
) -> None:
    """A batch script: `sbatch FILE` starts the run, and goes on after preemption or time limit."""
    from filmgate.app.launch import Wanted, slurm_file

    wanted = Wanted(
        job=job, videos=videos or [], out=out, nodes=nodes, gpus_per_node=gpus_per_node,
        ranks_per_node=ranks_per_node, cpus_per_node=cpus_per_node, memory_gb=memory_gb,
        notice_seconds=notice_seconds, max_restarts=max_restarts,
    )  # fmt: skip
    _print(slurm_file(wanted, partition, account, qos, hours, setup), json=json)


@launch_app.command()
def kubernetes(
    job: JobFile,
    image: Annotated[str, typer.Option(help="Container image with filmgate in it.")],
    videos: Videos = None,
    out: Out = Path("run"),
    nodes: Nodes = 1,
    gpus_per_node: Gpus = 1,
    ranks_per_node: Ranks = None,
    cpus_per_node: Cpus = None,
    memory_gb: Memory = None,
    notice_seconds: Notice = 120,
    max_restarts: Restarts = 3,
    volume: Annotated[
        list[str] | None, typer.Option(metavar="CLAIM=FOLDER", help="A volume claim; repeatable.")
    ] = None,
    namespace: Annotated[str | None, typer.Option(help="None: that of kubectl.")] = None,
    queue: Annotated[str | None, typer.Option(help="Local queue of Kueue.")] = None,
    priority: Annotated[str | None, typer.Option(help="Workload priority class of Kueue.")] = None,
    json: Json = False,
) -> None:
    """A JobSet: `kubectl apply -f FILE` starts the run; disruptions restart all ranks."""
    from filmgate.app.launch import Wanted, kubernetes_file

    wanted = Wanted(
        job=job, videos=videos or [], out=out, nodes=nodes, gpus_per_node=gpus_per_node,
        ranks_per_node=ranks_per_node, cpus_per_node=cpus_per_node, memory_gb=memory_gb,
        notice_seconds=notice_seconds, max_restarts=max_restarts,
    )  # fmt: skip
    _print(kubernetes_file(wanted, image, volume or [], namespace, queue, priority), json=json)


@launch_app.command()
def skypilot(
    job: JobFile,
    videos: Videos = None,
    out: Out = Path("run"),
    nodes: Nodes = 1,
    gpus_per_node: Gpus = 1,
    ranks_per_node: Ranks = None,
    cpus_per_node: Cpus = None,
    memory_gb: Memory = None,
    notice_seconds: Notice = 120,
    max_restarts: Restarts = 3,
    accelerator: Annotated[str | None, typer.Option(help="Name of the GPU, as SkyPilot's.")] = None,
    infra: Annotated[
        str | None, typer.Option(help="Cloud, region, zone, for example aws/us-east-1.")
    ] = None,
    spot: Annotated[bool, typer.Option(help="Machines that can be taken back.")] = True,
    mount: Annotated[
        list[str] | None, typer.Option(metavar="URL=FOLDER", help="A bucket; repeatable.")
    ] = None,
    setup: Annotated[
        str | None, typer.Option(help="Shell that installs filmgate there; none: with pip.")
    ] = None,
    workdir: Annotated[Path | None, typer.Option(help="Local folder to copy there.")] = None,
    json: Json = False,
) -> None:
    """A SkyPilot task: `sky jobs launch FILE` rents machines, starts the run and recovers it."""
    from filmgate.app.launch import Wanted, skypilot_file

    wanted = Wanted(
        job=job, videos=videos or [], out=out, nodes=nodes, gpus_per_node=gpus_per_node,
        ranks_per_node=ranks_per_node, cpus_per_node=cpus_per_node, memory_gb=memory_gb,
        notice_seconds=notice_seconds, max_restarts=max_restarts,
    )  # fmt: skip
    _print(skypilot_file(wanted, accelerator, infra, spot, mount or [], setup, workdir), json=json)


def _print(file: LaunchFile, *, json: bool) -> None:
    print_record(file) if json else print_text(file.text)
