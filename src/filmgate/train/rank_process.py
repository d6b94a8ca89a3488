"""One rank: ``python -m filmgate.train.rank_process JOB CATALOG RUN_FOLDER``, or under torchrun.

Lines of JSON on stdout tell what the first rank does, and why a rank ends; what anything else
prints goes to stderr. The exit code is that of the command line: 0 for a whole run, 75 for one that
a signal stopped, 2 for what the user can mend.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import TracebackType
from typing import NoReturn

import msgspec

from filmgate.catalog import open_catalog
from filmgate.errors import FilmgateError, Interrupted
from filmgate.spec import load_job
from filmgate.train.rank_lines import EventLine, FaultLine, RankLine, StepLine
from filmgate.train.ranks import open_ranks
from filmgate.train.run import train_run
from filmgate.train.same_environment import refuse_other_environments

FAULT_CODE = 2


def main(job_file: str, catalog: str, run_folder: str) -> int:
    """Train as one rank; the exit code."""
    lines = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)

    def tell(line: RankLine) -> None:
        """One line to whoever started this."""
        lines.write(msgspec.json.encode(line) + b"\n")

    job = load_job(Path(job_file))
    try:
        with open_ranks(job.train.device) as ranks:
            refuse_other_environments(ranks)
            train_run(
                job,
                open_catalog(Path(catalog)),
                Path(run_folder),
                on_progress=lambda step, steps, said: tell(
                    StepLine(step=step, steps=steps, said=said)
                ),
                on_event=lambda text: tell(EventLine(text=text)),
                ranks=ranks,
            )
    except Interrupted as stop:
        tell(FaultLine(message=stop.message, hint=stop.hint))
        return Interrupted.exit_code
    except FilmgateError as error:
        tell(FaultLine(message=error.message, hint=error.hint))
        return FAULT_CODE
    return 0


def leave(code: int) -> NoReturn:
    """End at once: what the others of a broken group hold open is not waited for."""
    sys.stderr.flush()
    os._exit(code)


def leave_after(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """End with the traceback of what nobody foresaw."""
    sys.__excepthook__(kind, error, trace)
    leave(1)


if __name__ == "__main__":
    sys.excepthook = leave_after
    leave(main(*sys.argv[1:]))
