"""Make ``.venv-peers``: filmgate, and beside it the other readers that the benchmarks compare.

    python -m tools.peers

An environment of its own, because each of these brings an FFmpeg. A reader that cannot be
installed here is named, and the comparison then shows it as not installed.
"""

from __future__ import annotations

import sys

from tools.environment import PINS, ROOT, SetupError, new_environment, pinned, step, talk
from tools.setup import BUILD_TOOLS
from tools.torch_build import choose_torch, has_nvidia_gpu

PEERS = ROOT / "requirements" / "peers.txt"


def main() -> int:
    """Exit code 0: made, perhaps without some reader; 2: not made."""
    constraints = ("-c", str(PINS))
    try:
        pip = new_environment(ROOT / ".venv-peers")
        torch = choose_torch(pip, version=pinned("torch"), gpu=has_nvidia_gpu())
        with step(torch.description):
            pip.install(*constraints, *torch.options, torch.requirement)
        with step("filmgate and what it needs"):
            pip.install(*constraints, *BUILD_TOOLS)
            pip.install(*constraints, "--no-build-isolation", "-e", str(ROOT))
    except SetupError as error:
        talk(f"error: {error}\nhint: {error.hint}")
        return 2
    for requirement in requirements():
        try:
            with step(requirement):
                pip.install(*constraints, requirement)
        except SetupError as error:
            talk(f"  left out: {str(error).splitlines()[-1]}")
    return 0


def requirements() -> list[str]:
    """The lines of requirements/peers.txt that are no comments."""
    lines = (line.strip() for line in PEERS.read_text().splitlines())
    return [line for line in lines if line and not line.startswith("#")]


if __name__ == "__main__":
    sys.exit(main())
