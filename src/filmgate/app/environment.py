"""``filmgate env``: lock, show, compare and check what is installed and set."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import msgspec

from filmgate.errors import UserError
from filmgate.machine.environment.containerfile import containerfile_text, requirements_text
from filmgate.machine.environment.diff import EnvironmentDiff, compare_environments
from filmgate.machine.environment.facts import Environment, Fact, Probe
from filmgate.machine.environment.grades import worst
from filmgate.machine.environment.lock import capture_environment
from filmgate.machine.environment.packages import canonical
from filmgate.records import read_record, write_file, write_record

LOCK_FILE = "environment.json"
REQUIREMENTS_FILE = "requirements.txt"
CONTAINER_FILE = "Containerfile"
NO_TORCH = "torch is not installed"


def environment_now(
    *,
    uses: Sequence[str] = (),
    container_digest: str | None = None,
    probe: bool = True,
    deep: bool = False,
) -> Environment:
    """What is installed and set here and now."""
    facts, probes = _of_torch(probe=probe)
    return capture_environment(
        facts, probes, uses=uses, container_digest=container_digest, probe=probe, deep=deep
    )


def refuse_missing(environment: Environment) -> None:
    """Raises UserError when a package that the user named is not installed."""
    missing = [one for one in environment.uses if environment.package(canonical(one)) is None]
    if missing:
        raise UserError(
            f"{', '.join(missing)} is not installed here",
            hint="--uses takes names as `pip list` shows them",
        )


def write_lock(environment: Environment, out: Path) -> None:
    """The lock, its requirements and its Containerfile, in the folder ``out``."""
    out.mkdir(parents=True, exist_ok=True)
    write_file(out / REQUIREMENTS_FILE, requirements_text(environment).encode())
    write_file(out / CONTAINER_FILE, containerfile_text(environment).encode())
    write_record(out / LOCK_FILE, environment)


def read_lock(path: Path) -> Environment:
    """A lock by its file or its folder. Raises UserError when it is none."""
    file = path / LOCK_FILE if path.is_dir() else path
    return read_record(file, Environment, missing_hint="make a lock with: filmgate env lock")


def check_lock(path: Path, *, only: Sequence[str] = (), deep: bool = False) -> EnvironmentDiff:
    """What differs here from a lock; ``only`` keeps the areas that are named, as ``package``."""
    lock = read_lock(path)
    here = environment_now(uses=lock.uses, probe=bool(lock.probes), deep=deep)
    return restricted(compare_environments(lock, here), only)


def restricted(diff: EnvironmentDiff, only: Sequence[str]) -> EnvironmentDiff:
    """Only the differences that are named, whole or by the area they begin with; all without."""
    if not only:
        return diff
    kept = [
        one
        for one in diff.differences
        if any(one.name == area or one.name.startswith(f"{area}.") for area in only)
    ]
    return msgspec.structs.replace(diff, differences=kept, grade=worst(one.grade for one in kept))


def _of_torch(*, probe: bool) -> tuple[list[Fact], list[Probe]]:
    if find_spec("torch") is None:
        names = ("torch.cuda", "torch.cudnn", "torch.nccl", "torch.cpu_capability")
        unknown = [Fact(name=name, value=None, why_unknown=NO_TORCH) for name in names]
        return unknown, [Probe(name="step.cpu", value=None, why_unknown=NO_TORCH)] if probe else []
    from filmgate.train.environment import torch_facts, torch_probes

    return torch_facts(), torch_probes() if probe else []
