"""Trains in a process of its own, to be killed: CATALOG JOB RUN_FOLDER [LIMIT_BYTES].

Prints a line per step and per event; exits with the code of the error, as the command line does.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path

from filmgate.catalog import open_catalog
from filmgate.errors import FilmgateError
from filmgate.spec import load_job
from filmgate.train.run import train_run


def main(catalog: str, job: str, run_folder: str, limit_bytes: str = "") -> int:
    """Train, and return the exit code."""
    if limit_bytes:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit_bytes), int(limit_bytes)))
    try:
        train_run(
            load_job(Path(job)),
            open_catalog(Path(catalog)),
            Path(run_folder),
            on_progress=lambda step, num_steps, note: _say("step", step),
            on_event=lambda text: _say("event", text),
        )
    except FilmgateError as error:
        _say("error:", error.message, "hint:", error.hint)
        return getattr(error, "exit_code", 2)
    return 0


def _say(*words: object) -> None:
    sys.stdout.write(" ".join(str(word) for word in words) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
