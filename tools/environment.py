"""A virtual environment and its pip, and the few lines a person sees meanwhile.

Standard library only: this runs before anything is installed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PINS = ROOT / "requirements" / "pins.txt"

PIP_DEADLINE_SECONDS = 2 * 3600.0
"""A CUDA build is gigabytes, and a line may be slow; pip itself gives up on a silent host."""


class SetupError(Exception):
    """The environment cannot be made: a message, and a hint that says what to do next."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class Pip:
    """pip of one environment; what it says goes to ``setup.log`` inside the environment."""

    def __init__(self, venv: Path) -> None:
        self.python = venv / "bin" / "python"
        self.log = venv / "setup.log"

    def install(self, *arguments: str) -> None:
        """``pip install``, without compiling what may never be imported. Raises SetupError."""
        self.run_python("-m", "pip", "install", "--no-compile", *arguments)

    def run_python(self, *arguments: str, deadline_seconds: float = PIP_DEADLINE_SECONDS) -> str:
        """Its standard output. Raises SetupError with the last lines of what it said."""
        command = [str(self.python), "-I", *arguments]  # -I: no PYTHONPATH, no user packages
        shown = " ".join(command)
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=deadline_seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise SetupError(
                f"`{shown}` did not end within {deadline_seconds:.0f} s",
                "look at the network, then run make again",
            ) from None
        with self.log.open("a") as log:
            log.write(f"$ {shown}\n{done.stdout}{done.stderr}")
        if done.returncode != 0:
            said = "\n".join((done.stdout + done.stderr).strip().splitlines()[-12:])
            raise SetupError(
                f"`{shown}` failed with exit code {done.returncode}:\n{said}",
                f"{self.log} has all of it; when it is mended, run make again",
            )
        return done.stdout


def new_environment(venv: Path) -> Pip:
    """An empty environment with pip, in place of whatever was there.

    Raises SetupError, also where a running process still uses the one that is there.
    """
    users = list(processes_using(venv))
    if users:
        raise SetupError(
            f"{venv.name} is to be made anew, but is in use: {'; '.join(users)}",
            "wait for that to end, or stop it; then run make again",
        )
    with step(f"new environment {venv.name}"):
        if venv.exists():
            shutil.rmtree(venv)
        try:
            subprocess.run(
                [sys.executable, "-m", "venv", str(venv)],
                check=True,
                capture_output=True,
                text=True,
                timeout=600,
            )
        except subprocess.CalledProcessError as error:
            raise SetupError(
                f"{sys.executable} makes no environment: {(error.stdout + error.stderr).strip()}",
                "on Debian and Ubuntu: apt-get install python3-venv",
            ) from None
    return Pip(venv)


def processes_using(venv: Path) -> Iterator[str]:
    """``process 123 (command line)`` for each that has a library of the environment loaded."""
    inside = f" {venv.resolve()}/"
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if inside in (process / "maps").read_text():
                command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
                yield f"process {process.name} ({command[:80]})"
        except (OSError, UnicodeDecodeError):
            continue  # it has ended meanwhile, or is another user's


def pinned(name: str, pins: Path = PINS) -> str:
    """The exact version in requirements/pins.txt. Raises SetupError when it has none."""
    for line in pins.read_text().splitlines():
        pin, _, version = line.partition("==")
        if pin == name:
            return version
    raise SetupError(f"{pins} has no line {name}==VERSION", "make pins writes the file anew")


@contextmanager
def step(what: str) -> Iterator[None]:
    """Tell what is being done, and when it is done how long it took."""
    print(f"  {what} ... ", end="", file=sys.stderr, flush=True)
    began = time.monotonic()
    try:
        yield
    except BaseException:
        talk("failed")
        raise
    talk(f"{time.monotonic() - began:.1f} s")


def talk(line: str) -> None:
    """One line for the person who waits."""
    print(line, file=sys.stderr, flush=True)
