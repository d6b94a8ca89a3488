"""A work in a process of its own, to be killed: ``python -m tests.work.kill_driver ...``.

With a point and a number, the process ends itself there at that visit, as SIGKILL would.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from filmgate.app.interrupt import Terminated, answer_signals
from filmgate.work import LocalExecutor, Outcome, do_work
from filmgate.work.journal import Journal
from filmgate.work.publish import Publisher
from tests.work.chores import Row, tasks_of, write_slowly, write_two

POINTS: dict[str, tuple[type, str, bool]] = {
    "before the journal": (Journal, "append", True),
    "after the journal": (Journal, "append", False),
    "before a move": (Publisher, "_move", True),
    "after a move": (Publisher, "_move", False),
}


def main() -> None:
    folder, num_tasks, workers = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    if len(sys.argv) > 4:
        _die_at(*POINTS[sys.argv[4]], visits=int(sys.argv[5]))
    function = write_slowly if workers else write_two
    work = do_work(function, tasks_of(num_tasks), folder, row=Row, executor=LocalExecutor(workers))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    answer_signals()
    try:
        tell(work)
    except (KeyboardInterrupt, Terminated):
        sys.exit(75)


def tell(work: Iterator[Outcome[int, Row]]) -> None:
    for outcome in work:
        sys.stdout.write(f"{outcome.task.key} {int(outcome.reused)}\n")
        sys.stdout.flush()


def _die_at(owner: type, name: str, before: bool, *, visits: int) -> None:
    original: Callable[..., Any] = getattr(owner, name)
    left = [visits]

    def dying(*arguments: Any, **more: Any) -> Any:
        left[0] -= 1
        if left[0] == 0 and before:
            os._exit(137)
        result = original(*arguments, **more)
        if left[0] == 0:
            os._exit(137)
        return result

    setattr(owner, name, dying)


if __name__ == "__main__":
    main()
