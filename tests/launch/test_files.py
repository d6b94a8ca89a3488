"""Every file is what its scheduler reads, whatever the sizes and names."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from filmgate.errors import UserError
from filmgate.launch import Launch
from filmgate.launch.kubernetes import KubernetesPlace, jobset
from filmgate.launch.skypilot import SkyPlace, task
from filmgate.launch.slurm import SlurmPlace, sbatch
from filmgate.launch.wish import check_launch, label_of

SCHEMAS = Path(__file__).parent / "schemas"
WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1
)


@st.composite
def launches(draw: st.DrawFn) -> Launch:
    gpus = draw(st.integers(0, 8))
    folder = "/data/" + draw(st.sampled_from(["run", "a run", "it's", 'say "so"', "$HOME", "`x`"]))
    return Launch(
        name=draw(st.from_regex(r"[A-Za-z][A-Za-z0-9._-]{0,80}", fullmatch=True)),
        arguments=["run", draw(WORDS), "--job", "/data/job.toml", "--out", folder],
        run_folder=folder,
        nodes=draw(st.integers(1, 64)),
        gpus_per_node=gpus,
        ranks_per_node=gpus or draw(st.integers(1, 8)),
        cpus_per_node=draw(st.none() | st.integers(1, 256)),
        memory_gb=draw(st.none() | st.integers(1, 4000)),
        max_restarts=draw(st.integers(0, 9)),
    )


def in_container(launch: Launch) -> Any:
    place = KubernetesPlace(image="registry/filmgate:1", queue="video", claims=[("d", "/data")])
    return yaml.safe_load(jobset(launch, place))


def rented(launch: Launch) -> Any:
    place = SkyPlace(accelerator="H200", mounts=[("s3://bucket/data", "/data")])
    return yaml.safe_load(task(launch, place))


def schema(name: str) -> Any:
    return json.loads((SCHEMAS / f"{name}.json").read_text())


def is_shell(text: str) -> None:
    done = subprocess.run(["bash", "-n"], input=text.encode(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


@settings(max_examples=25, deadline=None)
@given(launches())
def test_a_batch_script_is_shell_and_its_options_come_before_the_first_command(
    launch: Launch,
) -> None:
    text = sbatch(launch, SlurmPlace(partition="gpu", hours=4))
    is_shell(text)
    lines = text.split("\n")
    options = [number for number, line in enumerate(lines) if line.startswith("#SBATCH ")]
    first = next(n for n, line in enumerate(lines) if line and not line.startswith("#"))
    assert max(options) < first
    assert f"#SBATCH --nodes={launch.nodes}" in lines
    assert f"#SBATCH --signal=B:TERM@{launch.notice_seconds}" in lines
    assert "#SBATCH --requeue" in lines


@settings(max_examples=50, deadline=None)
@given(launches())
def test_a_jobset_fits_the_schema_and_its_command_is_shell_with_the_arguments_whole(
    launch: Launch,
) -> None:
    manifest = in_container(launch)
    jsonschema.validate(manifest, schema("jobset"))
    (job,) = manifest["spec"]["replicatedJobs"]
    spec = job["template"]["spec"]
    assert spec["parallelism"] == spec["completions"] == launch.nodes
    command = spec["template"]["spec"]["containers"][0]["command"][2]
    is_shell(command)
    assert shlex.split(command)[-len(launch.arguments) :] == launch.arguments


@settings(max_examples=50, deadline=None)
@given(launches())
def test_a_rented_task_fits_the_schema_and_its_run_is_shell(launch: Launch) -> None:
    found = rented(launch)
    jsonschema.validate(found, schema("skypilot"))
    is_shell(found["run"])
    assert shlex.split(found["run"])[-len(launch.arguments) :] == launch.arguments
    assert found["num_nodes"] == launch.nodes


def test_the_schemas_refuse_a_misspelt_field() -> None:
    launch = Launch(name="run", arguments=["run"], run_folder="/data/run")
    manifest, found = in_container(launch), rented(launch)
    manifest["spec"]["failurePolicy"]["maxRestart"] = 3
    found["resources"]["use_spots"] = True
    with pytest.raises(jsonschema.ValidationError, match="maxRestart"):
        jsonschema.validate(manifest, schema("jobset"))
    with pytest.raises(jsonschema.ValidationError, match="use_spots"):
        jsonschema.validate(found, schema("skypilot"))


def test_one_rank_has_no_launcher_and_many_nodes_meet_at_the_first() -> None:
    one = Launch(name="run", arguments=["run"], run_folder="/data/run")
    many = Launch(
        name="run", arguments=["run"], run_folder="/data/run", nodes=2,
        gpus_per_node=8, ranks_per_node=8,
    )  # fmt: skip
    assert "torchrun" not in sbatch(one, SlurmPlace())
    assert '--rdzv-endpoint="$first_node":29400' in sbatch(many, SlurmPlace())
    assert "--shutdown-timeout=105" in sbatch(many, SlurmPlace())


def test_a_run_folder_that_goes_with_the_pod_or_machine_is_refused() -> None:
    launch = Launch(name="run", arguments=["run"], run_folder="/elsewhere/run")
    with pytest.raises(UserError, match="lies on no volume"):
        in_container(launch)
    with pytest.raises(UserError, match="goes with the rented machine"):
        rented(launch)


def test_a_batch_that_the_ranks_cannot_share_is_refused() -> None:
    launch = Launch(name="run", arguments=["run"], run_folder="/r", nodes=3)
    with pytest.raises(UserError, match="batch_size is 8 over all ranks, and there are 3"):
        check_launch(launch, 8)


def test_a_name_that_could_break_out_of_a_script_is_refused() -> None:
    launch = Launch(name="run", arguments=["run"], run_folder="/r")
    with pytest.raises(UserError, match="no name of Slurm"):
        sbatch(launch, SlurmPlace(partition="gpu\nrm -rf /"))
    with pytest.raises(UserError, match="no name for a cluster"):
        label_of("__")
