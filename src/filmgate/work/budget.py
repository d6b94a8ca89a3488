"""What stops a whole work: too many tasks given up, a full disk, a node that does not see it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from filmgate.errors import UserError, WorkError
from filmgate.work.attempt import Fault
from filmgate.work.task import Limits, Outcome

FREE_TASKS = 3
"""Tasks that may be given up under any budget above zero, so that a short list is not stopped."""
_NUM_SHOWN = 3


class Budget:
    """Counts tasks that were given up."""

    def __init__(self, limits: Limits, num_tasks: int) -> None:
        self._share = limits.error_budget
        self._allowed = 0 if self._share == 0 else max(FREE_TASKS, int(self._share * num_tasks))
        self._num_tasks = num_tasks
        self._num_given_up = 0
        self._first: list[str] = []

    def count(self, outcome: Outcome[Any, Any]) -> None:
        """Raises WorkError when more tasks were given up than are allowed."""
        if outcome.fault is None:
            return
        self._num_given_up += 1
        if len(self._first) < _NUM_SHOWN:
            self._first.append(f"{outcome.task.name}: {outcome.fault}")
        if self._num_given_up > self._allowed:
            raise WorkError(
                f"{self._num_given_up} of {self._num_tasks} tasks failed, more than the error "
                f"budget of {self._share:g} allows; {'; '.join(self._first)}",
                hint="mend the causes, or allow more, then start again; "
                "what is finished is kept, what failed is tried again only when asked",
            )


def stop_for(fault: Fault, folder: Path) -> BaseException:
    """The exception with which a fault ends the work."""
    if fault.kind == "full":
        return UserError(
            f"no space left for {folder}: {fault.words}",
            hint="free some space, then start again; what is finished is kept",
        )
    if fault.kind == "blind":
        return UserError(
            fault.words,
            hint="put files on storage that every node mounts at the same path",
        )
    assert fault.error is not None
    return fault.error
