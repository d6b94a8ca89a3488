"""Several processes of one module that start together, and are ended together."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

from filmgate.errors import DeadlineError, WorkError
from filmgate.records import Record, read_record, write_record

LOOK_SECONDS = 0.05
A = TypeVar("A", bound=Record)


def run_together(
    module: str,
    request: Record,
    answer: type[A],
    *,
    num_processes: int,
    deadline_seconds: float,
    environment: Mapping[str, str] | None = None,
    on_lines: Callable[[int], None] = lambda count: None,
) -> list[A]:
    """What each process answered: ``python -m MODULE FOLDER NUMBER``, with a request in the folder.

    ``on_lines`` hears how many lines the first one has printed. Raises WorkError when one fails,
    and DeadlineError when they take too long; all are ended then.
    """
    with tempfile.TemporaryDirectory(prefix="filmgate-bench-") as name, ExitStack() as stack:
        folder = Path(name)
        write_record(request_file(folder), request)
        children: list[subprocess.Popen[bytes]] = []
        stack.callback(_end, children)
        for number in range(num_processes):
            talk = stack.enter_context((folder / f"talk-{number}").open("wb"))
            said = stack.enter_context((folder / f"said-{number}").open("wb"))
            command = [sys.executable, "-m", module, name, str(number)]
            variables = {**os.environ, **(environment or {})}
            children.append(
                subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=said, stderr=talk, env=variables
                )
            )
        _wait(children, folder, deadline_seconds, on_lines)
        return [read_record(answer_file(folder, number), answer) for number in range(num_processes)]


def request_file(folder: Path) -> Path:
    """What the processes are to do."""
    return folder / "request.json"


def answer_file(folder: Path, number: int) -> Path:
    """What a process found."""
    return folder / f"answer-{number}.json"


def tell_line() -> None:
    """From a process: one more piece of its work is done."""
    sys.stdout.write("done\n")
    sys.stdout.flush()


def _wait(
    children: list[subprocess.Popen[bytes]],
    folder: Path,
    deadline_seconds: float,
    on_lines: Callable[[int], None],
) -> None:
    began, num_lines = time.monotonic(), 0
    while True:
        codes = [child.poll() for child in children]
        for number, code in enumerate(codes):
            if code:
                raise WorkError(f"process {number} of {len(codes)} {_why(folder, number, code)}")
        lines = (folder / "said-0").read_bytes().count(b"\n")
        if lines > num_lines:
            num_lines = lines
            on_lines(num_lines)
        if None not in codes:
            return
        if time.monotonic() - began > deadline_seconds:
            raise DeadlineError(
                f"{len(codes)} processes that measure together had not ended after "
                f"{deadline_seconds:.0f} s",
                hint="is the machine busy? --quick measures less",
            )
        time.sleep(LOOK_SECONDS)


def _why(folder: Path, number: int, code: int) -> str:
    lines = (folder / f"talk-{number}").read_text(errors="backslashreplace").split("\n")
    said = [line.strip() for line in lines if line.strip()]
    return f"ended with exit code {code}" + (f": {said[-1]}" if said else "")


def _end(children: list[subprocess.Popen[bytes]]) -> None:
    for child in children:
        if child.poll() is None:
            child.kill()
    for child in children:
        child.wait()
